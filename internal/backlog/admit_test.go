package backlog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"penstock"
)

func TestEnterKeepsTheBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits limits
		items  int
		code   penstock.Code
		says   string
	}{
		"no bounds":                  {limits{}, 1 << 30, "", ""},
		"the last place":             {limits{tenant: Bounds{Items: 110}}, 10, "", ""},
		"one too many":               {limits{tenant: Bounds{Items: 110}}, 11, penstock.CodeQueueFull, "100 of 110 items"},
		"too many bytes":             {limits{tenant: Bounds{Bytes: 1100}}, 11, penstock.CodeQueueFull, "1000 of 1100 bytes"},
		"the tenant's own bound":     {limits{tenant: Bounds{Items: 1}, tenants: map[penstock.TenantID]Bounds{"search": {Items: 200}}}, 11, "", ""},
		"the whole queue":            {limits{all: Bounds{Items: 110}}, 11, penstock.CodeOverloaded, "The queue has 100 of 110 items"},
		"the whole queue's bytes":    {limits{all: Bounds{Bytes: 1100}}, 11, penstock.CodeOverloaded, "1000 of 1100 bytes"},
		"the tenant is to blame":     {limits{all: Bounds{Items: 105}, tenant: Bounds{Items: 105}}, 11, penstock.CodeQueueFull, "tenant search"},
		"more than would ever fit":   {limits{tenant: Bounds{Items: 10}}, 11, penstock.CodeTooLarge, "split the job"},
		"more bytes than could ever": {limits{all: Bounds{Bytes: 100}}, 11, penstock.CodeTooLarge, "110 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.limits)
			r.queue.rows = append(r.queue.rows, row(100))
			r.pass(0)
			err := r.Admit(arrival(tt.items))
			if penstock.ErrorCode(err) != tt.code {
				t.Fatalf("got %v, want %q", err, tt.code)
			}
			if err != nil && !strings.Contains(penstock.AsError(err).Message, tt.says) {
				t.Errorf("the message %q does not say %q", penstock.AsError(err).Message, tt.says)
			}
			if got := r.local.at(level{}).items; (got == 0) != (err != nil) {
				t.Errorf("%d items are counted after %v", got, err)
			}
		})
	}
}

// What this process lets in counts at once, and once only.
func TestEnterCountsArrivalsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{tenant: Bounds{Items: 10}})
	r.pass(0)
	admit := func(items int, want penstock.Code) {
		t.Helper()
		if err := r.Admit(arrival(items)); penstock.ErrorCode(err) != want {
			t.Fatalf("entering with %d items: %v, want %q", items, err, want)
		}
	}
	admit(6, "")
	admit(5, penstock.CodeQueueFull)
	admit(4, "")
	r.Dropped(arrival(4))
	admit(4, "")
	r.Accepted(arrival(6))
	r.Accepted(arrival(4))
	admit(1, penstock.CodeQueueFull)

	// A read that fails must not lose what it was to show.
	r.queue.err = errors.New("away")
	if err := r.runOnce(t.Context()); err == nil {
		t.Fatal("the read did not fail")
	}
	admit(1, penstock.CodeQueueFull)

	// What is accepted while the store is read may not be in what was read: it stays counted.
	r.queue.err = nil
	r.queue.rows = append(r.queue.rows, row(7))
	r.queue.read = func() {
		r.queue.read = nil
		r.Limits = limits{}
		admit(1, "")
		r.Accepted(arrival(1))
		r.Limits = limits{tenant: Bounds{Items: 10}}
	}
	r.pass(time.Second)
	admit(3, penstock.CodeQueueFull)
	admit(2, "")
	r.Dropped(arrival(2))
	r.pass(time.Second)
	admit(3, "")
	r.Dropped(arrival(3))
	if len(r.local.open)+len(r.local.fresh)+len(r.local.settling) != 0 {
		t.Errorf("left behind: %+v", r.local)
	}
}

func TestRetryAfterFollowsTheDrain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		perSecond int64
		items     int
		want      time.Duration
	}{
		"unknown":   {0, 100, 30 * time.Second},
		"soon":      {100, 1, time.Second},
		"ten":       {10, 100, 10 * time.Second},
		"very long": {1, 10_000, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, limits{tenant: Bounds{Items: 20_000}})
			r.queue.rows = append(r.queue.rows, row(20_000+10*tt.perSecond))
			r.pass(0)
			r.drains(10, tt.perSecond)
			err := r.Admit(arrival(tt.items))
			if e := penstock.AsError(err); e.Code != penstock.CodeQueueFull || e.RetryAfter != tt.want {
				t.Errorf("got %v, retry after %v, want %v", err, e.RetryAfter, tt.want)
			}
		})
	}
}

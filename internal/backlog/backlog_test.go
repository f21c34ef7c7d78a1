package backlog

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
)

func TestNewWantsItsDeps(t *testing.T) {
	t.Parallel()
	if _, err := New(Deps{}); err == nil {
		t.Error("a view of nothing was made")
	}
}

// A source that is slow is read less often: reading takes a twentieth of the time at the most.
func TestRunReadsLittle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		takes time.Duration
		reads int32
	}{
		"at once": {0, 101}, "slow": {100 * time.Millisecond, 48}, "very slow": {5 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var reads atomic.Int32
				r := newRig(t, limits{})
				r.Clock = time.Now
				r.queue.read = func() {
					reads.Add(1)
					time.Sleep(tt.takes)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				if err := r.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if got := reads.Load(); got < tt.reads-1 || got > tt.reads+1 {
					t.Errorf("%d reads in 100 s, want about %d", got, tt.reads)
				}
			})
		})
	}
}

func TestRunOutlastsErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, limits{})
		r.Clock = time.Now
		r.queue.err = errors.New("away")
		var reads int
		r.queue.read = func() {
			if reads++; reads == 3 {
				r.queue.err = nil
				r.queue.rows = []store.Backlog{row(5)}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if got := r.current().of(level{}).ready; got != 5 || r.failed != 2 {
			t.Errorf("%d items are seen after %d errors, want 5 after 2", got, r.failed)
		}
	})
}

func objective(penstock.Lane) time.Duration { return time.Minute }

func TestReport(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	if got := r.Report(Process{Name: "p", Slots: 64}, objective); got.Current || len(got.Lanes) != 3 || got.Tenants == nil {
		t.Errorf("before the first look: %+v", got)
	}
	r.queue.rows = append(r.queue.rows, row(1000), store.Backlog{Lane: penstock.LaneBulk, Tenant: "sales", Model: "smart", Parked: 3, Waited: time.Second})
	r.queue.rows[0].Running = 20
	r.queue.rows[0].Waited = time.Minute
	r.pass(0)
	r.drains(10, 10)
	got := r.Report(Process{Name: "p", Slots: 8, InUse: 5}, objective)
	standard := got.Lanes[1]
	if standard.Name != "standard" || standard.Ready != 900 || standard.Running != 20 || standard.OldestSeconds != 60 {
		t.Errorf("the lane: %+v", standard)
	}
	if d := standard.DrainPerSecond; d == nil || *d < 9.9 || *d > 10.1 || *standard.EmptyInSeconds < 89 || *standard.EmptyInSeconds > 91 {
		t.Errorf("the drain of the lane: %+v", standard)
	}
	if s := standard.ServiceSeconds; s == nil || *s < 1.9 || *s > 2.1 || standard.Slots != 30 {
		t.Errorf("the slots of the lane: %+v", standard)
	}
	if got.Workers != 4 || !got.Current || got.Process.InUse != 5 || got.Total.Parked != 3 {
		t.Errorf("the whole: %+v", got)
	}
	if got.Tenants[0].Name != "search" || got.Tenants[1].Name != "sales" || got.Models[1].Name != "smart" {
		t.Errorf("tenants %+v, models %+v", got.Tenants, got.Models)
	}
	if b := got.Lanes[2]; b.DrainPerSecond != nil || b.EmptyInSeconds != nil {
		t.Errorf("a lane that was never seen to move: %+v", b)
	}
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	for i := range MaxReportRows + 5 {
		b := row(int64(i + 1))
		b.Tenant = penstock.TenantID(fmt.Sprint("tenant-", i))
		r.queue.rows = append(r.queue.rows, b)
	}
	r.pass(0)
	got := r.Report(Process{}, objective)
	if len(got.Tenants) != MaxReportRows || got.LeftOut != 5 || got.Tenants[0].Ready != MaxReportRows+5 {
		t.Errorf("%d tenants, %d left out, the deepest has %d", len(got.Tenants), got.LeftOut, got.Tenants[0].Ready)
	}
}

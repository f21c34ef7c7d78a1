package backlog

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// start is when every test begins.
var start = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

// limits are bounds that a test sets.
type limits struct {
	all     Bounds
	tenant  Bounds
	tenants map[penstock.TenantID]Bounds
}

func (l limits) All() Bounds { return l.all }

func (l limits) Tenant(id penstock.TenantID) Bounds {
	if b, ok := l.tenants[id]; ok {
		return b
	}
	return l.tenant
}

// queue is a store that holds what a test puts into it.
type queue struct {
	rows []store.Backlog
	err  error
	read func() // called while it is read
}

func (q *queue) Backlogs(context.Context) ([]store.Backlog, error) {
	if q.read != nil {
		q.read()
	}
	return append([]store.Backlog(nil), q.rows...), q.err
}

// rig is a view over a queue and a clock that the test moves.
type rig struct {
	*View
	t      *testing.T
	queue  *queue
	now    time.Time
	failed int
}

func newRig(t *testing.T, l limits) *rig {
	t.Helper()
	r := &rig{t: t, queue: &queue{}, now: start}
	v, err := New(Deps{
		Source: r.queue, Limits: l, Failed: func() { r.failed++ }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Clock: func() time.Time { return r.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.View = v
	return r
}

// pass lets time go by and looks at the queue again.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.now = r.now.Add(d)
	if err := r.runOnce(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// row is the usual backlog.
func row(ready int64) store.Backlog {
	return store.Backlog{Lane: penstock.LaneStandard, Tenant: "search", Model: "fast", Ready: ready, Tokens: 100 * ready, Bytes: 10 * ready}
}

// drains lets items of the first row start, evenly, for so many seconds.
func (r *rig) drains(seconds int, items int64) {
	r.t.Helper()
	for range seconds {
		b := &r.queue.rows[0]
		b.Ready -= items
		b.Tokens -= 100 * items
		b.Bytes -= 10 * items
		b.DrainedItems += items
		b.DrainedTokens += 100 * items
		r.pass(time.Second)
	}
}

func arrival(items int) Arrival {
	return Arrival{Lane: penstock.LaneStandard, Tenant: "search", Model: "fast", Items: items, Tokens: 100 * int64(items), Bytes: 10 * int64(items)}
}

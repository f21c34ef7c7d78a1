package deliver

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"penstock"
	"penstock/internal/store"
)

const (
	// tailEvents and tailBytes bound what is kept of a log for those who follow it. Whoever is further behind reads
	// the store by itself.
	tailEvents = 256
	tailBytes  = 256 << 10
)

// tailKey names the log that a tail is of. The tenant is a part of it: nobody is handed what was read for another.
type tailKey struct {
	tenant penstock.TenantID
	job    penstock.ID
}

// tails are the logs that somebody follows.
type tails struct {
	mu     sync.Mutex
	byJob  map[tailKey]*tail
	follow map[tailKey]int // how many do
}

// take joins those who follow a log.
func (t *tails) take(k tailKey) *tail {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byJob == nil {
		t.byJob, t.follow = map[tailKey]*tail{}, map[tailKey]int{}
	}
	if t.byJob[k] == nil {
		t.byJob[k] = &tail{turn: make(chan struct{}, 1)}
	}
	t.follow[k]++
	return t.byJob[k]
}

// leave is the way back of take; the last one takes the tail along.
func (t *tails) leave(k tailKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.follow[k]--; t.follow[k] == 0 {
		delete(t.byJob, k)
		delete(t.follow, k)
	}
}

// tail is the end of a log, as far as it was read: one reader reads for all who are at the same place.
type tail struct {
	turn chan struct{} // held by whoever reads the store

	mu     sync.Mutex
	events []penstock.Event // all that the log has between after and last
	after  int64
	last   int64
	bytes  int
	readAt time.Time // when the latest read at its end began
	more   bool      // which did not reach the end of the log
}

// look is what a reader looks for.
type look struct {
	tenant penstock.TenantID
	page   store.EventPage
	asOf   time.Time // how old an answer may be that nothing happened
}

// tailPage is what a reader gets next.
type tailPage struct {
	events []penstock.Event
	more   bool // and more are there already
	over   bool // it has seen all that there will ever be
}

// next returns what follows in the log, from memory if it is there, and nothing when nothing happened.
func (t *tail) next(ctx context.Context, jobs Jobs, l look) (tailPage, error) {
	if page, ok := t.kept(l); ok {
		return page, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return tailPage{}, ctx.Err()
	}
	if page, ok := t.kept(l); ok { // somebody else has just read it
		return page, nil
	}
	began := time.Now()
	events, err := jobs.Events(ctx, l.tenant, l.page)
	if err != nil {
		return tailPage{}, err
	}
	var end int64
	if len(events) == 0 {
		// It matters to those who come back after the last event.
		job, err := jobs.Job(ctx, l.tenant, l.page.Job)
		if err != nil {
			return tailPage{}, err
		}
		if !job.FinishedAt.IsZero() {
			end = job.Seq
		}
	}
	more := len(events) == l.page.Limit
	t.keep(tailRead{l.page.After, events, began, more})
	return tailPage{events: events, more: more, over: end > 0 && l.page.After >= end}, nil
}

// kept is what follows, if it is known without asking the store.
func (t *tail) kept(l look) (tailPage, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := l.page.After
	switch {
	case t.readAt.IsZero() || at < t.after || at > t.last:
		return tailPage{}, false
	case at == t.last:
		return tailPage{}, !t.more && t.readAt.After(l.asOf)
	}
	first, _ := slices.BinarySearchFunc(t.events, at+1, func(e penstock.Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return tailPage{events: slices.Clip(t.events[first:])}, true
}

// tailRead is what the store was found to have.
type tailRead struct {
	after  int64
	events []penstock.Event
	began  time.Time
	more   bool
}

// keep adds what was read to the tail, unless whoever read it is behind the others.
func (t *tail) keep(r tailRead) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.readAt.IsZero() && r.after < t.last {
		return
	}
	if t.readAt.IsZero() || r.after > t.last {
		t.events, t.after, t.bytes = nil, r.after, 0
	}
	t.readAt, t.last, t.more = r.began, r.after, r.more
	// Readers hold parts of the old list, so the new one is another.
	grown := slices.Concat(t.events, r.events)
	for _, e := range r.events {
		t.last = e.Seq
		t.bytes += weight(e)
	}
	drop := 0
	for len(grown)-drop > tailEvents || (t.bytes > tailBytes && drop < len(grown)) {
		t.after = grown[drop].Seq
		t.bytes -= weight(grown[drop])
		drop++
	}
	t.events = grown[drop:]
}

// eventWeight is about what an event costs beside what it says.
const eventWeight = 512

func weight(e penstock.Event) int {
	if e.Delta == nil {
		return eventWeight
	}
	return eventWeight + len(e.Delta.Data)
}

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
	// tailEvents and tailBytes bound the part of a log that is in memory for its followers. A follower that is further
	// behind reads the store itself.
	tailEvents = 256
	tailBytes  = 256 << 10
)

// tailKey identifies the log of a tail. It includes the tenant, so that tenants never share a read.
type tailKey struct {
	tenant penstock.TenantID
	job    penstock.ID
}

// tails are the logs that have followers.
type tails struct {
	mu     sync.Mutex
	byJob  map[tailKey]*tail
	follow map[tailKey]int // how many do
}

// take adds a follower to a log.
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

// leave undoes take. The last follower removes the tail.
func (t *tails) leave(k tailKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.follow[k]--; t.follow[k] == 0 {
		delete(t.byJob, k)
		delete(t.follow, k)
	}
}

// tail is the end of a log, as far as it was read. One follower reads for all followers at the same position.
type tail struct {
	turn chan struct{} // held by the follower that reads the store

	mu     sync.Mutex
	events []penstock.Event // all that the log has between after and last
	after  int64
	last   int64
	bytes  int
	readAt time.Time // when the latest read at its end began
	more   bool      // which did not reach the end of the log
}

// look is a follower's position and condition.
type look struct {
	tenant penstock.TenantID
	page   store.EventPage
	asOf   time.Time // how old a read without new events may be
}

// tailPage is the next events of a follower.
type tailPage struct {
	events []penstock.Event
	more   bool // and more are there already
	over   bool // the log has ended
}

// next returns the next events of the log, from memory if possible, and no events if there are none.
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
	if page, ok := t.kept(l); ok { // another follower has just read it
		return page, nil
	}
	began := time.Now()
	events, err := jobs.Events(ctx, l.tenant, l.page)
	if err != nil {
		return tailPage{}, err
	}
	var end int64
	if len(events) == 0 {
		// For followers that reconnect after the last event.
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

// kept returns the next events if they are in memory.
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

// tailRead is the result of a read of the store.
type tailRead struct {
	after  int64
	events []penstock.Event
	began  time.Time
	more   bool
}

// keep adds a read to the tail, unless its reader is behind the other followers.
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
	// Followers hold parts of the old list, so a new list is made.
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

// eventWeight is about the memory of an event besides its data.
const eventWeight = 512

func weight(e penstock.Event) int {
	if e.Delta == nil {
		return eventWeight
	}
	return eventWeight + len(e.Delta.Data)
}

package cache

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// Source is the origin of an answer.
type Source string

// The sources, as callers see them.
const (
	Hit       Source = "hit"       // it was kept
	Miss      Source = "miss"      // a call was made for it
	Coalesced Source = "coalesced" // shared with a call in flight
)

// unreadBytes is how far an answer that is too large to store may be ahead of its slowest reader.
const unreadBytes = 256 << 10

// Sink receives an answer.
type Sink interface {
	Begin(target string, meta provider.Meta) error
	Chunk(provider.Chunk) error
}

// Result is the result of a call.
type Result struct {
	Err  error // nil after a whole answer
	Meta provider.Meta
	Cost penstock.NanoUSD
}

// Call makes a call and passes its answer to the flight. Its context ends when no caller waits for the answer.
type Call func(ctx context.Context, f *Flight) Result

// Ask asks for an answer.
type Ask struct {
	Key     Key
	Subject penstock.ID   // the call that asks
	TTL     time.Duration // the largest age of an answer, and the lifetime of a new answer
	Refresh bool          // ignore stored and arriving answers
	Call    Call
}

// Ask finds a stored answer, joins a call in flight, or makes a call. The call has the values of ctx, but does not end
// with it. The reading must be closed.
func (c *Cache) Ask(ctx context.Context, a Ask) *Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !a.Refresh {
		if kept := c.lookup(a.Key, a.TTL); kept != nil {
			return &Reading{Source: Hit, kept: kept}
		}
		if f := c.flights[a.Key]; f != nil {
			if r := f.join(Coalesced); r != nil {
				return r
			}
		}
	}
	f := &Flight{cache: c, key: a.Key, subject: a.Subject, ttl: a.TTL, changed: make(chan struct{})}
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.flights[a.Key] = f // later callers wait for the refreshed answer
	r := f.join(Miss)
	go f.run(ctx, a.Call)
	return r
}

// Flight is a call in flight whose answer is arriving. It is the sink of that call.
type Flight struct {
	cache   *Cache
	key     Key
	subject penstock.ID
	ttl     time.Duration
	cancel  context.CancelFunc

	mu        sync.Mutex
	changed   chan struct{} // closed when something changed
	readers   []*Reading
	abandoned bool // no caller waits any more
	begun     bool
	target    string
	meta      provider.Meta
	buf       []byte // of the answer, what a reader has not read yet or is to be kept
	base      int    // how much of the answer was there before buf
	withheld  int    // of buf, its last chunk, which no reader gets before the call is over
	spilled   bool   // it is too large to be kept: no caller can join it any more
	done      bool
	result    Result
}

// run makes the call. A panic in it is an error of the call: in a goroutine of its own it would end the process.
func (f *Flight) run(ctx context.Context, call Call) {
	defer f.cancel()
	defer func() {
		if p := recover(); p != nil {
			f.finish(Result{Err: &provider.Error{Kind: provider.KindInternal, Message: "The attempt broke on our side.",
				Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}})
		}
	}()
	f.finish(call(ctx, f))
}

// Begin takes the beginning of the answer.
func (f *Flight) Begin(target string, meta provider.Meta) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun, f.target, f.meta = true, target, meta
	f.announce()
	return nil
}

// Chunk takes a part of the answer. It waits for slow readers only if the answer is too large to store.
func (f *Flight) Chunk(c provider.Chunk) error {
	if len(c.Wire) == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.spilled && !f.reserve(int64(len(c.Wire))) {
		f.spilled = true
		f.cache.flying.Add(-int64(len(f.buf)))
	}
	for f.spilled && !f.abandoned && f.unread() > unreadBytes {
		f.wait()
	}
	if f.abandoned {
		return context.Canceled
	}
	f.buf = append(f.buf, c.Wire...)
	if c.Last { // a reader that has the whole answer finds the call recorded, and the answer kept
		f.withheld = len(c.Wire)
	}
	f.announce()
	return nil
}

// unread drops what all readers have read, and returns how much is left.
func (f *Flight) unread() int {
	least := f.base + len(f.buf)
	for _, r := range f.readers {
		least = min(least, r.read)
	}
	f.buf, f.base = f.buf[least-f.base:], least
	return len(f.buf)
}

// finish ends the flight. Later callers find its answer in the cache, if it could be stored, or make a call.
func (f *Flight) finish(result Result) {
	c := f.cache
	f.mu.Lock()
	whole := result.Err == nil && f.begun && !f.spilled && !f.abandoned
	body, target, meta := f.buf, f.target, f.meta
	if !f.spilled {
		c.flying.Add(-int64(len(body)))
	}
	f.mu.Unlock()

	// The answer is stored before any caller can see its end, so that a caller who has the whole answer finds it in the
	// cache.
	c.mu.Lock()
	current := c.flights[f.key] == f // otherwise a caller asked for a fresher answer than this one
	if current {
		delete(c.flights, f.key)
	}
	if whole && current {
		meta.Usage, meta.UsageKnown = result.Meta.Usage, result.Meta.UsageKnown
		c.keep(f.key, &Answer{Subject: f.subject, Target: target, Meta: meta, Body: slices.Clone(body), Cost: result.Cost, StoredAt: c.Clock()}, f.ttl)
	}
	c.mu.Unlock()

	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.result, f.withheld = true, result, 0
	f.announce()
}

// reserve takes memory for more of the answer. It reports false if one answer, or all arriving answers together, would
// be too large.
func (f *Flight) reserve(more int64) bool {
	c := f.cache
	if int64(len(f.buf))+more+entryOverhead > c.MaxEntryBytes {
		return false
	}
	if c.flying.Add(more) > c.maxFlying() {
		c.flying.Add(-more)
		return false
	}
	return true
}

// announce wakes all goroutines that wait for a change.
func (f *Flight) announce() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// wait waits for a change, without the lock.
func (f *Flight) wait() {
	changed := f.changed
	f.mu.Unlock()
	<-changed
	f.mu.Lock()
}

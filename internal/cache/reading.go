package cache

import (
	"context"
	"slices"

	"penstock/internal/provider"
)

// Reading is an answer on its way to one caller. It belongs to one goroutine.
type Reading struct {
	Source Source

	kept   *Answer // of a hit
	flight *Flight // of all others
	read   int     // how much of the answer was passed on; guarded by the flight
}

// join lets a caller read along from the beginning. It returns nil when that is too late.
func (f *Flight) join(as Source) *Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.abandoned || f.spilled || f.done {
		return nil
	}
	r := &Reading{Source: as, flight: f}
	f.readers = append(f.readers, r)
	return r
}

// Copy passes the answer on while it comes in. It returns nil after all of it, the error of the call if that
// failed, or a provider.Error of KindCancelled when ctx ended or the sink took no more.
func (r *Reading) Copy(ctx context.Context, sink Sink) error {
	if r.kept != nil {
		if err := sink.Begin(r.kept.Target, r.kept.Meta); err != nil {
			return refused(err)
		}
		return refused(sink.Chunk(provider.Chunk{Wire: r.kept.Body, Last: true}))
	}
	begun, passed := false, 0
	for {
		n := r.next(passed)
		passed = len(n.part)
		if n.begun && !begun {
			begun = true
			if err := sink.Begin(n.target, n.meta); err != nil {
				return refused(err)
			}
		}
		switch {
		case passed > 0:
			if err := sink.Chunk(provider.Chunk{Wire: n.part, Last: n.done && n.err == nil}); err != nil {
				return refused(err)
			}
		case n.done:
			return n.err
		default:
			select {
			case <-n.changed:
			case <-ctx.Done():
				return refused(context.Cause(ctx))
			}
		}
	}
}

// refused is the error of a caller who took no more.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &provider.Error{Kind: provider.KindCancelled, Message: "The caller left before the answer was complete.", Err: err}
}

// next is what a reading has not seen yet.
type next struct {
	begun   bool
	target  string
	meta    provider.Meta
	part    []byte
	done    bool
	err     error
	changed <-chan struct{} // closed when there is more
}

// next notes what was passed on since it was called last, and returns what has arrived since.
func (r *Reading) next(passed int) next {
	f := r.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.read += passed; passed > 0 && f.spilled {
		f.announce()
	}
	return next{
		begun: f.begun, target: f.target, meta: f.meta, part: f.buf[r.read-f.base : len(f.buf)-f.withheld],
		done: f.done, err: f.result.Err, changed: f.changed,
	}
}

// Answer is what is known about the answer; of one that came in with a call, all but its body, once it is whole.
func (r *Reading) Answer() Answer {
	if r.kept != nil {
		return *r.kept
	}
	f := r.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	meta := f.meta
	meta.Usage, meta.UsageKnown = f.result.Meta.Usage, f.result.Meta.UsageKnown
	return Answer{Subject: f.subject, Target: f.target, Meta: meta, Cost: f.result.Cost, StoredAt: f.cache.Clock()}
}

// Close stops reading. A call that no caller waits for is given up.
func (r *Reading) Close() {
	f := r.flight
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers = slices.DeleteFunc(f.readers, func(other *Reading) bool { return other == r })
	if len(f.readers) == 0 && !f.done {
		f.abandoned = true
		f.cancel()
	}
	f.announce() // the slowest reader may be gone
}

package cache

import (
	"context"
	"slices"

	"penstock/internal/provider"
)

// Reading is the reading of an answer by one caller. It belongs to one goroutine.
type Reading struct {
	Source Source

	kept   *Answer // of a hit
	flight *Flight // of all others
	read   int     // how much of the answer was passed on; guarded by the flight
}

// join lets a caller read the answer from its beginning. It returns nil if it is too late to join.
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

// Copy forwards the answer while it arrives. It returns nil after the whole answer, the error of a failed call, or a
// provider.Error of KindCancelled if ctx ended or the sink failed.
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

// refused is the error of a caller whose sink failed.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &provider.Error{Kind: provider.KindCancelled, Message: "The caller left before the answer was complete.", Err: err}
}

// next is the part of the answer that a reading has not read yet.
type next struct {
	begun   bool
	target  string
	meta    provider.Meta
	part    []byte
	done    bool
	err     error
	changed <-chan struct{} // closed when there is more
}

// next records how much was forwarded since its last call, and returns the bytes that have arrived since.
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

// Close stops reading. A call without waiting callers is cancelled.
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

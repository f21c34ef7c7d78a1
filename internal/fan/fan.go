// Package fan makes several calls upstream for one inference, and joins their answers: a target that gives one answer for each call
// serves an inference that asks for several choices or has several prompts.
//
// It owns the goroutines of the calls, and the form of the joined answer: chat completions and completions, plain and streamed. It
// does not choose targets, and takes capacity only by [Plan.Begin].
//
// Invariants:
//   - The calls are one attempt: if one fails, all others are ended at once, no further call is made, and the answer fails with the
//     error of the call that failed first.
//   - The usage of the joined answer is that of all calls. It is known once each call reported its own, or was refused unpaid.
//   - After Close, or an error of Next, no goroutine runs and nothing reads the bodies of the calls.
//   - A slow caller slows all calls down: at most one chunk of each is held.
//
// An [Answer] belongs to one goroutine.
package fan

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"penstock"
	"penstock/internal/provider"
)

// Plan says which calls to make.
type Plan struct {
	Calls    int // in all
	Parallel int // how many are made at once; the others follow as these end
	Each     int // choices in the answer to each call
	Stream   bool
	// IncludeUsage says that the caller wants usage at the end of a stream.
	IncludeUsage bool
	// Memory accounts for the answers that are held until all of them are there; nil for no bounds.
	Memory provider.Memory
	// Begin takes the capacity of a call, by its number from 0.
	Begin func(ctx context.Context, call int) (Unit, error)
	// Ask makes a call. Its answer is in the caller's dialect.
	Ask func(ctx context.Context, call int) (provider.Answer, error)
}

// Unit is the capacity of one call. The goroutine of the call ends it with Done or Release.
type Unit interface {
	// Begun is called when the call begins to answer.
	Begun()
	// Done is called when the call is over.
	Done(provider.Meta, *provider.Error)
	// Release is called instead if the call was not made.
	Release()
}

// event is a chunk of a call, or its end.
type event struct {
	call    int
	chunk   provider.Chunk
	meta    provider.Meta
	err     error    // io.EOF at the end of a complete answer
	unmade  bool     // the call was not made
	dropped []string // by a translation; at the end
}

// Answer is the joined answer.
type Answer struct {
	plan   Plan
	cancel context.CancelFunc
	events chan event    // unbuffered: a call waits until its chunk was taken
	open   chan struct{} // closed when the first calls have all begun
	opened bool
	begun  bool                  // the first calls have all begun to answer
	failed atomic.Pointer[event] // the end of the call that failed first, nil while none has
	next   atomic.Int64          // the call that is made next
	early  []event               // that arrived before
	join   joiner
	calls  []state // by call
	err    error   // how it ended, nil until then
}

// state is the state of one call.
type state struct {
	began   bool
	meta    provider.Meta
	failure *provider.Error
	dropped []string
}

// Start makes the first calls. It returns when each of them has begun to answer, or one has failed: until then another target may be
// tried. A failure is reported by the first call of Next, because the other calls may have used tokens.
func Start(ctx context.Context, plan Plan) *Answer {
	ctx, cancel := context.WithCancel(ctx)
	a := &Answer{
		plan: plan, cancel: cancel, events: make(chan event), open: make(chan struct{}), calls: make([]state, plan.Calls),
		join: newJoiner(plan),
	}
	first := min(max(plan.Parallel, 1), plan.Calls)
	a.next.Store(int64(first))
	var workers sync.WaitGroup
	for call := range first {
		workers.Go(func() { a.work(ctx, call) })
	}
	go func() { workers.Wait(); close(a.events) }()
	for begun := map[int]bool{}; len(begun) < first; {
		ev := <-a.events
		a.early, begun[ev.call] = append(a.early, ev), true
		if ev.err != nil && ev.err != io.EOF {
			a.release()
			return a
		}
	}
	a.begun = true
	a.release()
	return a
}

// release lets the first calls go on.
func (a *Answer) release() {
	if !a.opened {
		a.opened = true
		close(a.open)
	}
}

// work makes a call, and then those that are left.
func (a *Answer) work(ctx context.Context, call int) {
	for call < a.plan.Calls {
		if !a.make(ctx, call) {
			return
		}
		call = int(a.next.Add(1)) - 1
	}
}

// make makes one call, and reports whether it succeeded.
func (a *Answer) make(ctx context.Context, call int) bool {
	var last event
	unit, err := a.plan.Begin(ctx, call)
	switch {
	case err != nil:
		last = event{call: call, err: refused(ctx, err), unmade: true}
	case ctx.Err() != nil: // a call that is made now costs something, and nobody wants its answer
		unit.Release()
		last = event{call: call, err: refused(ctx, ctx.Err()), unmade: true}
	default:
		last = a.exchange(ctx, call, unit)
		unit.Done(last.meta, last.failure())
	}
	if last.failure() != nil {
		a.stop(&last)
	}
	a.events <- last
	return last.failure() == nil
}

// stop ends all calls because of the failure of one. It does not wait until the failure is read: the caller may be slow, and the other
// calls cost something.
func (a *Answer) stop(because *event) {
	a.failed.CompareAndSwap(nil, because)
	a.cancel()
}

// failure is the failure of a call at its end; nil for none.
func (ev *event) failure() *provider.Error {
	if ev.err == nil || ev.err == io.EOF {
		return nil
	}
	return provider.AsError(ev.err)
}

// refused is the failure of a call without capacity.
func refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &provider.Error{Kind: provider.KindCancelled, Message: "Nobody wanted the answer any more.", Err: context.Cause(ctx)}
	}
	e := penstock.AsError(err)
	return &provider.Error{Kind: provider.KindRateLimited, Message: "There was no capacity for one of the calls. " + e.Message, RetryAfter: e.RetryAfter, Err: err}
}

// exchange makes a call and passes its chunks on. The event that it returns is the last one.
func (a *Answer) exchange(ctx context.Context, call int, unit Unit) (last event) {
	last.call = call
	defer func() {
		if p := recover(); p != nil {
			last.err = &provider.Error{Kind: provider.KindInternal, Message: "The attempt broke on our side.", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	answer, err := a.plan.Ask(ctx, call)
	if err != nil {
		last.err = err
		return last
	}
	defer answer.Close()
	unit.Begun()
	for {
		chunk, err := answer.Next()
		last.meta, last.err = answer.Meta(), err
		if err != nil {
			if l, ok := answer.(interface{ Dropped() []string }); ok {
				last.dropped = l.Dropped()
			}
			return last
		}
		chunk.Wire = slices.Clone(chunk.Wire) // it is valid until the next one, and travels
		a.events <- event{call: call, chunk: chunk, meta: last.meta}
		<-a.open
	}
}

// Next implements [provider.Answer].
func (a *Answer) Next() (provider.Chunk, error) {
	for a.err == nil {
		ev, more := a.event()
		if !more {
			return a.end()
		}
		a.note(&ev)
		if ev.failure() != nil {
			return provider.Chunk{}, a.fail()
		}
		if ev.err == io.EOF {
			continue
		}
		chunk, err := a.join.add(ev.call, ev.chunk)
		if err != nil {
			a.stop(&event{call: ev.call, err: err})
			return provider.Chunk{}, a.fail()
		}
		if len(chunk.Wire) > 0 {
			return chunk, nil
		}
	}
	return provider.Chunk{}, a.err
}

// event is the next one; false when all calls have ended.
func (a *Answer) event() (event, bool) {
	if len(a.early) > 0 {
		ev := a.early[0]
		a.early = a.early[1:]
		return ev, true
	}
	ev, more := <-a.events
	return ev, more
}

func (a *Answer) note(ev *event) {
	s := &a.calls[ev.call]
	s.began, s.meta = !ev.unmade, ev.meta
	if ev.err == nil {
		return
	}
	s.dropped, s.failure = ev.dropped, ev.failure()
}

// end writes the end of a complete answer.
func (a *Answer) end() (provider.Chunk, error) {
	chunk, err := a.join.end()
	if err != nil {
		a.err = err
		return provider.Chunk{}, err
	}
	a.err = io.EOF
	return chunk, nil
}

// fail ends all calls after the failure of one.
func (a *Answer) fail() error {
	a.finish()
	ev := a.failed.Load()
	failure := *ev.failure()
	failure.Note = strings.TrimPrefix(fmt.Sprintf("%s; call %d of %d failed, so all did", failure.Note, ev.call+1, a.plan.Calls), "; ")
	a.err = &failure
	return a.err
}

// finish ends all calls, and notes how they ended.
func (a *Answer) finish() {
	a.cancel()
	a.release()
	for ev, more := a.event(); more; ev, more = a.event() {
		a.note(&ev)
	}
}

// Close implements [provider.Answer].
func (a *Answer) Close() error {
	a.finish()
	a.err = cmp.Or(a.err, io.EOF)
	return nil
}

// Begun reports whether the answer has begun: Start returned without a failure.
func (a *Answer) Begun() bool { return a.begun }

// Charged is how many calls the upstream may charge for: those that were made and not refused.
func (a *Answer) Charged() (n int64) {
	for i := range a.calls {
		if s := &a.calls[i]; s.began && !s.refused() {
			n++
		}
	}
	return n
}

// Dropped names the parts of the answers that the caller's dialect cannot express.
func (a *Answer) Dropped() []string {
	var all []string
	for i := range a.calls {
		all = append(all, a.calls[i].dropped...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Meta implements [provider.Answer].
func (a *Answer) Meta() provider.Meta {
	var all provider.Meta
	var notes []string
	all.Sent, all.UsageKnown = true, true
	for i := range a.calls {
		s := &a.calls[i]
		m := &s.meta
		if all.StatusCode == 0 {
			all.StatusCode, all.ContentType, all.UpstreamID, all.Dropped = m.StatusCode, m.ContentType, m.UpstreamID, m.Dropped
		}
		if m.Limits != (provider.RateLimits{}) {
			all.Limits = m.Limits
		}
		if m.Note != "" && !slices.Contains(notes, m.Note) {
			notes = append(notes, m.Note)
		}
		if m.Traced != nil {
			all.Traced = cmp.Or(all.Traced, &provider.Traced{Model: m.Traced.Model})
			all.Traced.FinishReasons = append(all.Traced.FinishReasons, m.Traced.FinishReasons...)
		}
		all.Usage = all.Usage.Plus(m.Usage)
		all.UsageInvalid = all.UsageInvalid || m.UsageInvalid
		all.Sent = all.Sent && m.Sent
		if !a.paid(s) {
			all.UsageKnown = false
			all.Owed = all.Owed || a.err != nil
		}
	}
	all.Note = strings.Join(notes, "; ")
	return all
}

// paid reports whether the cost of a call is known. A call that was not made when the answer ended costs nothing.
func (a *Answer) paid(s *state) bool {
	switch {
	case !s.began:
		return a.err != nil
	case s.refused():
		return true
	}
	return s.meta.UsageKnown
}

// refused reports whether the upstream refused the call, and charges nothing for it.
func (s *state) refused() bool {
	return s.failure != nil && s.meta.StatusCode == 0 && !s.failure.Kind.Policy().Billable
}

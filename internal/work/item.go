package work

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/provider"
	"penstock/internal/queue"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// capacityWait is how long an item waits for a target with capacity before it frees its slot for other items.
const capacityWait = 5 * time.Second

// runItem runs one claimed item and passes its end to the recorder.
func (p *Pool) runItem(ctx context.Context, c *granted) {
	ctx = telemetry.WithIDs(ctx, telemetry.IDs{Tenant: c.Tenant, Job: c.Job, Item: c.Item})
	ctx = telemetry.WithTraceParent(ctx, c.TraceParent)
	began, lease := p.Clock(), p.Lease.Current()
	f := p.attemptTraced(ctx, c)
	took := p.endOf(&f).Sub(began)
	keepsSlot := !p.addUnrecorded()
	if !keepsSlot {
		c.pool.slots.Give(1)
	}
	memory := c.memory
	c.memory = nil // the account is a part of the answer, which must not live as long as the items that share memory with c
	p.recorderOf(c.Job).add(finished{f, run{c.pool, lease, took, memory, keepsSlot}})
}

// endOf is when an item ended: with its last attempt, if it had one.
func (p *Pool) endOf(f *store.Finish) time.Time {
	if n := len(f.Attempts); n > 0 && !f.Attempts[n-1].FinishedAt.IsZero() {
		return f.Attempts[n-1].FinishedAt
	}
	return p.Clock()
}

// addUnrecorded counts an ended item that is not recorded yet. It reports false when there are as many as there may be: then the
// item keeps its slot, so that no other item is claimed for it.
func (p *Pool) addUnrecorded() bool {
	if p.unrecorded.Add(1) > p.maxUnrecorded {
		p.unrecorded.Add(-1)
		return false
	}
	return true
}

// attemptTraced is attempt in a span of its own, where traces are recorded.
func (p *Pool) attemptTraced(ctx context.Context, c *granted) store.Finish {
	if !p.Tracer.Enabled() {
		return p.attempt(ctx, c)
	}
	ctx, span := p.Tracer.StartConsumer(ctx, "work item",
		telemetry.String("penstock.lane", string(c.Lane)), telemetry.String("penstock.model", c.Model))
	f := p.attempt(ctx, c)
	span.Set(telemetry.String("penstock.transition", string(f.Transition)))
	span.End(nil)
	return f
}

// attempt runs the item and returns the end of the claim.
func (p *Pool) attempt(ctx context.Context, c *granted) (f store.Finish) {
	defer func() { c.Body, c.Sealed = nil, nil }() // the rest of the claim's life does not need the body
	f = store.Finish{Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Of: c.Claimed}
	if c.BodyErr != nil {
		if c.choice != nil {
			c.choice.Release()
		}
		p.Log.ErrorContext(ctx, "reading an item's input", "error", c.BodyErr)
		p.concludeUnread(&f, c.Claimed)
		return f
	}
	if c.TimeLeft <= longestRun(c.Claimed) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.TimeLeft, errDeadline)
		defer cancel()
	}
	targets, err := p.openTargets(p.hopefulTargets(ctx, c.Claimed))
	if err != nil {
		if c.choice != nil {
			c.choice.Release()
		}
		p.conclude(&f, c.Claimed, failureOf(err, context.Cause(ctx)))
		return f
	}

	if c.Sealed != nil {
		p.runSuspect(ctx, c, targets, &f)
		return f
	}
	sink, body, err := p.newAnswer(ctx, c.Claimed)
	if err != nil {
		if c.choice != nil {
			c.choice.Release()
		}
		p.conclude(&f, c.Claimed, failureOf(err, context.Cause(ctx)))
		return f
	}
	c.memory = &sink.held.account
	defer func() { f.Tail = tailOf(&f, sink.close()) }()
	shown := sink.Streams()
	out := p.Runner.Answer(ctx, attempt.Task{
		Subject: c.Item, Fence: c.Fence, Owner: c.Tenant, Key: c.Key, Model: c.Model, Lane: c.Lane, Targets: targets, Endpoint: c.Endpoint,
		Body: body, Added: len(body) - len(c.Body), Stream: shown, IncludeUsage: shown, Bound: c.Reserved, Bounded: c.Resolved.Bounded, MaxAttempts: max(c.MaxAttempts-c.Attempts, 1), Tries: c.Tries,
		Timeout: c.ItemTimeout, Wait: min(capacityWait, c.ItemTimeout), MaxOutputTokens: max(0, c.Estimate-int64(len(c.Body))),
		Choice: c.choice, OnOverflow: c.Resolved.OnOverflow,
	}, sink)
	f.Attempts, f.Target, f.StatusCode = out.Attempts, out.Target, out.StatusCode
	f.Usage, f.Cost, f.Forfeit, f.PriceVersion = out.Usage, out.Cost, out.Forfeit, out.PriceVersion
	f.Counted = out.Counted
	p.Used(c.Claimed, out.Usage)
	if out.Err == nil {
		f.Result, out.Err = sink.Whole()
	}
	if out.Err == nil {
		f.Transition = penstock.TransitionSucceed
		return f
	}
	p.conclude(&f, c.Claimed, failureOf(out.Err, context.Cause(ctx)))
	return f
}

// longestRun is more than a run of an item can take: the item calls each of its targets for at most its timeout, once in a
// shared call and once alone. A deadline after that needs no timer, and most are hours away.
func longestRun(c *store.Claimed) time.Duration {
	if c.ItemTimeout <= 0 {
		return math.MaxInt64
	}
	return time.Duration(2*len(c.Resolved.Targets)+1) * (c.ItemTimeout + capacityWait)
}

// tailOf is the last streamed text of an answer, written with its end. It is dropped for an item that will be retried: its
// answer starts again.
func tailOf(f *store.Finish, tail []store.Delta) []store.Delta {
	if f.Transition == penstock.TransitionRetry {
		return nil
	}
	return tail
}

// failure is why an attempt failed, as the queue needs it.
type failure struct {
	cause error         // why this process ended it, nil when the upstream did
	code  penstock.Code // the code that the caller gets when nothing is left to try
	idle  bool          // no upstream was called
	*provider.Error
}

// failureOf converts the error of an attempt.
func failureOf(err, cause error) failure {
	if upstream, ok := errors.AsType[*provider.Error](err); ok {
		return failure{cause, upstream.Kind.Policy().Code, false, upstream}
	}
	// No upstream was called: there was no capacity, or no target.
	e := penstock.AsError(err)
	kind := provider.KindConnect
	switch e.Code {
	case penstock.CodeOverloaded:
		kind = provider.KindRateLimited
	case penstock.CodeInvalidRequest, penstock.CodeBudgetExceeded:
		// No target can serve this item, or its budget cannot pay for one: a retry cannot change that.
		kind = provider.KindRejected
	}
	return failure{cause, e.Code, true, &provider.Error{Kind: kind, Message: e.Message, RetryAfter: e.RetryAfter, Err: e}}
}

// conclude decides whether an item whose attempt failed is retried, and when.
func (p *Pool) conclude(f *store.Finish, c *store.Claimed, why failure) {
	f.ErrorKind = string(why.Kind)
	switch {
	case errors.Is(why.cause, errCancelled):
		f.Transition = penstock.TransitionCancel
		f.Error = &penstock.ItemError{Code: penstock.CodeCancelled, Message: "The job was cancelled while this item ran."}
		return
	case errors.Is(why.cause, errDeadline):
		f.Transition = penstock.TransitionExpire
		f.Error = &penstock.ItemError{Code: penstock.CodeDeadlineExceeded, Message: "The job's deadline passed while this item ran."}
		return
	case errors.Is(why.cause, errShutdown), errors.Is(why.cause, errLeaseLost):
		// Not the item's fault: it counts as no attempt, and another process may run the item at once.
		f.Transition, f.Counted = penstock.TransitionRetry, 0
		return
	}
	if f.Counted == 0 && why.idle && !why.Kind.Policy().Free {
		f.Counted = 1 // no target is configured: the item must end at some time
	}
	wait, again := p.backoff.Next(queue.Failure{
		Kind: why.Kind, Tries: c.Tries + max(len(f.Attempts), 1), Counted: c.Attempts + f.Counted, MaxAttempts: c.MaxAttempts,
		RetryAfter: why.RetryAfter, Jitter: rand.Float64(),
	})
	if again {
		f.Transition, f.RetryIn = penstock.TransitionRetry, wait
		return
	}
	f.Transition = penstock.TransitionFail
	f.Error = &penstock.ItemError{Code: why.code, Message: why.Public()}
}

// concludeUnread decides whether an item whose input could not be read is retried. Only an input that was removed or
// tampered with is final; a disk or mount may be available again later, and its outage does not count against the item.
func (p *Pool) concludeUnread(f *store.Finish, c *store.Claimed) {
	f.ErrorKind = string(provider.KindInternal)
	if errors.Is(c.BodyErr, penstock.ErrUnreachable) {
		f.Transition, f.RetryIn = penstock.TransitionRetry, heldWait+rand.N(heldWait)
		return
	}
	f.Counted = 1
	wait, again := p.backoff.Next(queue.Failure{
		Kind: provider.KindInternal, Tries: c.Attempts + 1, Counted: c.Attempts + 1, MaxAttempts: c.MaxAttempts, Jitter: rand.Float64(),
	})
	if again && penstock.ErrorCode(c.BodyErr) != penstock.CodeGone {
		f.Transition, f.RetryIn = penstock.TransitionRetry, wait
		return
	}
	f.Transition = penstock.TransitionFail
	f.Error = &penstock.ItemError{Code: penstock.CodeInternal, Message: "The item's stored input could not be read."}
}

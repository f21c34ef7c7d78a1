package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"penstock"
	"penstock/internal/microbatch"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// sharedAttempt is an attempt for several tasks in one call.
type sharedAttempt struct {
	tasks  []*sharedTask
	choice *route.Choice // its capacity; nil to find some
	again  bool          // they were part of a call that failed
}

// sharedAttempt makes the call of some tasks. When it fails and one input may be the cause, each half is tried
// again, down to the tasks that fail alone.
func (r *Runner) sharedAttempt(ctx context.Context, t sharedAttempt) {
	if t.choice != nil {
		defer t.choice.Release() // of no effect once a call was made on it
	}
	t.tasks = slices.DeleteFunc(slices.Clone(t.tasks), (*sharedTask).gone)
	if len(t.tasks) == 0 {
		return
	}
	if len(t.tasks) == 1 {
		r.solo(ctx, t)
		return
	}
	task := merged(t.tasks)
	task.Subject, task.Choice, task.parts = r.ids.New(r.Clock()), t.choice, true
	if t.again {
		task.Tries = max(task.Tries, 1)
	}
	inputs := 0
	sink := &division{parts: make([]microbatch.Part, len(t.tasks))}
	for i, st := range t.tasks {
		sink.parts[i] = microbatch.Part{Inputs: st.input.Inputs, Weight: st.input.Tokens}
		inputs += st.input.Inputs
	}
	task.began = func(try penstock.Attempt) {
		try.Reason = t.reason(try, inputs)
		for _, st := range t.tasks {
			st.began(try)
		}
	}
	r.Metrics.BatchSent(inputs)
	out := r.runAlone(ctx, &task, sink)
	failure, _ := errors.AsType[*provider.Error](out.Err)
	splits := failure != nil && (suspicious(failure.Kind) || doubtful(failure.Kind))
	r.book(t, out, sink)
	if !splits {
		for _, st := range t.tasks {
			st.end(out.Err)
		}
		return
	}
	for _, st := range t.tasks {
		st.suspect(failure)
	}
	half := len(t.tasks) / 2
	var both sync.WaitGroup
	both.Go(func() { r.sharedAttempt(ctx, sharedAttempt{tasks: t.tasks[:half], again: true}) })
	both.Go(func() { r.sharedAttempt(ctx, sharedAttempt{tasks: t.tasks[half:], again: true}) })
	both.Wait()
}

// suspicious reports whether a call failed because of its content: a single input may be the cause.
func suspicious(k provider.Kind) bool {
	switch k {
	case provider.KindRejected, provider.KindContextTooLong, provider.KindTooLarge, provider.KindForbidden, provider.KindContentBlocked, provider.KindFinal:
		return true
	}
	return false
}

// doubtful reports whether either the target or a single input may be the cause of a failure. The retry budget bounds how often such
// a call is tried again.
func doubtful(k provider.Kind) bool {
	return k == provider.KindServer || k == provider.KindMalformed || k == provider.KindNetwork || k == provider.KindTruncated
}

// suspect records why a call of several was divided. The failed call counts for no task, unless no other call follows.
func (st *sharedTask) suspect(failure *provider.Error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.out.Counted = 0
	if doubtful(failure.Kind) {
		st.doubt = failure
	}
}

// gone reports whether the caller has left.
func (st *sharedTask) gone() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.left
}

// reason is the reason for the choice of the target, with the batch added.
func (t sharedAttempt) reason(try penstock.Attempt, inputs int) string {
	return bounded(fmt.Sprintf("%s; in batch %s of %d inputs from %d calls", try.Reason, try.ID, inputs, len(t.tasks)))
}

// merged is one task for all. It has the lane of the most urgent of them.
func merged(tasks []*sharedTask) Task {
	task := tasks[0].task
	inputs := make([]microbatch.Embedding, len(tasks))
	needs := route.Needs{}
	task.Choice, task.Bound, task.MaxOutputTokens, task.Timeout = nil, 0, 0, 0
	for i, st := range tasks {
		inputs[i] = st.input
		task.Bound = task.Bound.Plus(st.task.Bound)
		task.MaxOutputTokens += st.task.MaxOutputTokens
		task.Tries = max(task.Tries, st.task.Tries)
		task.Wait = min(task.Wait, st.task.Wait)
		if st.task.Tenant != "" {
			task.Tenant = st.task.Tenant
		}
		if slices.Index(penstock.Lanes, st.task.Lane) < slices.Index(penstock.Lanes, task.Lane) {
			task.Lane = st.task.Lane
		}
		// A window of context is that of one input, however many there are.
		needs.ContextTokens = max(needs.ContextTokens, st.input.Tokens)
	}
	task.Body, task.Inference, task.price, task.needs = microbatch.Merge(inputs), nil, nil, &needs
	return task
}

// solo makes the call of one task, as if it had come alone.
func (r *Runner) solo(ctx context.Context, t sharedAttempt) {
	st := t.tasks[0]
	task := st.task
	task.Choice, task.began, task.parts = t.choice, st.began, true
	if t.again {
		task.Tries = max(task.Tries, 1)
	}
	r.Metrics.BatchSent(st.input.Inputs)
	sink := &collection{}
	out := r.runAlone(ctx, &task, sink)
	for i, try := range out.Attempts {
		var forfeit penstock.NanoUSD
		if i == 0 {
			forfeit = out.Forfeit
		}
		st.add(try, forfeit)
	}
	st.conclude(out, func() { st.answer, st.meta = sink.body, sink.meta })
	st.end(out.Err)
}

// book records a call for each task that shared it: its share of the usage, at the price of the call.
func (r *Runner) book(t sharedAttempt, out *Outcome, sink *division) {
	weights, inputs := make([]int64, len(t.tasks)), 0
	for i, p := range sink.parts {
		weights[i] = p.Weight
		inputs += p.Inputs
	}
	// The first task whose caller still waits pays the price per call: every bound covers it.
	payer := max(0, slices.IndexFunc(t.tasks, func(st *sharedTask) bool { return !st.gone() }))
	for n, try := range out.Attempts {
		try.Reason = t.reason(try, inputs)
		shares := microbatch.ShareUsage(try.Usage, weights)
		charged := try.ErrorKind == "" || provider.Kind(try.ErrorKind).Policy().Billable || (sink.begun && n == len(out.Attempts)-1)
		for i, st := range t.tasks {
			mine := try
			mine.ID, mine.Usage = r.ids.New(r.Clock()), shares[i]
			charge := penstock.Charge{Usage: shares[i], Lane: st.task.Lane}
			if i == payer && charged {
				charge.Calls = 1
			}
			mine.Cost = min(out.prices[n].Charge(charge), penstock.MaxCost)
			if st.task.Bounded {
				mine.Cost = min(mine.Cost, st.task.Bound)
			}
			var forfeit penstock.NanoUSD
			if !mine.UsageKnown && charged {
				forfeit = max(0, st.task.Bound-mine.Cost)
			}
			st.add(mine, forfeit)
		}
	}
	for i, st := range t.tasks {
		st.conclude(out, func() { st.answer, st.meta = sink.answers[i], sink.meta })
	}
}

// conclude adds the outcome of a call as a whole, and keeps its answer if there is one.
func (st *sharedTask) conclude(out *Outcome, keep func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.left {
		return
	}
	st.out.Counted += out.Counted
	st.out.Final = out.Final
	st.out.PriceVersion = out.PriceVersion
	if out.Err == nil {
		keep()
		st.meta.Usage = st.out.Attempts[len(st.out.Attempts)-1].Usage
	}
}

// add records an attempt, and the cost that the upstream may have charged without a report.
func (st *sharedTask) add(mine penstock.Attempt, forfeit penstock.NanoUSD) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.left {
		return // abandoned has charged its bound
	}
	mine.Subject, mine.Fence, mine.Number = st.task.Subject, st.task.Fence, len(st.out.Attempts)+1
	st.call = nil
	st.out.Attempts = append(st.out.Attempts, mine)
	st.out.Target, st.out.StatusCode = mine.Target, mine.StatusCode
	st.out.Usage = st.out.Usage.Plus(mine.Usage)
	st.out.Cost = st.out.Cost.Plus(mine.Cost)
	st.out.Forfeit = st.out.Forfeit.Plus(forfeit)
}

// division is the sink of a call that several tasks share.
type division struct {
	parts   []microbatch.Part
	begun   bool
	meta    provider.Meta
	answers [][]byte
}

// Begin implements Sink.
func (d *division) Begin(_ string, meta provider.Meta) error {
	d.begun, d.meta = true, meta
	return nil
}

// Chunk implements Sink. Embeddings come in one piece.
func (d *division) Chunk(c provider.Chunk) (err error) {
	if d.answers == nil {
		d.answers, err = microbatch.Divide(c.Wire, d.parts)
	} else if len(c.Wire) > 0 {
		err = errors.New("it goes on after its end")
	}
	if err != nil {
		return &provider.Error{Kind: provider.KindMalformed, Message: "The answer to several calls cannot be divided.", Err: err}
	}
	return nil
}

// collection keeps an answer until its caller takes it.
type collection struct {
	meta provider.Meta
	body []byte
}

// Begin implements Sink.
func (c *collection) Begin(_ string, meta provider.Meta) error {
	c.meta = meta
	return nil
}

// Chunk implements Sink.
func (c *collection) Chunk(chunk provider.Chunk) error {
	c.body = append(c.body, chunk.Wire...)
	return nil
}

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

// sharedAttempt is tasks whose call is made together.
type sharedAttempt struct {
	tasks  []*sharedTask
	choice *route.Choice // its room; nil to find some
	again  bool          // they were part of a call that failed
}

// sharedAttempt makes the call of some riders. When it fails for what may be the fault of one of them, each half is tried
// again, down to those who fail alone.
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
	task.Subject, task.Choice = r.ids.New(r.Clock()), t.choice
	if t.again {
		task.Tries = max(task.Tries, 1)
	}
	inputs := 0
	sink := &division{parts: make([]microbatch.Part, len(t.tasks))}
	for i, rd := range t.tasks {
		sink.parts[i] = microbatch.Part{Inputs: rd.input.Inputs, Weight: rd.input.Tokens}
		inputs += rd.input.Inputs
	}
	task.began = func(try penstock.Attempt) {
		try.Reason = t.reason(try, inputs)
		for _, rd := range t.tasks {
			rd.began(try)
		}
	}
	r.Metrics.BatchSent(inputs)
	out := r.runAlone(ctx, &task, sink)
	failure, _ := errors.AsType[*provider.Error](out.Err)
	splits := failure != nil && (suspicious(failure.Kind) || doubtful(failure.Kind))
	r.book(t, out, sink)
	if !splits {
		for _, rd := range t.tasks {
			rd.end(out.Err)
		}
		return
	}
	for _, rd := range t.tasks {
		rd.suspect(failure)
	}
	half := len(t.tasks) / 2
	var both sync.WaitGroup
	both.Go(func() { r.sharedAttempt(ctx, sharedAttempt{tasks: t.tasks[:half], again: true}) })
	both.Go(func() { r.sharedAttempt(ctx, sharedAttempt{tasks: t.tasks[half:], again: true}) })
	both.Wait()
}

// suspicious says that a call failed for what it asks, which one input alone may be the reason of.
func suspicious(k provider.Kind) bool {
	switch k {
	case provider.KindRejected, provider.KindContextTooLong, provider.KindTooLarge, provider.KindForbidden, provider.KindContentBlocked, provider.KindFinal:
		return true
	}
	return false
}

// doubtful says that a call failed as it does on a sick target, or on an input that the target cannot bear. How often
// that is tried again, the budget of retries says.
func doubtful(k provider.Kind) bool {
	return k == provider.KindServer || k == provider.KindMalformed || k == provider.KindNetwork || k == provider.KindTruncated
}

// suspect notes why a call of several was divided. It counts for nobody unless nothing else comes of it.
func (rd *sharedTask) suspect(failure *provider.Error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.out.Counted = 0
	if doubtful(failure.Kind) {
		rd.doubt = failure
	}
}

// gone says that nobody waits for it.
func (rd *sharedTask) gone() bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return rd.left
}

// reason adds to why a target was chosen who shared the call.
func (t sharedAttempt) reason(try penstock.Attempt, inputs int) string {
	return bounded(fmt.Sprintf("%s; in batch %s of %d inputs from %d calls", try.Reason, try.ID, inputs, len(t.tasks)))
}

// merged is one task for all. It is as urgent as the most urgent of them.
func merged(tasks []*sharedTask) Task {
	task := tasks[0].task
	inputs := make([]microbatch.Embedding, len(tasks))
	needs := route.Needs{}
	task.Choice, task.Bound, task.MaxOutputTokens, task.Timeout = nil, 0, 0, 0
	for i, rd := range tasks {
		inputs[i] = rd.input
		task.Bound = task.Bound.Plus(rd.task.Bound)
		task.MaxOutputTokens += rd.task.MaxOutputTokens
		task.Tries = max(task.Tries, rd.task.Tries)
		task.Wait = min(task.Wait, rd.task.Wait)
		if rd.task.Tenant != "" {
			task.Tenant = rd.task.Tenant
		}
		if slices.Index(penstock.Lanes, rd.task.Lane) < slices.Index(penstock.Lanes, task.Lane) {
			task.Lane = rd.task.Lane
		}
		// A window of context is that of one input, however many there are.
		needs.ContextTokens = max(needs.ContextTokens, rd.input.Tokens)
	}
	task.Body, task.Inference, task.needs = microbatch.Merge(inputs), nil, &needs
	return task
}

// solo makes the call of one rider, as if it had come alone.
func (r *Runner) solo(ctx context.Context, t sharedAttempt) {
	rd := t.tasks[0]
	task := rd.task
	task.Choice, task.began = t.choice, rd.began
	if t.again {
		task.Tries = max(task.Tries, 1)
	}
	r.Metrics.BatchSent(rd.input.Inputs)
	sink := &collection{}
	out := r.runAlone(ctx, &task, sink)
	for i, try := range out.Attempts {
		var forfeit penstock.NanoUSD
		if i == 0 {
			forfeit = out.Forfeit
		}
		rd.add(try, forfeit)
	}
	rd.conclude(out, func() { rd.answer, rd.meta = sink.body, sink.meta })
	rd.end(out.Err)
}

// book writes a call down for each of those who shared it: what they had of it, at its price.
func (r *Runner) book(t sharedAttempt, out *Outcome, sink *division) {
	weights, inputs := make([]int64, len(t.tasks)), 0
	for i, p := range sink.parts {
		weights[i] = p.Weight
		inputs += p.Inputs
	}
	// What a call costs by itself is paid once, by the first of those who stayed: every bound has enough for it.
	payer := max(0, slices.IndexFunc(t.tasks, func(rd *sharedTask) bool { return !rd.gone() }))
	for n, try := range out.Attempts {
		try.Reason = t.reason(try, inputs)
		shares := microbatch.ShareUsage(try.Usage, weights)
		charged := try.ErrorKind == "" || provider.Kind(try.ErrorKind).Policy().Billable || (sink.begun && n == len(out.Attempts)-1)
		for i, rd := range t.tasks {
			mine := try
			mine.ID, mine.Usage = r.ids.New(r.Clock()), shares[i]
			charge := penstock.Charge{Usage: shares[i], Lane: rd.task.Lane}
			if i == payer && charged {
				charge.Calls = 1
			}
			mine.Cost = min(out.prices[n].Charge(charge), penstock.MaxCost)
			if rd.task.Bounded {
				mine.Cost = min(mine.Cost, rd.task.Bound)
			}
			var forfeit penstock.NanoUSD
			if !mine.UsageKnown && charged {
				forfeit = max(0, rd.task.Bound-mine.Cost)
			}
			rd.add(mine, forfeit)
		}
	}
	for i, rd := range t.tasks {
		rd.conclude(out, func() { rd.answer, rd.meta = sink.answers[i], sink.meta })
	}
}

// conclude adds what is said of a call as a whole, and has its answer kept if there is one.
func (rd *sharedTask) conclude(out *Outcome, keep func()) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.left {
		return
	}
	rd.out.Counted += out.Counted
	rd.out.Final = out.Final
	rd.out.PriceVersion = out.PriceVersion
	if out.Err == nil {
		keep()
		rd.meta.Usage = rd.out.Attempts[len(rd.out.Attempts)-1].Usage
	}
}

// add books an attempt, and what may have been spent by it without the upstream telling.
func (rd *sharedTask) add(mine penstock.Attempt, forfeit penstock.NanoUSD) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.left {
		return // it went by its bound
	}
	mine.Subject, mine.Fence, mine.Number = rd.task.Subject, rd.task.Fence, len(rd.out.Attempts)+1
	rd.call = nil
	rd.out.Attempts = append(rd.out.Attempts, mine)
	rd.out.Target, rd.out.StatusCode = mine.Target, mine.StatusCode
	rd.out.Usage = rd.out.Usage.Plus(mine.Usage)
	rd.out.Cost = rd.out.Cost.Plus(mine.Cost)
	rd.out.Forfeit = rd.out.Forfeit.Plus(forfeit)
}

// division is the sink of a call that several share.
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

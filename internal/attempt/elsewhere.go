package attempt

import (
	"cmp"
	"context"
	"errors"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// Place is where another process shall make one attempt. The capacity for the attempt is held.
type Place struct {
	Target *penstock.Target
	Model  penstock.Model
	Config string // hash of the configuration
	Reason string // why this target
}

// Tried is the result of an attempt that another process made.
type Tried struct {
	// Outcome has one attempt, or none if the target could not be asked. Nil if the process did not finish: then Died or
	// Stopped says how, or Err why it did not begin.
	Outcome *Outcome
	Result  capacity.Result // of the attempt
	Died    bool
	Stopped bool
	Err     error // no other target is tried
}

// AnswerElsewhere is Answer for a task whose body this process does not read: attempt makes the attempts, in another process.
// This process still chooses targets, takes their capacity, falls back and adds everything up. What a process spent that died, or
// had to be stopped, is unknown: its reservation is forfeit.
func (r *Runner) AnswerElsewhere(ctx context.Context, task *Task, attempt func(context.Context, Place) Tried) *Outcome {
	defer task.release()
	c := &Run{runner: r, task: task, snapshot: r.Config.Current()}
	if c.out.Err = r.setOutUnread(c); c.out.Err != nil {
		return &c.out
	}
	for ctx.Err() == nil {
		choice, err := c.choose(ctx)
		if err != nil {
			c.out.Err = cmp.Or(c.out.Err, err)
			c.out.Final = c.cannotSucceed()
			return &c.out
		}
		if r.tryElsewhere(ctx, c, choice, attempt) {
			return &c.out
		}
	}
	if c.out.Err == nil {
		c.out.Err = &provider.Error{Kind: provider.KindCancelled, Message: "Nobody wanted the answer any more.", Err: context.Cause(ctx)}
	}
	return &c.out
}

// setOutUnread is setOut without a look at the body. The other process rejects a target that cannot serve it, or is too expensive.
func (r *Runner) setOutUnread(c *Run) error {
	task := c.task
	candidates, err := route.Candidates(task.Targets, c.snapshot.Targets)
	if err != nil {
		return err
	}
	if candidates, c.remarks = r.served(task, candidates); len(candidates) == 0 {
		return notServed(task)
	}
	model, _ := c.snapshot.Model(task.Model)
	c.query = route.Query{
		Candidates: candidates, Model: model, Lane: task.Lane, Wait: task.Wait, Stream: task.Stream, Retry: task.Tries > 0,
		InputTokens: penstock.InputTokens(task.InputBytes), MaxOutputTokens: task.MaxOutputTokens,
	}
	if c.divided() { // only the other process can tell whether a target is able: so that chance does not decide, they have their turns in the model's order
		c.query.Model.Policy = penstock.PolicyOrdered
	}
	for _, t := range c.listed() {
		if !r.Serves(t, task.Endpoint) {
			c.skips.Add(route.Skip{Target: t.Name, Reason: unserved(task.Endpoint)})
		}
	}
	return c.restrict()
}

// tryElsewhere has another process make an attempt, and reports whether it was the last one.
func (r *Runner) tryElsewhere(ctx context.Context, c *Run, choice *route.Choice, attempt func(context.Context, Place) Tried) bool {
	began := r.Clock()
	t := &try{runner: r, task: c.task, choice: choice, target: choice.Target, probe: choice.Probe(), record: &penstock.Attempt{}}
	defer t.release()
	within, span := r.startSpan(ctx, t)
	t.span = span
	tried := attempt(within, Place{Target: choice.Target, Model: c.query.Model, Config: c.snapshot.Hash, Reason: explain(choice.Reason, c.remarks, nil)})
	switch {
	case tried.Err != nil:
		r.endSpan(t, provider.AsError(tried.Err))
		c.out.Err = tried.Err
		return true
	case tried.Outcome == nil:
		tried = r.unknown(c, t, tried)
		tried.Outcome.Attempts[0].StartedAt = began
	case len(tried.Outcome.Attempts) == 0:
		c.out.Err = cmp.Or(c.out.Err, tried.Outcome.Err)
		r.endSpan(t, nil)
		c.query.Tried = append(c.query.Tried, t.target.Name)
		c.remarks.add("%s cannot be asked: %s", t.target.Name, penstock.AsError(tried.Outcome.Err).Message)
		_, upstream := errors.AsType[*provider.Error](tried.Outcome.Err)
		return upstream || c.unable(t.target.Name, tried.Outcome.Err) // the former broke on our side
	}
	return r.endElsewhere(within, c, t, tried)
}

// unknown is an attempt whose result is lost.
func (r *Runner) unknown(c *Run, t *try, tried Tried) Tried {
	now := r.Clock()
	record := penstock.Attempt{
		ID: r.ids.New(now), Subject: c.task.Subject, Fence: c.task.Fence, Target: t.target.Name, Config: c.snapshot.Hash,
		Reason: explain(t.choice.Reason, c.remarks, nil), FinishedAt: now,
		ErrorKind: string(provider.KindCancelled), ErrorMessage: "The attempt was stopped, and its process ended with it.",
	}
	failure := &provider.Error{Kind: provider.KindCancelled, Message: record.ErrorMessage}
	if tried.Died {
		record.ErrorKind, record.ErrorMessage = penstock.AttemptDied, "The process that ran this attempt, and nothing else, died."
		failure = &provider.Error{Kind: provider.KindInternal, Message: record.ErrorMessage}
	}
	_, record.PriceVersion = t.target.PriceAt(now)
	tried.Outcome = &Outcome{
		Attempts: []penstock.Attempt{record}, Err: failure, Target: record.Target, Forfeit: c.task.Bound, PriceVersion: record.PriceVersion,
		Unpriced: t.target.Unpriced,
	}
	tried.Result = capacity.Result{Kind: provider.KindCancelled} // the target learns nothing from it
	return tried
}

// endElsewhere records an attempt that another process made, and reports whether it was the last one.
func (r *Runner) endElsewhere(ctx context.Context, c *Run, t *try, tried Tried) bool {
	one, all := tried.Outcome, &c.out
	t.choice.Done(tried.Result)
	t.given = true
	record := one.Attempts[0]
	record.Number, record.Isolated = len(all.Attempts)+1, true
	t.record, t.begun, t.meta.Usage = &record, one.Begun, record.Usage
	var failure *provider.Error
	if one.Err != nil {
		failure = provider.AsError(one.Err)
		r.logFailure(ctx, t, failure)
	}
	all.Attempts = append(all.Attempts, record)
	all.Err = decisive(all.Err, failure)
	if failure == nil || !t.free(failure.Kind) {
		all.Counted += one.Counted
	}
	all.Begun = all.Begun || one.Begun
	all.Target, all.StatusCode, all.PriceVersion = record.Target, record.StatusCode, one.PriceVersion
	all.Usage = all.Usage.Plus(one.Usage)
	all.Cost += one.Cost
	all.Forfeit += one.Forfeit
	all.Unpriced = all.Unpriced || one.Unpriced
	r.endSpan(t, failure)
	r.observe(ctx, t)
	spent := (c.task.MaxAttempts > 0 && all.Counted >= c.task.MaxAttempts) || (c.task.Bounded && all.Cost+all.Forfeit > 0)
	if failure == nil || one.Begun || spent || tried.Died || tried.Stopped || !failure.Kind.Policy().Fallback || (failure.Kind == provider.KindContextTooLong && c.tooLong(t)) {
		return true
	}
	c.query.Tried, c.query.Retry = append(c.query.Tried, t.target.Name), true
	return false
}

package attempt

import (
	"cmp"
	"context"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// Answer tries targets until one answers, none is left, or the error would be the same anywhere. A task that may
// share a call with others does.
func (r *Runner) Answer(ctx context.Context, task Task, sink Sink) Outcome {
	c := r.runs.Get().(*Run)
	c.runner, c.own, c.sink = r, task, sink
	if c.member = r.member(&c.own); c.member == nil {
		c.open(ctx)
	}
	out := *c.Finish(ctx)
	if c.reusable() {
		*c = Run{}
		r.runs.Put(c)
	}
	return out
}

// reusable reports whether nothing can refer to a finished run any more: its only attempt was answered in full by one call. After
// a failure, the reader of an answer may still be on its way out.
func (c *Run) reusable() bool {
	return c.member == nil && c.out.Err == nil && len(c.out.Attempts) == 1 && !c.task.Stream && c.try.several == nil
}

// Begin is Answer up to where the sink has seen the answer begin, or nothing is left to be tried. The run that it returns has
// to be finished with the same context, or closed. The task is not changed.
//
// Begin and Finish are apart because a stream waits for its events in Finish for minutes, thousands at a time. All functions that
// lead to an answer have returned by then, so that the runtime shrinks the stack, and the run holds no body any more.
func (r *Runner) Begin(ctx context.Context, task *Task, sink Sink) *Run {
	if m := r.member(task); m != nil {
		return &Run{runner: r, member: m, sink: sink}
	}
	return r.begin(ctx, task, sink)
}

func (r *Runner) runAlone(ctx context.Context, task *Task, sink Sink) *Outcome {
	return r.begin(ctx, task, sink).Finish(ctx)
}

// begin begins a task that shares its call with no other.
func (r *Runner) begin(ctx context.Context, task *Task, sink Sink) *Run {
	c := &Run{runner: r, own: *task, sink: sink}
	c.open(ctx)
	return c
}

// open begins the run of a task that shares its call with no other.
func (c *Run) open(ctx context.Context) {
	c.snapshot, c.task = c.runner.Config.Current(), &c.own
	returned := false
	defer func() {
		if !returned { // a panic
			c.task.release()
			if c.try.choice != nil {
				c.try.release()
			}
		}
	}()
	c.begin(ctx)
	returned = true
}

// Run is a task on its way from target to target. It holds the capacity that was chosen for the task until Finish or Close has
// returned. It belongs to one goroutine.
type Run struct {
	runner   *Runner
	own      Task // a copy of the caller's, which stays as it is
	task     *Task
	sink     Sink
	member   *member // not nil for a task that may share its call with others; all fields below are unused then
	snapshot *config.Snapshot
	query    route.Query
	few      [2]*penstock.Target // memory of the candidates, if there are no more
	remarks  remarks
	skips    route.Skips // targets that cannot serve the task
	deferred bool        // it is not known yet which targets cannot serve the task: see check
	refused  bool        // the task may not move on to another target
	out      Outcome
	try      try  // the current one; a finished one until the next begins
	opened   bool // the sink has seen the answer of try begin
	over     bool
	broken   bool // an attempt broke on our side: what it left behind is not known
}

// begin tries targets until the answer of one has begun or none is left.
func (c *Run) begin(ctx context.Context) {
	r := c.runner
	if c.out.Err = r.setOut(c); c.out.Err != nil {
		return
	}
	for ctx.Err() == nil {
		choice, err := c.choose(ctx)
		if err != nil {
			if c.out.Err == nil { // the error of an upstream explains more than the lack of another target
				c.out.Err = err
			}
			c.out.Final = c.cannotSucceed()
			return
		}
		t := r.prepare(c, choice)
		if t == nil {
			if c.refused {
				return
			}
			continue
		}
		t.sink = c.sink
		failure := r.open(ctx, t)
		if failure == nil {
			c.dropBodies(t)
			c.opened = true
			return
		}
		if c.end(t, r.close(ctx, t, failure)) {
			return
		}
	}
	if c.out.Err == nil {
		c.out.Err = &provider.Error{Kind: provider.KindCancelled, Message: "Nobody wanted the answer any more.", Err: context.Cause(ctx)}
	}
}

// Finish passes the rest of the answer on, and returns the outcome. Once an answer has begun, no other target is tried.
func (c *Run) Finish(ctx context.Context) *Outcome {
	c.over = true
	if c.member != nil {
		return c.runner.share(ctx, c.member, c.sink)
	}
	defer c.task.release()
	if c.opened {
		t := &c.try
		c.end(t, c.runner.close(ctx, t, t.pass(ctx)))
	}
	return &c.out
}

// Close gives up a run that was not finished: it ends the call upstream and gives the capacity back. It has no effect after
// Finish, whether that returned or panicked.
func (c *Run) Close(ctx context.Context) {
	if c == nil || c.over {
		return
	}
	c.over = true
	if c.member != nil {
		c.member.Value.task.release()
		return
	}
	defer c.task.release()
	if c.opened {
		c.runner.close(ctx, &c.try, &provider.Error{Kind: provider.KindCancelled, Message: "The call was given up."})
	}
}

// Alone reports whether the attempts of the run, and nothing else, read the body of its task. A call that is shared with other
// tasks goes on for them, and an attempt that broke may have left a reader behind.
func (c *Run) Alone() bool { return c != nil && c.member == nil && !c.broken }

// setOut finds the targets that may be asked at all.
func (r *Runner) setOut(c *Run) error {
	candidates, err := route.AppendCandidates(c.few[:0], c.task.Targets, c.snapshot.Targets)
	if err != nil {
		return err
	}
	if candidates, c.remarks = r.served(c.task, candidates); len(candidates) == 0 {
		return notServed(c.task)
	}
	unserved := len(c.remarks)
	if candidates = r.affordable(c.task, candidates, &c.remarks); len(candidates) == 0 {
		return unaffordable(c.task)
	}
	c.query = c.runner.queryOf(c.task, c.snapshot, candidates)
	if unserved == 0 && c.query.Needs.Capabilities == 0 && c.query.Needs.ContextTokens == 0 && !c.divided() {
		return nil // every target can serve the task, as far as is known before its body is translated
	}
	if c.deferred = c.firstIsAllowed(); c.deferred {
		return nil
	}
	return c.checkAble()
}

// prepare makes the try on a target that was chosen. It returns nil if the target cannot be asked.
func (r *Runner) prepare(c *Run, choice *route.Choice) *try {
	t := &c.try
	if err := r.tryOn(t, c.task, choice); err != nil {
		choice.Release()
		if c.deferred { // the target turns out to be unable, as if it had been checked
			if refusal := c.check(); refusal != nil {
				c.out.Err, c.refused = refusal, true
			}
			return nil
		}
		c.out.Err = cmp.Or(c.out.Err, err)
		c.query.Tried = append(c.query.Tried, choice.Target.Name)
		c.remarks.add("%s cannot be asked: %s", choice.Target.Name, penstock.AsError(err).Message)
		c.refused = c.unable(choice.Target.Name, err)
		return nil
	}
	now := r.Clock()
	c.out.Attempts = append(c.out.Attempts, penstock.Attempt{
		ID: r.ids.New(now), Subject: c.task.Subject, Fence: c.task.Fence, Target: choice.Target.Name, StartedAt: now,
		Number: len(c.out.Attempts) + 1, Config: c.snapshot.Hash, Reason: explain(cmp.Or(c.task.Reason, choice.Reason), c.remarks, t.request.Remarks()),
	})
	t.record, t.skipped = &c.out.Attempts[len(c.out.Attempts)-1], c.skips.Before(&c.query.Model, c.task.Targets, choice.Target.Name)
	if c.task.began != nil {
		c.task.began(*t.record)
	}
	return t
}

// end adds a try to the outcome, and reports whether it was the last one.
func (c *Run) end(t *try, failure *provider.Error) bool {
	c.out.add(t, failure)
	c.broken = c.broken || failure != nil && failure.Kind == provider.KindInternal
	spent := (c.task.MaxTargets > 0 && len(c.out.Attempts) >= c.task.MaxTargets) || (c.task.MaxAttempts > 0 && c.out.Counted >= c.task.MaxAttempts) || (c.task.Bounded && c.out.Cost+c.out.Forfeit > 0)
	if failure == nil || t.begun || spent || !failure.Kind.Policy().Fallback || (failure.Kind == provider.KindContextTooLong && c.tooLong(t)) {
		return true
	}
	c.query.Tried, c.query.Retry = append(c.query.Tried, t.choice.Target.Name), true
	return false
}

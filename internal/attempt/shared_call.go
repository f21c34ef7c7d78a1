package attempt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/internal/microbatch"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// kind is the properties that tasks must have in common to share a call. Tasks of different owners never share: an upstream reports
// the usage of a call as a whole, and no tenant pays for the usage of another.
type kind struct {
	owner    penstock.TenantID
	model    string
	targets  string
	shape    microbatch.Shape
	retry    bool
	attempts int // that may be made
}

type (
	batch  = microbatch.Batch[kind, *sharedTask]
	member = microbatch.Member[kind, *sharedTask]
)

// maxWaitShare is the part of its time, one in so many, that a task may spend on waiting for others.
const maxWaitShare = 10

// sharedTask is a task that may share its call with others.
type sharedTask struct {
	task   Task
	input  microbatch.Embedding
	joined time.Time
	done   chan struct{} // closed at the end

	mu     sync.Mutex
	out    Outcome           // of the calls that ended
	call   *penstock.Attempt // the one that is under way, nil for none
	doubt  *provider.Error   // why a call was divided that may have failed for other reasons than its inputs
	left   bool              // the caller gave up
	ended  bool
	answer []byte
	meta   provider.Meta
}

// member describes how a task may share a call, nil if it may not. The last attempt of an item that failed before is not shared, so
// that no other input causes its failure. A task under a hard budget is not shared: it may not cost more than its reservation.
func (r *Runner) member(task *Task) *member {
	lastChance := task.Tries > 0 && task.MaxAttempts == 1
	if task.Endpoint != penstock.EndpointEmbeddings || task.Stream || task.Owner == "" || len(task.Header) > 0 || lastChance || task.Bounded || task.MaxTargets > 0 {
		return nil
	}
	candidates, err := route.Candidates(task.Targets, r.Config.Current().Targets)
	if err != nil {
		return nil
	}
	candidates, _ = r.served(task, candidates)
	limits, ok := tightest(candidates)
	if !ok {
		return nil
	}
	input, ok := microbatch.Read(task.Body)
	if !ok || input.Inputs >= limits.MaxInputs || input.Tokens >= limits.MaxTokens {
		return nil
	}
	attempts := task.MaxAttempts
	if attempts == 0 || attempts > len(candidates) {
		attempts = len(candidates)
	}
	own := *task
	if own.Choice != nil {
		own.Choice = own.Choice.Shared()
	}
	return &member{
		Key: kind{owner: task.Owner, model: task.Model, targets: strings.Join(task.Targets, "\n"), shape: input.Shape,
			retry: task.Tries > 0, attempts: attempts},
		Value:  &sharedTask{task: own, input: input, done: make(chan struct{})},
		Inputs: input.Inputs, Tokens: input.Tokens, Urgency: slices.Index(penstock.Lanes, task.Lane), Limits: limits,
	}
}

// tightest are limits that all of the targets allow: which of them a batch goes to is decided once it is there.
func tightest(candidates []*penstock.Target) (limits microbatch.Limits, ok bool) {
	for i, t := range candidates {
		b := microbatch.Limits(t.Batching)
		if i == 0 {
			limits = b
		}
		limits.MaxInputs, limits.MaxTokens, limits.Wait = min(limits.MaxInputs, b.MaxInputs), min(limits.MaxTokens, b.MaxTokens), min(limits.Wait, b.Wait)
	}
	return limits, limits.MaxInputs > 1
}

// Together bounds the tasks that can share one call for embeddings to any of the targets; inputs below 2 for none.
func (r *Runner) Together(targets []*penstock.Target) (inputs int, tokens int64) {
	limits, ok := tightest(targets)
	if !ok {
		return 1, 0
	}
	return limits.MaxInputs, limits.MaxTokens
}

// share runs a task together with others of its kind, or alone when there are none.
func (r *Runner) share(ctx context.Context, m *member, sink Sink) *Outcome {
	st := m.Value
	if deadline, ok := ctx.Deadline(); ok {
		m.Limits.Wait = min(m.Limits.Wait, max(0, time.Until(deadline)/maxWaitShare))
	}
	if st.task.Timeout > 0 {
		m.Limits.Wait = min(m.Limits.Wait, st.task.Timeout/maxWaitShare)
	}
	st.joined = r.Clock()
	b, over := r.batches.Join(ctx, *m)
	if over != nil {
		defer over()
		r.Metrics.BatchSent(st.input.Inputs)
		r.Metrics.BatchWaited(0)
		return r.runAlone(ctx, &st.task, sink)
	}
	if st.task.Choice != nil {
		defer st.task.Choice.Release() // of no effect once a call was made on it
		if b.Departed() {
			st.task.Choice.Release() // the batch waits for capacity, perhaps for this one
		}
	}
	if st.task.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, st.task.Timeout)
		defer cancel()
	}
	defer b.Leave(st) // when all members have left, the call is cancelled
	select {
	case <-st.done:
		return r.deliver(ctx, st, sink)
	case <-ctx.Done():
	}
	if st.leave() {
		return r.abandoned(ctx, st)
	}
	return r.deliver(ctx, st, sink)
}

// deliver passes the answer on, on the goroutine of the caller: a slow caller delays no other. Filters judge the part of the answer
// that belongs to the task, so that a verdict on one input has no effect on the others.
func (r *Runner) deliver(ctx context.Context, st *sharedTask, sink Sink) *Outcome {
	out := st.out
	if out.Err != nil {
		return &out
	}
	chunk := provider.Chunk{Wire: st.answer, Last: true}
	t := try{filtered: r.Filters.Begin(st.task.subject())}
	err := t.judge(ctx, &chunk)
	if err == nil {
		out.Begun = true
		if err = sink.Begin(out.Target, st.meta); err == nil {
			err = sink.Chunk(chunk)
		}
	}
	if err != nil {
		failure := provider.AsError(refused(err))
		last := &out.Attempts[len(out.Attempts)-1]
		last.ErrorKind, last.ErrorMessage = string(failure.Kind), failure.Public()
		out.Err = failure
	}
	return &out
}

// leave records that the caller gave up. It reports false when the end came first.
func (st *sharedTask) leave() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.left = !st.ended
	return st.left
}

// abandoned is the outcome of a task whose caller gave up. The call in progress continues for the others, and the
// share of this task in its cost is not known here.
func (r *Runner) abandoned(ctx context.Context, st *sharedTask) *Outcome {
	failure := &provider.Error{Kind: provider.KindCancelled, Message: "Nobody wanted the answer any more.", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		failure.Kind, failure.Message = provider.KindTimeout, "The answer was not there in time."
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	out := st.out
	out.Err, out.Attempts = failure, slices.Clone(out.Attempts) // those of st may still grow
	if st.call == nil {
		if len(out.Attempts) == 0 {
			failure.Kind = provider.KindCancelled // no upstream was called, so no upstream was too slow
		}
		return &out
	}
	last := *st.call
	last.ID, last.Subject, last.Fence, last.Number = r.ids.New(r.Clock()), st.task.Subject, st.task.Fence, len(out.Attempts)+1
	last.FinishedAt, last.ErrorKind, last.ErrorMessage = r.Clock(), string(failure.Kind), failure.Public()
	out.Attempts = append(out.Attempts, last)
	out.Counted++
	out.Target = last.Target
	out.Forfeit = out.Forfeit.Plus(st.task.Bound)
	return &out
}

// began records the call in progress.
func (st *sharedTask) began(try penstock.Attempt) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.call = &try
}

// end ends a task. The error of a call that was divided explains more than the lack of capacity for its parts, unless the error is
// about one of the inputs: the input may belong to another task.
func (st *sharedTask) end(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if _, upstream := errors.AsType[*provider.Error](err); err != nil && !upstream && st.doubt != nil {
		err = st.doubt
	}
	st.out.Err = err
	if st.doubt != nil && st.out.Counted == 0 {
		st.out.Counted = 1
	}
	if !st.ended && !st.left {
		st.ended = true
		close(st.done)
	}
}

// runBatch finds capacity for one call, and makes the call for all tasks that have joined by then.
func (r *Runner) runBatch(ctx context.Context, b *batch) {
	defer func() {
		if p := recover(); p != nil {
			for _, st := range b.Seal() {
				st.end(&provider.Error{Kind: provider.KindInternal, Message: "The attempt broke on our side.",
					Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())})
			}
		}
	}()
	choice, err := r.chooseForBatch(ctx, b.Members())
	tasks := b.Seal()
	for _, st := range tasks {
		r.Metrics.BatchWaited(r.Clock().Sub(st.joined))
		if st.task.Choice != nil {
			st.task.Choice.Release() // one call is made, and has its capacity
		}
	}
	if err != nil {
		for _, st := range tasks {
			st.end(err)
		}
		return
	}
	r.sharedAttempt(ctx, sharedAttempt{tasks: tasks, choice: choice})
}

// chooseForBatch finds capacity for one call: that of a member, or any.
func (r *Runner) chooseForBatch(ctx context.Context, members []*sharedTask) (*route.Choice, error) {
	for _, st := range members {
		if st.task.Choice == nil {
			continue
		}
		if choice, ok := st.task.Choice.Take(); ok {
			return &choice, nil
		}
	}
	if len(members) == 0 {
		return nil, context.Canceled // all callers left
	}
	task, snapshot := merged(members), r.Config.Current()
	candidates, err := route.Candidates(task.Targets, snapshot.Targets)
	if err != nil {
		return nil, err
	}
	candidates, _ = r.served(&task, candidates)
	if len(candidates) == 0 {
		return nil, notServed(&task)
	}
	return r.Router.Choose(ctx, r.queryOf(&task, snapshot, candidates))
}

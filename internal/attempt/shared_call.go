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

// kind is what tasks must have in common to share a call. Those of different owners never do: an upstream tells what
// a call used as a whole, and nobody shall pay for what another one is.
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

// patience is the part of its time that a task may spend on waiting for others.
const patience = 10

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

// member says how a task may share a call, nil if it may not. The last attempt at an item that failed before is its own: whatever
// it meets then is not its neighbours' fault. What a hard budget pays for goes alone: it may not cost more than was set
// aside for it.
func (r *Runner) member(task *Task) *member {
	lastChance := task.Tries > 0 && task.MaxAttempts == 1
	if task.Endpoint != penstock.EndpointEmbeddings || task.Stream || task.Owner == "" || len(task.Header) > 0 || lastChance || task.Bounded {
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
	rd := m.Value
	if deadline, ok := ctx.Deadline(); ok {
		m.Limits.Wait = min(m.Limits.Wait, max(0, time.Until(deadline)/patience))
	}
	if rd.task.Timeout > 0 {
		m.Limits.Wait = min(m.Limits.Wait, rd.task.Timeout/patience)
	}
	rd.joined = r.Clock()
	b, over := r.batches.Join(ctx, *m)
	if over != nil {
		defer over()
		r.Metrics.BatchSent(rd.input.Inputs)
		r.Metrics.BatchWaited(0)
		return r.runAlone(ctx, &rd.task, sink)
	}
	if rd.task.Choice != nil {
		defer rd.task.Choice.Release() // of no effect once a call was made on it
		if b.Departed() {
			rd.task.Choice.Release() // the batch waits in line for room: this may be what it waits for
		}
	}
	if rd.task.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rd.task.Timeout)
		defer cancel()
	}
	defer b.Leave(rd) // when all have, the call is given up
	select {
	case <-rd.done:
		return rd.deliver(sink)
	case <-ctx.Done():
	}
	if rd.leave() {
		return r.abandoned(ctx, rd)
	}
	return rd.deliver(sink)
}

// deliver hands the answer over. A slow caller keeps nobody else waiting: this is its own goroutine.
func (rd *sharedTask) deliver(sink Sink) *Outcome {
	out := rd.out
	if out.Err != nil {
		return &out
	}
	out.Begun = true
	err := sink.Begin(out.Target, rd.meta)
	if err == nil {
		err = sink.Chunk(provider.Chunk{Wire: rd.answer, Last: true})
	}
	if err != nil {
		failure := provider.AsError(refused(err))
		last := &out.Attempts[len(out.Attempts)-1]
		last.ErrorKind, last.ErrorMessage = string(failure.Kind), failure.Public()
		out.Err = failure
	}
	return &out
}

// leave says that the caller gave up. It reports false when the end came first.
func (rd *sharedTask) leave() bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.left = !rd.ended
	return rd.left
}

// abandoned is the outcome of a task whose caller gave up. The call that was under way goes on for the others, and
// what part of it this one has to pay will not be known here.
func (r *Runner) abandoned(ctx context.Context, rd *sharedTask) *Outcome {
	failure := &provider.Error{Kind: provider.KindCancelled, Message: "Nobody wanted the answer any more.", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		failure.Kind, failure.Message = provider.KindTimeout, "The answer was not there in time."
	}
	rd.mu.Lock()
	defer rd.mu.Unlock()
	out := rd.out
	out.Err, out.Attempts = failure, slices.Clone(out.Attempts) // those of rd may still grow
	if rd.call == nil {
		if len(out.Attempts) == 0 {
			failure.Kind = provider.KindCancelled // nobody was called, so nobody was too slow
		}
		return &out
	}
	last := *rd.call
	last.ID, last.Subject, last.Fence, last.Number = r.ids.New(r.Clock()), rd.task.Subject, rd.task.Fence, len(out.Attempts)+1
	last.FinishedAt, last.ErrorKind, last.ErrorMessage = r.Clock(), string(failure.Kind), failure.Public()
	out.Attempts = append(out.Attempts, last)
	out.Counted++
	out.Target = last.Target
	out.Forfeit = out.Forfeit.Plus(rd.task.Bound)
	return &out
}

// began notes that a call is under way.
func (rd *sharedTask) began(try penstock.Attempt) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.call = &try
}

// end is the end of a task. What an upstream said about a call that was divided tells more than that there was no
// room for its parts, unless it was about one of the inputs: that may be a neighbour's.
func (rd *sharedTask) end(err error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if _, upstream := errors.AsType[*provider.Error](err); err != nil && !upstream && rd.doubt != nil {
		err = rd.doubt
	}
	rd.out.Err = err
	if rd.doubt != nil && rd.out.Counted == 0 {
		rd.out.Counted = 1
	}
	if !rd.ended && !rd.left {
		rd.ended = true
		close(rd.done)
	}
}

// carry carries a batch out: it finds room for one call, and makes it for all who are in by then.
func (r *Runner) carry(ctx context.Context, b *batch) {
	defer func() {
		if p := recover(); p != nil {
			for _, rd := range b.Seal() {
				rd.end(&provider.Error{Kind: provider.KindInternal, Message: "The attempt broke on our side.",
					Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())})
			}
		}
	}()
	choice, err := r.board(ctx, b.Members())
	tasks := b.Seal()
	for _, rd := range tasks {
		r.Metrics.BatchWaited(r.Clock().Sub(rd.joined))
		if rd.task.Choice != nil {
			rd.task.Choice.Release() // one call is made, and has its room
		}
	}
	if err != nil {
		for _, rd := range tasks {
			rd.end(err)
		}
		return
	}
	r.sharedAttempt(ctx, sharedAttempt{tasks: tasks, choice: choice})
}

// board finds room for one call: what a member has brought along, or what there is.
func (r *Runner) board(ctx context.Context, members []*sharedTask) (*route.Choice, error) {
	for _, rd := range members {
		if rd.task.Choice == nil {
			continue
		}
		if choice, ok := rd.task.Choice.Take(); ok {
			return &choice, nil
		}
	}
	if len(members) == 0 {
		return nil, context.Canceled // everybody left
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
	return r.Router.Choose(ctx, queryOf(&task, snapshot, candidates))
}

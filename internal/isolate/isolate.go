// Package isolate runs suspects: items that were in flight when several workers died. It runs each in a child process of the
// worker. So an item that ends its process ends nothing else, and the death of the child shows that the item is to blame.
//
// [Runner] is the side of the worker. It hands over the sealed input and receives the sealed result; it never opens either.
// Targets, their capacity, fallback and money stay with the worker's own attempts. [Child] is the other side: it opens the
// input, makes one attempt on one target, assembles the answer and seals it. It has no database, no lease and no capacity.
// Everything that it needs, secrets included, comes with each task over a pipe.
//
// Package supervise starts and watches the children. Package work claims the suspects.
//
// Both are safe for concurrent use; a Child is given one task at a time.
package isolate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/store"
	"penstock/internal/supervise"
	"penstock/internal/telemetry"
)

// startWait is the delay of a suspect for which no child process could be started.
const startWait = 5 * time.Second

// Children run tasks in child processes.
type Children interface {
	Do(ctx context.Context, task supervise.Task) ([]byte, error)
}

// Attempts choose targets and account for attempts that child processes make.
type Attempts interface {
	AnswerElsewhere(ctx context.Context, task *attempt.Task, run func(context.Context, attempt.Place) attempt.Tried) *attempt.Outcome
}

// Deps are the dependencies of a Runner.
type Deps struct {
	Children Children
	Attempts Attempts
	// Settings returns the settings of a configured provider, secrets included, in the form that Child.Provider reads. It
	// returns nil for a provider that is not configured.
	Settings func(provider string) ([]byte, error)
	Keys     []byte // the keyset of the payloads
	Log      *slog.Logger
}

// Runner runs suspects in child processes.
type Runner struct{ Deps }

// New returns a runner.
func New(d Deps) *Runner { return &Runner{d} }

// Suspect is an item to be run.
type Suspect struct {
	Task   *attempt.Task // without a body
	Sealed *store.Sealed
	Stream penstock.Stream
	Died   int          // child processes that died while they ran the item
	Say    func(string) // receives the text of the answer while it arrives; may be nil
}

// Answered is the end of a suspect's run.
type Answered struct {
	*attempt.Outcome
	Result []byte // sealed; nil without an answer
	Died   bool   // its child process died
}

// Answer runs a suspect to its end.
func (r *Runner) Answer(ctx context.Context, s Suspect) (a Answered) {
	a.Outcome = r.Attempts.AnswerElsewhere(ctx, s.Task, func(ctx context.Context, at attempt.Place) attempt.Tried {
		tried, result := r.try(ctx, s, at)
		a.Result, a.Died = result, tried.Died
		return tried
	})
	return a
}

// try has a child make one attempt.
func (r *Runner) try(ctx context.Context, s Suspect, at attempt.Place) (attempt.Tried, []byte) {
	task, err := r.task(ctx, s, at)
	if err != nil {
		return attempt.Tried{Err: penstock.Internal(err)}, nil
	}
	answer, err := r.Children.Do(ctx, supervise.Task{
		Body: task,
		// An earlier task may have damaged the child. So only the death of a child that ran no other task makes an item
		// poison.
		Fresh: s.Died > 0,
		Heard: func(piece []byte) {
			if s.Say != nil {
				s.Say(string(piece))
			}
		},
	})
	var death *supervise.Death
	switch {
	case errors.As(err, &death):
		r.Log.ErrorContext(ctx, "an item ended its child process", "status", death.Status, "deaths", s.Died+1, "target", at.Target.Name, "stderr", death.Stderr)
		return attempt.Tried{Died: true}, nil
	case errors.Is(err, supervise.ErrStopped):
		return attempt.Tried{Stopped: true}, nil
	case errors.Is(err, supervise.ErrNotStarted):
		return attempt.Tried{Err: &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: startWait, Err: err,
			Message: "No child process could be started for this item."}}, nil
	case err != nil:
		return attempt.Tried{Err: penstock.Internal(fmt.Errorf("running an item in a child process: %w", err))}, nil
	}
	var out outcome
	result, err := decode(answer, &out)
	if err != nil {
		return attempt.Tried{Err: penstock.Internal(fmt.Errorf("reading the answer of a child process: %w", err))}, nil
	}
	return attempt.Tried{Outcome: out.outcome(), Result: out.Result}, result
}

// task encodes an attempt for a child.
func (r *Runner) task(ctx context.Context, s Suspect, at attempt.Place) ([]byte, error) {
	settings, err := r.Settings(at.Target.Provider)
	if err != nil {
		return nil, err
	}
	t := s.Task
	return encode(order{
		Subject: t.Subject, Fence: t.Fence, Tenant: t.Owner, Key: t.Key, Model: t.Model, Lane: t.Lane, Endpoint: t.Endpoint, Stream: s.Stream,
		Bound: t.Bound, Bounded: t.Bounded, Timeout: t.Timeout, MaxOutputTokens: t.MaxOutputTokens, OnOverflow: t.OnOverflow, TraceParent: telemetry.TraceParent(ctx),
		Target: *at.Target, As: at.Model, Config: at.Config, Reason: at.Reason, Provider: settings,
		Keys: r.Keys, Opens: s.Sealed.Opens, Seals: s.Sealed.Result,
	}, s.Sealed.Input)
}

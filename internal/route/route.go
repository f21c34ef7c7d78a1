// Package route chooses the target that an attempt runs on, and keeps the room of each target.
//
// It owns what is known about targets at this moment: how many calls each is running and which
// asked for a rest. It does not call upstreams and does not decide what a failure means; package
// attempt reports failures back.
//
// A Router is safe for concurrent use and starts no goroutines.
package route

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"penstock"
)

// MaxWaiting is how many attempts may wait for room at a time. Past it a wait is refused at once:
// a longer line would only time out later.
const MaxWaiting = 4096

// Router hands out the room of targets.
type Router struct {
	clock func() time.Time

	mu      sync.Mutex
	states  map[string]*targetState
	waiting int
	freed   chan struct{} // closed and replaced whenever room appears
}

// targetState is what is known about one target.
type targetState struct {
	running   int
	restUntil time.Time
}

// New returns a router that believes every target to be idle and well.
func New(clock func() time.Time) *Router {
	return &Router{clock: clock, states: make(map[string]*targetState), freed: make(chan struct{})}
}

// Choice is a target with a unit of its room, to be given back with Release.
type Choice struct {
	Target  penstock.Target
	Reason  string // why this one, in words for whoever asks later
	Release func() // gives the room back; to be called once
}

// Query asks for a target.
type Query struct {
	Candidates []penstock.Target // in the order of the model's policy
	Tried      []string          // targets that failed for this inference already
	Wait       time.Duration     // how long to wait for room; 0 means not at all
}

// Choose returns the first candidate that was not tried, is not resting and has room, waiting for
// one if all are busy. Codes: no_target_available (nothing is left to try), overloaded (no room in
// time; RetryAfter says when the first one rests no longer, if that is why).
func (r *Router) Choose(ctx context.Context, q Query) (Choice, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	for {
		c, freed, err := r.try(q)
		if err != nil || freed == nil {
			return c, err
		}
		if err := r.await(ctx, freed); err != nil {
			return Choice{}, err
		}
	}
}

// try takes room if there is some. Otherwise it returns the channel that tells when to look again.
func (r *Router) try(q Query) (Choice, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	var skipped []string
	var soonest time.Time
	busy := false
	for _, t := range q.Candidates {
		s := r.state(t.Name)
		switch {
		case slices.Contains(q.Tried, t.Name):
			skipped = append(skipped, t.Name+" was tried")
		case s.restUntil.After(now):
			skipped = append(skipped, t.Name+" rests")
			if soonest.IsZero() || s.restUntil.Before(soonest) {
				soonest = s.restUntil
			}
		case t.Concurrency > 0 && s.running >= t.Concurrency:
			skipped = append(skipped, t.Name+" is full")
			busy = true
		default:
			s.running++
			return Choice{Target: t, Reason: reason(skipped), Release: sync.OnceFunc(func() { r.release(s) })}, nil, nil
		}
	}
	switch {
	case busy:
		return Choice{}, r.freed, nil
	case !soonest.IsZero():
		return Choice{}, nil, &penstock.Error{
			Code: penstock.CodeOverloaded, RetryAfter: soonest.Sub(now),
			Message: "Every target of this model asked for a rest: " + strings.Join(skipped, ", ") + ".",
		}
	default:
		return Choice{}, nil, penstock.Errorf(penstock.CodeNoTargetAvailable, "No target of this model is left to try.")
	}
}

func (r *Router) state(name string) *targetState {
	s, ok := r.states[name]
	if !ok {
		s = &targetState{}
		r.states[name] = s
	}
	return s
}

func reason(skipped []string) string {
	if len(skipped) == 0 {
		return "first of the model's order"
	}
	return "next in the model's order: " + strings.Join(skipped, ", ")
}

// await blocks until room may have appeared.
func (r *Router) await(ctx context.Context, freed <-chan struct{}) error {
	r.mu.Lock()
	full := r.waiting >= MaxWaiting
	if !full {
		r.waiting++
	}
	r.mu.Unlock()
	if full {
		return penstock.Errorf(penstock.CodeOverloaded, "All targets of this model are busy and %d calls wait already.", MaxWaiting)
	}
	defer func() {
		r.mu.Lock()
		r.waiting--
		r.mu.Unlock()
	}()
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second,
			Message: "All targets of this model are busy.", Err: ctx.Err()}
	}
}

func (r *Router) release(s *targetState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.running--
	close(r.freed)
	r.freed = make(chan struct{})
}

// MaxRest bounds how long a target may ask to be left alone.
const MaxRest = 10 * time.Minute

// Rest leaves a target alone for a while, because it said that it has no room.
func (r *Router) Rest(target string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	until := r.clock().Add(min(d, MaxRest))
	if s := r.state(target); until.After(s.restUntil) {
		s.restUntil = until
	}
}

// Candidates returns the configured targets that a model names, in its order. Names that the
// configuration no longer knows are left out.
func Candidates(names []string, targets map[string]penstock.Target) ([]penstock.Target, error) {
	var found []penstock.Target
	for _, name := range names {
		if t, ok := targets[name]; ok {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil, &penstock.Error{Code: penstock.CodeNoTargetAvailable,
			Message: "No target of this model is configured any more.",
			Err:     fmt.Errorf("model was resolved to %s", strings.Join(names, ", "))}
	}
	return found, nil
}

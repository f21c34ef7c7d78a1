// Package route chooses the target that an attempt runs on, and keeps the room of each target.
//
// It owns what is known about targets at this moment: how many calls each is running and which
// asked for a rest. It does not call upstreams and does not decide what a failure means; package
// attempt reports failures back.
//
// A Router is safe for concurrent use and starts no goroutines.
package route

import (
	"container/list"
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

// Router hands out the room of targets: the more urgent lane first, and inside a lane first come, first
// served.
type Router struct {
	clock func() time.Time

	mu      sync.Mutex
	states  map[string]*targetState
	waiters list.List // of *waiter, in the order they are served
}

// targetState is what is known about one target.
type targetState struct {
	running   int
	restUntil time.Time
}

// waiter is an attempt in line for room.
type waiter struct {
	query   Query
	granted chan Choice // holds the choice once there is one
}

// New returns a router that believes every target to be idle and well.
func New(clock func() time.Time) *Router {
	return &Router{clock: clock, states: make(map[string]*targetState)}
}

// Choice is a target with a unit of its room, to be given back with Release.
type Choice struct {
	Target  penstock.Target
	Reason  string // why this one, in words for whoever asks later
	Release func() // gives the room back; calling it again changes nothing
}

// Query asks for a target.
type Query struct {
	Candidates []penstock.Target // in the order of the model's policy
	Tried      []string          // targets that failed for this inference already
	Lane       penstock.Lane     // how urgent it is
	Wait       time.Duration     // how long to wait for room; 0 means not at all
}

// Choose returns the first candidate that was not tried, is not resting and has room, waiting in line
// for one if there is none. Codes: no_target_available (nothing is left to try), overloaded (no room
// in time; RetryAfter says when to come back).
func (r *Router) Choose(ctx context.Context, q Query) (Choice, error) {
	w, at, err := r.enter(q)
	if err != nil {
		return Choice{}, err
	}
	defer r.leave(at)
	patience := time.NewTimer(q.Wait)
	defer patience.Stop()
	for {
		// A rest that ends makes room without anybody releasing it.
		rest := time.NewTimer(r.restLeft(q))
		select {
		case c := <-w.granted:
			rest.Stop()
			return c, nil
		case <-rest.C:
			r.grant()
		case <-patience.C:
			rest.Stop()
			return r.giveUp(w, nil)
		case <-ctx.Done():
			rest.Stop()
			return r.giveUp(w, ctx.Err())
		}
	}
}

// enter joins the line and takes what is free at once. It refuses whoever would wait in vain.
func (r *Router) enter(q Query) (*waiter, *list.Element, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.view(q)
	if v.left == 0 {
		return nil, nil, penstock.Errorf(penstock.CodeNoTargetAvailable, "No target of this model is left to try.")
	}
	if v.resting == v.left && v.restLeft > q.Wait {
		return nil, nil, &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: v.restLeft,
			Message: "Every target of this model asked for a rest: " + strings.Join(v.why, ", ") + "."}
	}
	if v.free == nil && r.waiters.Len() >= MaxWaiting {
		return nil, nil, &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second,
			Message: fmt.Sprintf("All targets of this model are busy and %d calls wait already.", MaxWaiting)}
	}
	w := &waiter{query: q, granted: make(chan Choice, 1)}
	at := r.line(w)
	r.grantLocked()
	return w, at, nil
}

// line puts a waiter behind those who are as urgent, and in front of those who are less.
func (r *Router) line(w *waiter) *list.Element {
	urgency := slices.Index(penstock.Lanes, w.query.Lane)
	for at := r.waiters.Back(); at != nil; at = at.Prev() {
		if slices.Index(penstock.Lanes, at.Value.(*waiter).query.Lane) <= urgency {
			return r.waiters.InsertAfter(w, at)
		}
	}
	return r.waiters.PushFront(w)
}

func (r *Router) leave(at *list.Element) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiters.Remove(at)
}

// giveUp ends a wait, unless room was granted in the same moment.
func (r *Router) giveUp(w *waiter, cause error) (Choice, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case c := <-w.granted:
		return c, nil
	default:
	}
	w.granted = nil // nothing is granted to it any more
	wait := time.Second
	if v := r.view(w.query); v.resting == v.left { // none is merely full
		wait = max(wait, v.restLeft)
	}
	return Choice{}, &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: wait,
		Message: "All targets of this model are busy.", Err: cause}
}

// view is how the candidates of a query stand.
type view struct {
	left     int           // not tried yet
	resting  int           // of those, resting
	restLeft time.Duration // until the first of them is back, or forever
	free     *penstock.Target
	why      []string // why the ones before free were passed over
}

const forever = time.Duration(1<<63 - 1)

func (r *Router) view(q Query) view {
	now := r.clock()
	v := view{restLeft: forever}
	for i, t := range q.Candidates {
		s := r.state(t.Name)
		if slices.Contains(q.Tried, t.Name) {
			v.why = append(v.why, t.Name+" was tried")
			continue
		}
		v.left++
		switch {
		case s.restUntil.After(now):
			v.resting++
			v.restLeft = min(v.restLeft, s.restUntil.Sub(now))
			v.why = append(v.why, t.Name+" rests")
		case t.Concurrency > 0 && s.running >= t.Concurrency:
			v.why = append(v.why, t.Name+" is full")
		default:
			v.free = &q.Candidates[i]
			return v
		}
	}
	return v
}

// restLeft is how long until a resting candidate of the query is back.
func (r *Router) restLeft(q Query) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view(q).restLeft
}

// grant hands room out to those in line.
func (r *Router) grant() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grantLocked()
}

// grantLocked serves the line in its order. Whoever waits for other targets does not hold up those
// behind.
func (r *Router) grantLocked() {
	for at := r.waiters.Front(); at != nil; {
		w, next := at.Value.(*waiter), at.Next()
		if v := r.view(w.query); v.free != nil && w.granted != nil {
			w.granted <- r.take(*v.free, v.why)
			r.waiters.Remove(at)
		}
		at = next
	}
}

func (r *Router) take(t penstock.Target, passedOver []string) Choice {
	s := r.state(t.Name)
	s.running++
	release := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.running--
		r.grantLocked()
	}
	return Choice{Target: t, Reason: reason(passedOver), Release: sync.OnceFunc(release)}
}

func (r *Router) state(name string) *targetState {
	s, ok := r.states[name]
	if !ok {
		s = &targetState{}
		r.states[name] = s
	}
	return s
}

func reason(passedOver []string) string {
	if len(passedOver) == 0 {
		return "first of the model's order"
	}
	return "next in the model's order: " + strings.Join(passedOver, ", ")
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

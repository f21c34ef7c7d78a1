// Package route chooses the target that an attempt runs on, and keeps those in line who wait for one.
//
// It owns the order: that of a model's policy among its targets, and that in which waiting attempts are
// served. Policies are pure functions over how the targets stand ([TargetStats]). What a target cannot serve is
// left out first, for a reason that can be read later. How much capacity a target has, and whether it is in
// order, is package capacity's to say. It does not call upstreams and does not decide what a failure means;
// package attempt reports how calls went.
//
// A Router is safe for concurrent use. It starts no goroutine; while somebody waits, a timer serves the
// line when a rest ends or a rate allows it.
package route

import (
	"container/list"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/signal"
)

// MaxWaiting is how many attempts may wait for capacity at a time. Past it a wait is refused at once:
// a longer line would only time out later.
const MaxWaiting = 4096

// Router hands out the capacity of targets: the more urgent lane first, and inside a lane first come, first
// served.
type Router struct {
	tracker *capacity.Tracker
	freed   *signal.Topic[signal.None]

	mu      sync.Mutex
	paces   map[string]*pace              // by target
	credits map[string]map[string]float64 // of weighted models: how far each target is behind its share
	draw    func(n int) int               // a random number below n

	waiters list.List   // of *waiter, in the order they are served
	turns   turns       // of the tenants in it
	alarm   *time.Timer // serves the line when time may have made capacity
	alarmAt time.Time   // zero when it is not set
}

// waiter is an attempt in line for capacity.
type waiter struct {
	query   Query
	turn    int64        // of its tenant, see turns
	granted chan *Choice // holds the choice once there is one
}

// New returns a router over a tracker. The tracker notifies nobody else.
func New(tracker *capacity.Tracker) *Router {
	r := &Router{
		tracker: tracker, freed: signal.NewTopic[signal.None](nil, "capacity"),
		paces: make(map[string]*pace), credits: make(map[string]map[string]float64), draw: rand.IntN,
	}
	tracker.Notify(r.capacityCameBack)
	return r
}

// Choice is a target with a unit of its capacity, to be given back with Done or Release.
type Choice struct {
	Target *penstock.Target
	Reason string // why this one, in words for whoever asks later

	reservation *capacity.Reservation
	router      *Router
	hold        *hold  // of capacity that is shared with other tasks, nil for none
	begun       bool   // it is known how long the first token took
	undo        func() // takes the model's turn back, of a choice of Reserve; called under the router's lock
}

// Begun tells how long the first token of a stream took, while the rest of it is still to come: that may take minutes, in which
// others would go on to a target that has become slow.
func (c *Choice) Begun(firstToken time.Duration) {
	if firstToken <= 0 || c.begun {
		return
	}
	c.begun = true
	c.router.mu.Lock()
	defer c.router.mu.Unlock()
	c.router.paceOf(c.Target.Name).firstToken.add(c.router.tracker.Clock(), firstToken)
}

// Done gives the capacity back and tells how the call went. Calling it again changes nothing.
func (c Choice) Done(result capacity.Result) {
	c.reservation.Done(result)
	if c.begun {
		result.FirstToken = 0
	}
	c.router.timed(c.Target.Name, result)
	c.router.capacityCameBack()
}

// Release gives capacity back that was not used. After Done, or on no choice at all, it changes nothing.
func (c Choice) Release() {
	if c.hold != nil && !c.hold.letGo() {
		return
	}
	if c.reservation != nil {
		c.reservation.Release()
		c.router.capacityCameBack()
	}
}

// Return gives back a choice of Reserve that no call was found for, as if it had not been made: the turn of the model's policy
// is taken back too.
func (c Choice) Return() {
	if c.undo != nil {
		c.router.mu.Lock()
		c.undo()
		c.router.mu.Unlock()
	}
	c.Release()
}

// CountsInput reports whether the target limits the tokens of inputs.
func (c Choice) CountsInput() bool { return c.reservation.CountsInput() }

// Amend corrects the estimates of a call that was not known in full when it was chosen for.
func (c Choice) Amend(inputTokens, maxOutputTokens int64) {
	c.reservation.Amend(inputTokens, maxOutputTokens)
}

// Probe says that the call finds out whether a target that was out of order works again.
func (c Choice) Probe() bool { return c.reservation.Probe() }

// MakeRetry has the call count as one that makes up for another. It reports false when its target takes no more
// of those: then the capacity is given back.
func (c Choice) MakeRetry() bool {
	if !c.router.tracker.MayRetry(c.Target) {
		c.Release()
		return false
	}
	c.reservation.MakeRetry()
	return true
}

// Query asks for a target.
type Query struct {
	Candidates []*penstock.Target // in the order of the model
	Model      penstock.Model     // how to choose; the zero value chooses in order
	Tried      []string           // targets that failed for this inference already
	Needs      Needs
	Prefix     uint64 // what calls that begin alike share, 0 for nothing
	Stream     bool
	Retry      bool // it makes up for a call that failed, here or in an earlier claim

	exclusions []exclusion
	reserves   bool          // the choice may be returned
	Lane       penstock.Lane // how urgent it is
	// Tenant is whose synchronous call it is, "" for the item of a job.
	Tenant penstock.TenantID
	Wait   time.Duration // how long to wait for capacity; 0 means not at all

	// What the call will use, for limits on tokens. 0 for the average of the target's calls.
	InputTokens     int64
	MaxOutputTokens int64 // the most that it can generate
}

// exclusion is a candidate that does not come into question, and why not.
type exclusion struct {
	target string
	reason string
	spent  bool // for want of retries, which is over soon
}

// exclude leaves out what cannot serve, once for each query: what is true of a call does not change while it
// waits, and a refused retry is counted once.
func (r *Router) exclude(q *Query) {
	for _, t := range q.Candidates {
		if slices.Contains(q.Tried, t.Name) {
			q.exclusions = append(q.exclusions, exclusion{target: t.Name, reason: "was tried"})
		} else if reason := q.Needs.lacks(t); reason != "" {
			q.exclusions = append(q.exclusions, exclusion{target: t.Name, reason: reason})
		} else if q.Retry && !r.tracker.MayRetry(t) {
			q.exclusions = append(q.exclusions, exclusion{target: t.Name, reason: "takes no more retries", spent: true})
		}
	}
}

// excluded says why a candidate does not come into question.
func (q *Query) excluded(t *penstock.Target) (string, bool) {
	for i := range q.exclusions {
		if e := &q.exclusions[i]; e.target == t.Name {
			return e.reason, true
		}
	}
	return "", false
}

// Choose returns the candidate that the policy puts first among those that were not tried, can serve and have
// capacity, waiting in line for one if there is none. Codes: invalid_request (no target can serve such a call),
// no_target_available (nothing is left to try), overloaded (no capacity in time; RetryAfter says when to come back).
func (r *Router) Choose(ctx context.Context, q Query) (*Choice, error) {
	r.exclude(&q)
	if c := r.walkIn(&q); c != nil {
		return c, nil
	}
	return r.queueUp(ctx, &q)
}

// walkIn takes capacity for a call that finds the line empty. Most do, and need no place in it, no timer and nobody
// who wakes them.
func (r *Router) walkIn(q *Query) *Choice {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiters.Len() > 0 {
		return nil
	}
	return r.take(q, looks{})
}

// queueUp is Choose for a call that may have to wait.
func (r *Router) queueUp(ctx context.Context, q *Query) (*Choice, error) {
	w, at, err := r.admit(q)
	if err != nil {
		return nil, err
	}
	defer r.leave(at)
	patience := time.NewTimer(q.Wait)
	defer patience.Stop()
	select {
	case c := <-w.granted:
		return c, nil
	case <-patience.C:
		return r.giveUp(w, nil)
	case <-ctx.Done():
		return r.giveUp(w, ctx.Err())
	}
}

// Reserve is Choose for n calls at once, by a caller who does not wait. It returns as many as there is capacity for; waiting
// attempts come first. Every choice must be used or given back: with Return, or Release once a call was about to be made.
func (r *Router) Reserve(q Query, n int) []*Choice {
	r.exclude(&q)
	q.reserves = true
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serve()
	all := make([]*Choice, 0, n)
	for none := (looks{}); len(all) < n; {
		c := r.take(&q, none)
		if c == nil {
			break
		}
		all = append(all, c)
	}
	return all
}

// Freed is notified when a target has capacity again for which a call was refused.
func (r *Router) Freed() *signal.Topic[signal.None] { return r.freed }

// Full returns the names of those models for which Reserve would return nothing, as it did before: Freed is notified when
// that is over.
func (r *Router) Full(models []penstock.Model, targets map[string]*penstock.Target) []string {
	var full []string
	for _, m := range models {
		free := slices.ContainsFunc(m.Targets, func(name string) bool {
			t, ok := targets[name]
			return ok && !r.tracker.Closed(t)
		})
		if !free {
			full = append(full, m.Name)
		}
	}
	return full
}

// capacityCameBack serves the line, and tells whoever was refused.
func (r *Router) capacityCameBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serve()
	if r.tracker.Wake() {
		r.freed.NotifyLocal()
	}
}

// admit joins the line and takes what is free at once. It refuses whoever would wait in vain.
func (r *Router) admit(q *Query) (*waiter, *list.Element, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.view(q)
	if v.left == 0 {
		return nil, nil, q.nothingLeft()
	}
	if v.timed == v.left && v.soonest > q.Wait {
		return nil, nil, v.noCapacity(nil)
	}
	if !v.free && r.turns.waiting[q.Tenant] >= MaxWaitingEach {
		return nil, nil, &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second,
			Message: fmt.Sprintf("All targets of this model are busy and %d calls of this tenant wait already.", MaxWaitingEach)}
	}
	if !v.free && r.waiters.Len() >= MaxWaiting {
		return nil, nil, &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second,
			Message: fmt.Sprintf("All targets of this model are busy and %d calls wait already.", MaxWaiting)}
	}
	w := &waiter{query: *q, granted: make(chan *Choice, 1)}
	at := r.line(w)
	if v.free {
		r.serve()
	} else {
		r.await(&w.query) // nobody behind it in line can be served by its coming
	}
	return w, at, nil
}

// line puts a waiter behind those who are as urgent and whose turn is not later, and in front of the others.
func (r *Router) line(w *waiter) *list.Element {
	w.turn = r.turns.admit(w.query.Tenant)
	urgency := slices.Index(penstock.Lanes, w.query.Lane)
	for at := r.waiters.Back(); at != nil; at = at.Prev() {
		other := at.Value.(*waiter)
		if u := slices.Index(penstock.Lanes, other.query.Lane); u < urgency || (u == urgency && other.turn <= w.turn) {
			return r.waiters.InsertAfter(w, at)
		}
	}
	return r.waiters.PushFront(w)
}

func (r *Router) leave(at *list.Element) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns.leave(at.Value.(*waiter).query.Tenant)
	r.waiters.Remove(at)
}

// giveUp ends a wait, unless capacity was granted in the same moment.
func (r *Router) giveUp(w *waiter, cause error) (*Choice, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case c := <-w.granted:
		return c, nil
	default:
	}
	w.granted = nil // nothing is granted to it any more
	return nil, r.view(&w.query).noCapacity(cause)
}

// view is how the candidates of a query stand.
type view struct {
	left    int           // not tried yet
	timed   int           // of those, without capacity until a time that is known
	soonest time.Duration // until the first of them is back, or forever
	free    bool          // one has capacity
	why     []string      // why the ones before it were passed over
}

// noCapacity says so, and when to come back: when that is known of every target, and in a second otherwise.
func (v view) noCapacity(cause error) error {
	wait := time.Second
	if v.timed == v.left {
		wait = max(wait, v.soonest)
	}
	return &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: wait,
		Message: "No target of this model has capacity: " + strings.Join(v.why, ", ") + ".", Err: cause}
}

func (r *Router) view(q *Query) view {
	v := view{soonest: capacity.Forever}
	for _, t := range q.Candidates {
		if reason, out := q.excluded(t); out {
			v.why = append(v.why, t.Name+" "+reason)
			continue
		}
		v.left++
		look := r.tracker.LookFor(t, q.Tenant)
		if look.Reason == "" {
			v.free = true
			return v
		}
		if look.Wait != capacity.Forever {
			v.timed++
			v.soonest = min(v.soonest, look.Wait)
		}
		v.why = append(v.why, t.Name+" "+string(look.Reason))
	}
	return v
}

// nothingLeft says why no candidate comes into question. What no target can serve is the caller's to change;
// what failed everywhere, or may not be tried again so soon, is ours.
func (q *Query) nothingLeft() error {
	var why []string
	spent := false
	for _, e := range q.exclusions {
		why = append(why, e.target+" "+e.reason)
		spent = spent || e.spent
	}
	switch {
	case spent:
		return &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second,
			Message: "No target of this model may be called again so soon: " + strings.Join(why, ", ") + "."}
	case len(q.Tried) == 0 && len(why) > 0:
		return penstock.Errorf(penstock.CodeInvalidRequest, "No target of this model can serve such a call: %s.", strings.Join(why, "; "))
	}
	return penstock.Errorf(penstock.CodeNoTargetAvailable, "No target of this model is left to try.")
}

// looks remembers, for one pass over the line, which targets have no capacity.
type looks map[string]capacity.Look

// serve hands capacity out to those in line, in their order. Whoever waits for other targets does not hold
// up those behind. When some are left, it is called again as soon as time alone may have made capacity.
func (r *Router) serve() {
	r.alarmAt = time.Time{}
	if r.waiters.Len() == 0 {
		return
	}
	next, none := capacity.Forever, looks{}
	for at := r.waiters.Front(); at != nil; {
		w, following := at.Value.(*waiter), at.Next()
		if w.granted != nil {
			if c := r.take(&w.query, none); c != nil {
				w.granted <- c
				r.turns.served(w.turn)
				r.waiters.Remove(at)
			}
		}
		at = following
	}
	for _, look := range none {
		next = min(next, look.Wait)
	}
	r.wakeIn(next)
}

// await tells the tracker of a call that found no capacity, and serves the line when they may have some.
func (r *Router) await(q *Query) {
	for _, t := range q.Candidates {
		if _, out := q.excluded(t); !out {
			r.wakeIn(r.tracker.Refused(t).Wait)
		}
	}
}

// wakeIn serves the line again after a while, unless it is served sooner.
func (r *Router) wakeIn(d time.Duration) {
	at := time.Now().Add(d)
	if d == capacity.Forever || (!r.alarmAt.IsZero() && r.alarmAt.Before(at)) {
		return
	}
	r.alarmAt = at
	if r.alarm == nil {
		r.alarm = time.AfterFunc(d, r.capacityCameBack)
	} else {
		r.alarm.Reset(d)
	}
}

// take takes capacity of the first candidate, in the order of the policy, that has some. Targets in none are known
// to have none; those found to be without are added to it.
func (r *Router) take(q *Query, none looks) *Choice {
	ranking := r.rank(q)
	for n := range ranking.places(q) {
		t := ranking.at(q, n)
		if _, known := none[t.Name]; known {
			continue
		}
		if _, out := q.excluded(t); out {
			continue
		}
		ask := capacity.Ask{Target: t, InputTokens: q.InputTokens, MaxOutputTokens: q.MaxOutputTokens, Retry: q.Retry, Tenant: q.Tenant}
		if reservation, ok := r.tracker.Take(ask); ok {
			c := &Choice{Target: t, Reason: r.reason(q, ranking, n), reservation: reservation, router: r}
			if q.reserves {
				c.undo = r.undo(q, ranking, n)
			}
			r.settle(q, ranking, n)
			return c
		}
		if look := r.tracker.Refused(t); look.Reason != "" {
			none[t.Name] = look
		} // else it has capacity, though not for this tenant
	}
	return nil
}

// Candidates returns the configured targets that a model names, in its order. Names that the
// configuration no longer knows are left out.
func Candidates(names []string, targets map[string]*penstock.Target) ([]*penstock.Target, error) {
	found := make([]*penstock.Target, 0, len(names))
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

// Package route chooses the target of an attempt, and queues attempts that wait for capacity.
//
// It owns two orders: the order of a model's targets by its policy, and the order in which waiting attempts are served.
// Policies are pure functions over the state of the targets ([TargetStats]). Targets that cannot serve a call are
// excluded first, with a reason that is recorded. Package capacity says how much capacity a target has and whether it
// works. Package route does not call upstreams and does not decide what a failure means; package attempt reports the
// outcome of calls.
//
// A Router is safe for concurrent use. It starts no goroutine; while attempts wait, a timer serves them when a rest
// ends or a rate allows it.
package route

import (
	"cmp"
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

// Router assigns the capacity of targets: the more urgent lane first, and inside a lane first come, first
// served.
type Router struct {
	tracker *capacity.Tracker
	freed   *signal.Topic[signal.None]

	mu      sync.Mutex
	paces   map[string]*pace              // by target
	credits map[string]map[string]float64 // of weighted models: how far each target is behind its share
	draw    func(n int) int               // a random number below n

	waiters list.List   // of *waiter, in the order they are served
	turns   turns       // of the tenants in the line
	alarm   *time.Timer // serves the line when there may be capacity again
	alarmAt time.Time   // zero when it is not set
}

// waiter is an attempt in line for capacity.
type waiter struct {
	query   Query
	turn    int64        // of its tenant, see turns
	granted chan *Choice // holds the choice once there is one
}

// New returns a router over a tracker. The router takes the tracker's one notification.
func New(tracker *capacity.Tracker) *Router {
	r := &Router{
		tracker: tracker, freed: signal.NewTopic[signal.None](nil, "capacity"),
		paces: make(map[string]*pace), credits: make(map[string]map[string]float64), draw: rand.IntN,
	}
	tracker.Notify(r.capacityCameBack)
	return r
}

// Choice is a target with a unit of its capacity. The caller returns it with Done or Release.
type Choice struct {
	Target *penstock.Target
	Reason string // why this target was chosen, in words

	reservation *capacity.Reservation
	router      *Router
	hold        *hold  // on capacity that is shared with other tasks, nil for none
	begun       bool   // Begun was called
	undo        func() // reverts the model's turn, for a choice of Reserve; called under the router's lock
}

// reserved is a choice together with its reservation, in one piece of memory.
type reserved struct {
	Choice
	reservation capacity.Reservation
}

// Begun records the time to the first token of a stream before the stream ends. The rest may take minutes, in which other calls
// would still go to a target that has become slow.
func (c *Choice) Begun(firstToken time.Duration) {
	if firstToken <= 0 || c.begun {
		return
	}
	c.begun = true
	c.router.mu.Lock()
	defer c.router.mu.Unlock()
	c.router.paceOf(c.Target.Name).firstToken.add(c.router.tracker.Clock(), firstToken)
}

// Done returns the capacity and reports the outcome of the call. Calling it again changes nothing.
func (c Choice) Done(result capacity.Result) {
	now := c.router.tracker.Clock()
	c.reservation.DoneAt(now, result)
	if c.begun {
		result.FirstToken = 0
	}
	c.router.ended(c.Target.Name, now, result)
}

// Release returns capacity that was not used. After Done, or on a nil choice, it changes nothing.
func (c Choice) Release() {
	if c.hold != nil && !c.hold.release() {
		return
	}
	if c.reservation != nil {
		c.reservation.Release()
		c.router.capacityCameBack()
	}
}

// Return returns a choice of Reserve that no call used, as if it had not been made: it also reverts the turn of the model's
// policy.
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

// Probe says that the call is a probe of the target's breaker.
func (c Choice) Probe() bool { return c.reservation.Probe() }

// MakeRetry counts the call as a retry. It returns false when its target takes no more retries; then the capacity is
// released.
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
	Unable     Skips  // targets that cannot serve the call for other reasons than its needs
	Prefix     uint64 // the hash of the beginning of its body, 0 for none
	Stream     bool
	Retry      bool // it retries a failed call, of this claim or an earlier one

	exclusions []exclusion
	reserves   bool          // the choice may be returned
	Lane       penstock.Lane // how urgent it is
	// Tenant is the tenant of a synchronous call, "" for the item of a job.
	Tenant penstock.TenantID
	Wait   time.Duration // how long to wait for capacity; 0 means not at all

	// The estimated use of the call, for limits on tokens. 0 for the average of the target's calls.
	InputTokens     int64
	Searches        int64 // search units of a call for reranking
	MaxOutputTokens int64 // the most that it can generate
}

// exclusion is an excluded candidate, with the reason.
type exclusion struct {
	target string
	reason string
	spent  bool // because of the retry budget, which is temporary
}

// exclude finds the candidates that cannot serve, once for each query: the needs of a call do not change while it
// waits, and a refused retry is counted once.
func (r *Router) exclude(q *Query) {
	for _, t := range q.Candidates {
		if slices.Contains(q.Tried, t.Name) {
			q.exclusions = append(q.exclusions, exclusion{target: t.Name, reason: "was tried"})
		} else if reason := cmp.Or(q.Needs.Lacks(t), q.Unable.Find(t.Name)); reason != "" {
			q.exclusions = append(q.exclusions, exclusion{target: t.Name, reason: reason})
		} else if q.Retry && !r.tracker.MayRetry(t) {
			q.exclusions = append(q.exclusions, exclusion{target: t.Name, reason: "takes no more retries", spent: true})
		}
	}
}

// excluded returns the exclusion of a candidate, if there is one.
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
// no_target_available (nothing is left to try), overloaded (no capacity in time; RetryAfter says when to try again).
func (r *Router) Choose(ctx context.Context, q Query) (*Choice, error) {
	r.exclude(&q)
	if c := r.takeAtOnce(&q); c != nil {
		return c, nil
	}
	return r.chooseInLine(ctx, &q)
}

// ChooseNow is Choose for a call that does not wait. It returns nil if other calls wait, or no candidate has capacity.
func (r *Router) ChooseNow(q Query) *Choice {
	r.exclude(&q)
	return r.takeAtOnce(&q)
}

// takeAtOnce takes capacity for a call that finds the line empty. Most calls do, and need no place in the line and no
// timer.
func (r *Router) takeAtOnce(q *Query) *Choice {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiters.Len() > 0 {
		return nil
	}
	return r.take(q, looks{})
}

// chooseInLine is Choose for a call that may have to wait.
func (r *Router) chooseInLine(ctx context.Context, q *Query) (*Choice, error) {
	w, at, err := r.admit(q)
	if err != nil {
		return nil, err
	}
	defer r.leave(at)
	timeout := time.NewTimer(q.Wait)
	defer timeout.Stop()
	select {
	case c := <-w.granted:
		return c, nil
	case <-timeout.C:
		return r.giveUp(w, nil)
	case <-ctx.Done():
		return r.giveUp(w, ctx.Err())
	}
}

// Reserve is Choose for n calls at once, without waiting. It returns as many as there is capacity for; waiting attempts come
// first. The caller uses every choice or returns it: with Return, or with Release once a call was about to be made.
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

// Freed is notified when a target that refused a call has capacity again.
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

// capacityCameBack serves the line, and notifies Freed.
func (r *Router) capacityCameBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serveLine()
}

// ended is capacityCameBack after a call, whose latency it records.
func (r *Router) ended(target string, now time.Time, res capacity.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timed(target, now, res)
	r.serveLine()
}

// serveLine serves the line, and notifies Freed. The lock is held.
func (r *Router) serveLine() {
	r.serve()
	if r.tracker.Wake() {
		r.freed.NotifyLocal()
	}
}

// admit joins the line and takes free capacity at once. It refuses a call that cannot be served in time.
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
			Message: fmt.Sprintf("All targets of this model are busy and %d calls of this tenant are already waiting.", MaxWaitingEach)}
	}
	if !v.free && r.waiters.Len() >= MaxWaiting {
		return nil, nil, &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second,
			Message: fmt.Sprintf("All targets of this model are busy and %d calls are already waiting.", MaxWaiting)}
	}
	w := &waiter{query: *q, granted: make(chan *Choice, 1)}
	at := r.line(w)
	if v.free {
		r.serve()
	} else {
		r.await(&w.query) // joining the line frees no capacity for others
	}
	return w, at, nil
}

// line puts a waiter behind the waiters of the same or a more urgent lane whose turn is not later, and before the others.
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
	w.granted = nil // serve grants it nothing any more
	return nil, r.view(&w.query).noCapacity(cause)
}

// view is the state of a query's candidates.
type view struct {
	left    int           // not tried yet
	timed   int           // of those, without capacity until a known time
	soonest time.Duration // until the first of them is back, or forever
	free    bool          // one has capacity
	why     []string      // why the candidates before it have no capacity
}

// noCapacity is the error of a query without capacity. Its RetryAfter is known if the wait of every target is, and a
// second otherwise.
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

// nothingLeft is the error of a query whose candidates are all excluded. A call that no target can serve is the caller's
// error; targets that failed, or may not be retried so soon, are not.
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
		return penstock.InvalidParam(q.Needs.member(q.Candidates), "No target of this model can serve such a call: %s. Change the call, or ask for another model.", strings.Join(why, "; "))
	}
	return penstock.Errorf(penstock.CodeNoTargetAvailable, "No target of this model is left to try.")
}

// looks caches, for one pass over the line, which targets have no capacity.
type looks map[string]capacity.Look

// serve assigns capacity to the waiters in their order. A waiter for other targets does not block those behind it. While
// waiters are left, serve runs again as soon as there may be capacity.
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

// await reports a call without capacity to the tracker, and serves the line when its targets may have some.
func (r *Router) await(q *Query) {
	for _, t := range q.Candidates {
		if _, out := q.excluded(t); !out {
			r.wakeIn(r.tracker.Refused(t).Wait)
		}
	}
}

// wakeIn serves the line again after a time, unless it is served sooner.
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
		if c := (&reserved{}); r.tracker.TakeInto(&c.reservation, ask) {
			c.Choice = Choice{Target: t, Reason: r.reason(q, ranking, n), reservation: &c.reservation, router: r}
			if q.reserves {
				c.undo = r.undo(q, ranking, n)
			}
			r.settle(q, ranking, n)
			return &c.Choice
		}
		if look := r.tracker.Refused(t); look.Reason != "" {
			none[t.Name] = look
		} // else it has capacity, but not for this tenant
	}
	return nil
}

// Candidates returns the configured targets that a model names, in its order. It leaves out names that the
// configuration no longer has.
func Candidates(names []string, targets map[string]*penstock.Target) ([]*penstock.Target, error) {
	return AppendCandidates(make([]*penstock.Target, 0, len(names)), names, targets)
}

// AppendCandidates is Candidates into the memory of found, which is empty.
func AppendCandidates(found []*penstock.Target, names []string, targets map[string]*penstock.Target) ([]*penstock.Target, error) {
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

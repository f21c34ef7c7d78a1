// Package capacity tracks how much of every target may be used at this moment: how many calls may run at a
// time, how many requests and tokens may be spent, and whether the target gets no calls at all, because
// it asked for a rest or because its calls fail.
//
// It owns the limits, those of the configuration and those that it learns: from rate-limit headers,
// from refusals, and from the latency of calls. It does not choose targets and has no line of calls that
// wait for a target; both are in package route. Calls that wait for limits of their caller have a [Turn].
//
// Invariants:
//   - A rate is spent from a local allowance that was withdrawn from a pool which all processes share. A local allowance that
//     is not empty lends: a call may take more than is in it, and the debt is repaid before the next
//     one. So all processes together spend no more than the allowance, plus one call for each.
//   - A configured concurrency is divided into permits; a process uses no permit that was not granted to it,
//     or whose time has run out.
//   - The remaining units that an upstream reports only lower the estimate; they never raise it.
//
// A [Tracker] is safe for concurrent use. Its time is injected, its calls never block, and it starts no
// goroutine: [Tracker.Run] is the one loop that withdraws from the [Pools]. A caller with its own clock, such as
// a forecast, calls Refresh itself.
package capacity

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/store"
)

// Pools are the limits that processes share. After an error nothing was granted.
type Pools interface {
	Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error)
}

// Config makes a Tracker.
type Config struct {
	Clock func() time.Time
	// Pools is nil for a process that shares no limits: its pools are in memory.
	Pools Pools
	// Alone says that no other process uses the shared pools: only the use of daily limits, which must survive a restart,
	// is withdrawn from them.
	Alone bool
	Log   *slog.Logger // nil for none
}

const (
	// MaxRest bounds the rest that a target may ask for.
	MaxRest = 10 * time.Minute
	// DefaultRest is the least rest of a target that refused a call because of its limits.
	DefaultRest = time.Second
	// Forever is a wait that an event ends, not time.
	Forever = time.Duration(math.MaxInt64)
)

// Tracker tracks the capacity of every target.
type Tracker struct {
	Config
	kick chan struct{} // has a value when a refresh may be due sooner than planned
	// refusals says that an entry may have refused a call. Most of the time none has, and a call that ends need not look.
	refusals atomic.Bool

	mu          sync.Mutex
	entries     map[Name]*entry
	busy        []*entry      // the entries that may need a refresh
	sweptAt     time.Time     // when unused entries were last forgotten
	refreshes   chan struct{} // closed at the end of the next refresh
	notify      func()
	refreshedAt time.Time
	failed      bool // the last refresh did
}

// New returns a tracker for which every target is idle and healthy.
func New(cfg Config) *Tracker {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b := &Tracker{
		Config: cfg, kick: make(chan struct{}, 1), refreshes: make(chan struct{}),
		entries: make(map[Name]*entry),
	}
	b.notify = func() { b.Wake() }
	return b
}

// Notify registers f, which the tracker calls when a target that refused a call may have capacity again; f must call
// Wake. Notify is called before the tracker is used.
func (b *Tracker) Notify(f func()) { b.notify = f }

// Name identifies an entry.
type Name struct {
	Kind   Kind
	Tenant penstock.TenantID // of a limit scope, "" for a target
	Of     string            // the target, key or model; "" for a tenant as a whole
}

// Kind is what an entry limits.
type Kind string

// The kinds. All but targets are limit scopes.
const (
	KindTarget Kind = "target"
	KindTenant Kind = "tenant"
	KindKey    Kind = "key"
	KindModel  Kind = "model" // a tenant's calls for it
)

// pool is the name of a shared pool of an entry.
func (n Name) pool(what string) string {
	name := string(n.Kind)
	for _, part := range [...]string{string(n.Tenant), n.Of, what} {
		if part != "" {
			name += "/" + part
		}
	}
	return name
}

func (n Name) compare(o Name) int {
	return cmp.Or(cmp.Compare(n.Kind, o.Kind), cmp.Compare(n.Tenant, o.Tenant), cmp.Compare(n.Of, o.Of))
}

// entry is the state of one target or one limit scope. The fields that every call reads come first: there are as many
// entries as keys, and most of a call's cost here is cache misses.
type entry struct {
	limits  penstock.Limits // of a limit scope, those in force
	running int
	busy    bool      // it is on the list of busy entries
	askedAt time.Time // when a call last asked for it
	refused bool      // and was refused, with no event since
	window  window
	rates   [resources]rate
	expects expectation
	permits permits

	name        Name
	health      health
	restUntil   time.Time
	restUpdates bool       // the shared pools do not have the rest yet
	throttles   int64      // refusals because of limits or load
	fresh       fresh      // of a target
	syncs       tenantUses // synchronous calls that run, by tenant

	// Of a limit scope: the calls that wait for its permits.
	line      []*Turn
	promised  int           // permits assigned to waiting calls that have not taken them yet
	served    string        // the key of the call that got the last permit
	calls     int           // that run as jobs; no process holds their permits
	entrusted int           // those of them that began after the store counted
	users     store.Holders // the keys that called recently
}

func (r *entry) scope() bool { return r.name.Kind != KindTarget }

// find returns the entry of a name and puts it on the busy list. It creates a missing entry.
func (b *Tracker) find(name Name) (r *entry, made bool) {
	r, ok := b.entries[name]
	if !ok {
		r = &entry{name: name, window: newWindow(), expects: newExpectation()}
		for i := range r.rates {
			r.rates[i].shared = b.shared()
		}
		b.entries[name] = r
	}
	if !r.busy {
		r.busy, b.busy = true, append(b.busy, r)
	}
	return r, !ok
}

// of returns the entry of a target, with its configured limits in force.
func (b *Tracker) of(t *penstock.Target, now time.Time) *entry {
	r, _ := b.find(Name{Kind: KindTarget, Of: t.Name})
	if t.Concurrency != r.permits.cap {
		r.permits.cap = t.Concurrency
		r.window.trust(t.Concurrency)
	}
	if t.FreeCachedInput != r.fresh.only {
		r.fresh = fresh{only: t.FreeCachedInput}
	}
	r.rates[requests].configure(t.RequestsPerMinute, now)
	r.rates[input].configure(t.InputTokensPerMinute, now)
	r.rates[output].configure(t.OutputTokensPerMinute, now)
	if t.InputTokensPerMinute > 0 || t.OutputTokensPerMinute > 0 {
		r.rates[tokens].set(0, now) // a configured token limit replaces one learned from headers
	}
	return r
}

// Reason is why a target has no capacity.
type Reason string

// The reasons, as they follow a target's name.
const (
	Resting    Reason = "rests"
	Full       Reason = "is full"
	Limited    Reason = "is at its rate limit"
	Broken     Reason = "is out of order"
	Probed     Reason = "is being probed"
	TenantFull Reason = "runs as many calls of this tenant as one tenant may have while others use it"
)

// Look is the state of a target for a new call.
type Look struct {
	Reason Reason        // why it has no capacity, "" when it has some
	Wait   time.Duration // until it may have some again; Forever if an event ends the wait
}

// Look says whether a target has capacity for a call.
func (b *Tracker) Look(t *penstock.Target) Look {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	return b.look(b.of(t, now), now)
}

// Closed says that a target has no capacity and has refused a call since it last had some. Before the first refusal a call
// is worth a try: a process that has not used a limit for a while holds no allowance of it.
func (b *Tracker) Closed(t *penstock.Target) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	r := b.of(t, now)
	return r.refused && b.look(r, now).Reason != ""
}

func (b *Tracker) look(r *entry, now time.Time) Look {
	if r.restUntil.After(now) {
		return Look{Resting, r.restUntil.Sub(now)}
	}
	if l := r.health.look(now); l.Reason != "" {
		return l
	}
	if r.running >= b.limit(r, now) {
		return Look{Full, Forever}
	}
	var l Look
	for i := range r.rates {
		if ready, wait := r.rates[i].ready(now); !ready {
			l = Look{Limited, max(l.Wait, wait)}
		}
	}
	return l
}

// limit is how many calls may run at a time here and now.
func (b *Tracker) limit(r *entry, now time.Time) int {
	limit := r.window.size()
	switch {
	case r.permits.cap == 0:
	case b.shared():
		limit = min(limit, r.permits.usable(now))
	default:
		limit = min(limit, r.permits.cap-r.calls)
	}
	return limit
}

// shared says whether there are other processes to share with.
func (b *Tracker) shared() bool { return b.Pools != nil && !b.Alone }

// Refused records that a call found no capacity at a target: the tracker notifies when there is capacity again, and
// withdraws more from the shared pools. It returns the state of the target.
func (b *Tracker) Refused(t *penstock.Target) Look {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	r := b.of(t, now)
	r.askedAt, r.refused = now, true
	b.refusals.Store(true)
	l := b.look(r, now)
	if l.Reason == Full {
		r.window.wanted = r.window.wanted || r.running >= r.window.size()
		r.permits.unmet = r.permits.unmet || r.running >= r.permits.usable(now)
	}
	for i := range r.rates {
		if ready, _ := r.rates[i].ready(now); !ready {
			r.rates[i].unmet = true
		}
	}
	b.nudge()
	return l
}

// Wake reports whether a target that refused a call has capacity again, and clears its refusal.
func (b *Tracker) Wake() bool {
	if !b.refusals.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now, left, any := b.Clock(), false, false
	for _, r := range b.busy {
		if r.refused && b.look(r, now).Reason == "" {
			r.refused, any = false, true
		}
		left = left || r.refused
	}
	b.refusals.Store(left)
	return any
}

// nudge makes the loop check again when the next refresh is due.
func (b *Tracker) nudge() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

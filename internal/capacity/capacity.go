// Package capacity knows how much of every target may be used at this moment: how many calls may run at a
// time, how many requests and tokens may be spent, and whether the target is to be left alone: because
// it asked for that, or because its calls fail.
//
// It owns the limits, those of the configuration and those that it learns: from rate-limit headers,
// from answers that refuse us, and from how long calls take. It does not choose targets and has no line
// of those who wait for one; that is package route's. Calls that wait for limits of their caller have a [Turn].
//
// Invariants:
//   - A rate is spent from a local allowance that was withdrawn from a pool which all processes share. A local allowance that
//     is not empty lends: a call may take more than is in it, and the debt is repaid before the next
//     one. So all processes together spend no more than the allowance, plus one call for each.
//   - A configured concurrency is divided into permits; a process uses no permit that was not granted to it,
//     or whose time has run out.
//   - What an upstream says is left only lowers what is believed; it never raises it.
//
// A [Tracker] is safe for concurrent use. Its time is injected, its calls never block, and it starts no
// goroutine: [Tracker.Run] is the one loop that asks the [Pools]. A caller with a clock of its own, such as
// a forecast, makes the refreshes itself.
package capacity

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"penstock"
	"penstock/internal/store"
)

// Pools is where processes share what is allowed. An error says that nothing was granted.
type Pools interface {
	Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error)
}

// Config makes a Tracker.
type Config struct {
	Clock func() time.Time
	// Pools is nil for a process that shares with nobody: its pools are its own, in memory.
	Pools Pools
	// Alone says that nobody else uses the shared pools: only what must outlive the process, which is what was used of
	// a day, is withdrawn from it.
	Alone bool
	Log   *slog.Logger // nil for none
}

const (
	// MaxRest bounds how long a target may ask to be left alone.
	MaxRest = 10 * time.Minute
	// DefaultRest is how long a target is left alone at the least that refuses us for its limits.
	DefaultRest = time.Second
	// Forever is a wait whose end is not a matter of time.
	Forever = time.Duration(math.MaxInt64)
)

// Tracker knows the capacity of every target.
type Tracker struct {
	Config
	kick chan struct{} // holds a token when there may be something to do sooner than was thought

	mu          sync.Mutex
	entries     map[Name]*entry
	busy        []*entry      // those of them that something may be due for
	sweptAt     time.Time     // when unused entries were last forgotten
	refreshes   chan struct{} // closed at the end of the next refresh
	notify      func()
	refreshedAt time.Time
	failed      bool // the last refresh did
}

// New returns a tracker that believes every target to be idle and well.
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

// Notify has f called when a target that refused somebody may have capacity again; f shall call Wake. It must
// be set before the tracker is used.
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

// pool names what all processes share of something in an entry.
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

// entry is what is known about one target, or one limit scope. What every call looks at comes first: there are as many
// entries as keys, and most of what a call costs is to bring them from memory.
type entry struct {
	limits  penstock.Limits // of a limit scope, those in force
	running int
	busy    bool      // it is on the list of those
	askedAt time.Time // when somebody last asked for it
	refused bool      // and was refused, with no event since
	window  window
	rates   [resources]rate
	expects expectation
	permits permits

	name        Name
	health      health
	restUntil   time.Time
	restUpdates bool       // the others have not heard of it yet
	throttles   int64      // answers that refused us, for limits or for load
	fresh       fresh      // of a target
	syncs       tenantUses // synchronous calls that run, by tenant

	// Of a limit scope: those who wait for its permits.
	line      []*Turn
	promised  int           // permits that are promised to calls which are about to take them
	served    string        // the key that the last one was promised to
	calls     int           // that run as jobs, whose permits are no process's
	entrusted int           // those of them that came since the store was asked
	users     store.Holders // the keys that called of late
}

func (r *entry) scope() bool { return r.name.Kind != KindTarget }

// find returns the entry of a name, made if it is not there, and notes that something may be due for it.
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
		r.rates[tokens].set(0, now) // whoever limits tokens knows better than a header
	}
	return r
}

// Reason says why a target has no capacity.
type Reason string

// The reasons, as they follow a target's name.
const (
	Resting Reason = "rests"
	Full    Reason = "is full"
	Limited Reason = "is at its rate limit"
	Broken  Reason = "is out of order"
	Probed  Reason = "is being probed"
	Crowded Reason = "has as many calls of this tenant as one may have beside others"
)

// Look is how a target stands.
type Look struct {
	Reason Reason        // why it has no capacity, "" when it has some
	Wait   time.Duration // until it may have some again; Forever if that is not a matter of time
}

// Look says whether a target has capacity for a call.
func (b *Tracker) Look(t *penstock.Target) Look {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	return b.look(b.of(t, now), now)
}

// Closed says that a target has no capacity, and that somebody was refused, who is told when it has some. Before
// that it is worth a try: a process that used none of a limit for a while holds none of it.
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

// Refused notes that somebody wants capacity of a target that has none: its coming back is told, and more is
// asked of the shared pools. It says how the target stands.
func (b *Tracker) Refused(t *penstock.Target) Look {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	r := b.of(t, now)
	r.askedAt, r.refused = now, true
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

// Wake says whether a target has capacity again that refused somebody, and forgets that it did.
func (b *Tracker) Wake() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, any := b.Clock(), false
	for _, r := range b.busy {
		if r.refused && b.look(r, now).Reason == "" {
			r.refused, any = false, true
		}
	}
	return any
}

// nudge has the loop look again at what is due.
func (b *Tracker) nudge() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

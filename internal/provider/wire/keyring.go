package wire

import (
	"fmt"
	"sync"
	"time"

	"penstock/internal/provider"
)

const (
	// MaxKeys is how many keys one provider may have.
	MaxKeys = 64
	// firstBench is how long a refused key is not used. Each further refusal doubles the time, up to MaxBench.
	firstBench = 10 * time.Second
	// MaxBench is the longest time that a refused key is not used before it is tried again.
	MaxBench = 10 * time.Minute
	// doubtsToBench is the number of calls in a row that must fail with every key before the keys, and not the calls, are
	// taken for the cause.
	doubtsToBench = 3
	// A key that is at its limit is paused for the time that the upstream reports, within these bounds.
	minKeyPause = time.Second
	maxKeyPause = 10 * time.Minute
	// maxKeyModels is the number of upstream models whose limits are kept for each key; all further models share one entry.
	maxKeyModels = 256
)

// KeyChange is a change of a key's state. Keys are numbered from 1, in the order of the configuration: the text of a
// key is never reported.
type KeyChange struct {
	Key   int
	Kind  provider.Kind // why the key is not used, "" when it works again
	Model string        // the upstream model that the key is paused for; "" for all
	For   time.Duration
	Err   error // the upstream's answer
}

// keyring selects the key of each call, and tracks which keys work. A provider with one key does not use it: then the
// target as a whole is paused or fails.
//
// A key is benched when the upstream refuses a call with it that works with another key. When every key is refused, the
// call is taken for the cause, and no key is benched: otherwise the body of one caller that a firewall blocks would take the
// provider away from all callers. When several calls in a row are refused with every key, the keys are doubted: then each
// call tries one of them, and the first success clears all doubts.
//
// Each key is assumed to have its own limits. So the capacity of a target is the sum over its keys, and the target is
// paused only when every key is.
type keyring struct {
	clock func() time.Time
	watch func(KeyChange)

	mu   sync.Mutex
	keys []*key
	last int // index of the key that was taken last
}

// key is one key of a provider.
type key struct {
	number int
	secret string

	calls   int           // under way
	bench   time.Duration // how long it is not used, 0 while it works
	back    time.Time     // when it may be tried again
	probing bool
	doubts  int                     // calls in a row that were refused with every key
	doubted bool                    // it is benched because of its doubts
	models  map[string]*keyCapacity // by upstream model
}

// keyCapacity is the rate limit of a key for one upstream model.
type keyCapacity struct {
	pausedUntil time.Time
	limits      provider.RateLimits
	at          time.Time // when the upstream reported the limits
}

func newKeyring(cfg Config) *keyring {
	k := &keyring{clock: time.Now, watch: cfg.WatchKeys, last: -1}
	for i, secret := range cfg.secrets() {
		k.keys = append(k.keys, &key{number: i + 1, secret: secret, models: make(map[string]*keyCapacity)})
	}
	return k
}

// capacity is the rate limit of a key for a model.
func (k *key) capacity(model string) *keyCapacity {
	if len(k.models) >= maxKeyModels && k.models[model] == nil {
		model = ""
	}
	if k.models[model] == nil {
		k.models[model] = &keyCapacity{}
	}
	return k.models[model]
}

// ready reports whether a key can be used for a model.
func (k *key) ready(model string, now time.Time) bool {
	if k.bench > 0 && k.back.After(now) {
		return false
	}
	return !k.capacity(model).pausedUntil.After(now)
}

// take picks the key with the fewest calls under way among the usable keys that were not tried; equal keys take turns.
// It returns nil if no key is left.
func (r *keyring) take(model string, tried []*key) *key {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	var best *key
	for i := range r.keys {
		k := r.keys[(r.last+1+i)%len(r.keys)]
		if !contains(tried, k) && k.ready(model, now) && (best == nil || k.calls < best.calls) {
			best = k
		}
	}
	if best == nil && len(tried) == 0 {
		best = r.doubtedKey(model, now)
	}
	if best != nil {
		r.last = best.number - 1
		best.calls++
		if best.bench > 0 && !best.back.After(now) { // this call is the probe; other calls use the key after the next time
			best.probing, best.back = true, now.Add(best.bench)
		}
	}
	return best
}

// doubtedKey is a doubted key for a call that has no other key left: valid calls must not fail because of a doubt.
func (r *keyring) doubtedKey(model string, now time.Time) *key {
	for i := range r.keys {
		k := r.keys[(r.last+1+i)%len(r.keys)]
		if k.doubted && !k.capacity(model).pausedUntil.After(now) {
			return k
		}
	}
	return nil
}

func contains(keys []*key, k *key) bool {
	for _, other := range keys {
		if other == k {
			return true
		}
	}
	return false
}

// done ends a call with a key.
func (r *keyring) done(k *key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.calls--
}

// accepted records that the upstream accepted a key. That clears the doubts about all keys.
func (r *keyring) accepted(k *key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.probing, k.doubts = false, 0
	for _, other := range r.keys {
		if other.bench > 0 && (other == k || other.doubted) {
			other.bench, other.doubted, other.doubts = 0, false, 0
			r.notify(KeyChange{Key: other.number})
		}
	}
}

// fault says whether the key caused the failure of a call.
type fault int

const (
	notTheKeys  fault = iota // another key would fail too
	perhapsKeys              // unknown; one other key may be tried
	refusedKey               // the upstream refused the key; a call with another key confirms it
	theKeys                  // another key may succeed
)

// failed updates a key after a failure, and returns whether the key caused it.
func (r *keyring) failed(k *key, model string, e *provider.Error) fault {
	switch e.Kind {
	case provider.KindAuth:
		return refusedKey
	case provider.KindSpendCap:
		r.refused(k, e)
		return theKeys
	case provider.KindForbidden:
		return perhapsKeys
	case provider.KindRateLimited:
		r.accepted(k)
		if e.Quota.Plenty {
			return theKeys // this call is too large for what is left of the key's limit; others go on
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		pause := min(max(e.RetryAfter, minKeyPause), maxKeyPause)
		k.capacity(model).pausedUntil = r.clock().Add(pause)
		r.notify(KeyChange{Key: k.number, Kind: e.Kind, Model: model, For: pause, Err: e})
		return theKeys
	case provider.KindRejected, provider.KindContextTooLong, provider.KindContentBlocked, provider.KindModelNotFound:
		r.accepted(k) // the upstream read the request, so the key works
	}
	return notTheKeys
}

// doubt records that a call was refused with every key. It reports whether the keys are now taken for the cause.
func (r *keyring) doubt(all []refusal) bool {
	sure := true
	for _, f := range all {
		r.mu.Lock()
		f.key.doubts++
		benched, enough := f.key.bench > 0, f.key.doubts >= doubtsToBench
		f.key.doubted = f.key.doubted || (enough && !benched)
		r.mu.Unlock()
		if enough || benched {
			r.refused(f.key, f.err)
		}
		sure = sure && (enough || benched)
	}
	return sure
}

// refused benches a key that the upstream refused, for twice as long each time.
func (r *keyring) refused(k *key, e *provider.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	if k.bench > 0 && !k.probing {
		return // a call that began before the key was benched
	}
	k.bench = min(max(2*k.bench, firstBench), MaxBench)
	k.back, k.probing = now.Add(k.bench), false
	r.notify(KeyChange{Key: k.number, Kind: e.Kind, For: k.bench, Err: e})
}

func (r *keyring) notify(c KeyChange) {
	if r.watch != nil {
		r.watch(c)
	}
}

// exhausted is the error when no key can be used. A paused key can be used again later; refused keys need the
// operator.
func (r *keyring) exhausted(model string) *provider.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	var wait time.Duration
	for _, k := range r.keys {
		if left := k.capacity(model).pausedUntil.Sub(now); left > 0 && k.bench == 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	if wait > 0 {
		return &provider.Error{Kind: provider.KindRateLimited, RetryAfter: wait, Message: "every key of the provider is at its limit"}
	}
	return &provider.Error{Kind: provider.KindAuth, Message: "the upstream refused every key of the provider; check its api_keys"}
}

// learn records the limits of a key that an answer reports, and returns the sum of the limits of all keys. A key without
// a report is assumed to have the same limits.
func (r *keyring) learn(k *key, model string, reported provider.RateLimits) provider.RateLimits {
	if reported == (provider.RateLimits{}) {
		return reported
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	c := k.capacity(model)
	c.limits, c.at = reported, now
	sum := reported
	for _, other := range r.keys {
		if other == k || other.bench > 0 {
			continue
		}
		known := other.capacity(model)
		add := func(into *provider.Allowance, of func(*provider.RateLimits) provider.Allowance) {
			*into = plus(*into, of(&reported), known.left(of(&known.limits), now))
		}
		add(&sum.Requests, func(l *provider.RateLimits) provider.Allowance { return l.Requests })
		add(&sum.Tokens, func(l *provider.RateLimits) provider.Allowance { return l.Tokens })
		add(&sum.Input, func(l *provider.RateLimits) provider.Allowance { return l.Input })
		add(&sum.Output, func(l *provider.RateLimits) provider.Allowance { return l.Output })
	}
	return sum
}

// left is an allowance at the given time: full again after its reset.
func (m *keyCapacity) left(a provider.Allowance, now time.Time) provider.Allowance {
	if a.HasRemaining && now.Sub(m.at) >= a.Reset {
		a.Remaining = a.Limit
	}
	if m.pausedUntil.After(now) {
		a.Remaining = 0
	}
	return a
}

// plus adds the allowance of another key to a sum that began with the reported allowance of one key. A key without a
// report counts as the reported key does, unused.
func plus(sum, reported, other provider.Allowance) provider.Allowance {
	if reported.Limit == 0 {
		return sum
	}
	if other.Limit == 0 {
		other.Limit, other.Remaining = reported.Limit, reported.Limit
	}
	sum.Limit += other.Limit
	sum.Remaining += other.Remaining
	return sum
}

// note is the attempt's note: the key that was used, and the keys that were refused before.
func (r *keyring) note(k *key, tried []string) string {
	n := fmt.Sprintf("with key %d of %d", k.number, len(r.keys))
	for _, t := range tried {
		n += "; " + t
	}
	return n
}

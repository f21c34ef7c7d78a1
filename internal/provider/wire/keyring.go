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
	// firstBench is how long a key that is refused is left alone; each time it is refused again doubles it, up to
	// MaxBench.
	firstBench = 10 * time.Second
	// MaxBench bounds how long a refused key is left alone before it is tried again.
	MaxBench = 10 * time.Minute
	// doubtsToBench is how many calls in a row every key must have refused until the keys are doubted, and no longer the calls.
	doubtsToBench = 3
	// A key that is at its limit rests as long as it is told to, within these bounds.
	minKeyRest = time.Second
	maxKeyRest = 10 * time.Minute
	// maxKeyModels is how many upstream models the limits of a key are remembered for; the rest are taken for one.
	maxKeyModels = 256
)

// KeyChange is something that happened to a key. Keys are numbered from 1, in the order of the configuration: their
// text is told to nobody.
type KeyChange struct {
	Key   int
	Kind  provider.Kind // why it is left alone, "" when it works again
	Model string        // the upstream model that it rests for; "" for all
	For   time.Duration
	Err   error // what the upstream said
}

// keyring hands out the keys of a provider, and remembers how each of them fares. With one key it has no say: then the
// target is what rests or fails.
//
// A key is benched when the upstream refuses a call with it that works with another key. When every key is refused, the call is to
// blame, and no key is benched: otherwise one caller's body that a firewall blocks would take the provider away from all. When
// that goes on without a success, the keys are doubted: then each call tries one of them, and the first success clears all doubts.
//
// Each key is taken to have limits of its own. So a target may be used as much as all of its keys together allow, and
// only rests when every key does.
type keyring struct {
	clock func() time.Time
	watch func(KeyChange)

	mu   sync.Mutex
	keys []*key
	last int // whose turn it was
}

// key is one key of a provider.
type key struct {
	number int
	secret string

	calls   int           // under way
	bench   time.Duration // how long it is left alone, 0 while it works
	back    time.Time     // when it may be tried again
	probing bool
	doubts  int                     // calls in a row that it and all others were refused
	doubted bool                    // that is why it is left alone
	rooms   map[string]*keyCapacity // by upstream model
}

// keyCapacity is what a key may use of one upstream model.
type keyCapacity struct {
	rests  time.Time // until
	limits provider.RateLimits
	at     time.Time // when they were told
}

func newKeyring(cfg Config) *keyring {
	k := &keyring{clock: time.Now, watch: cfg.WatchKeys, last: -1}
	for i, secret := range cfg.secrets() {
		k.keys = append(k.keys, &key{number: i + 1, secret: secret, rooms: make(map[string]*keyCapacity)})
	}
	return k
}

// room is what a key may use of a model.
func (k *key) room(model string) *keyCapacity {
	if len(k.rooms) >= maxKeyModels && k.rooms[model] == nil {
		model = ""
	}
	if k.rooms[model] == nil {
		k.rooms[model] = &keyCapacity{}
	}
	return k.rooms[model]
}

// ready says whether a key can be used for a model.
func (k *key) ready(model string, now time.Time) bool {
	if k.bench > 0 && k.back.After(now) {
		return false
	}
	return !k.room(model).rests.After(now)
}

// take picks the key with the fewest calls under way of those that can be used and were not tried, in turn between equals.
// It returns nil if there is none.
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
		if best.bench > 0 && !best.back.After(now) { // one call finds out; the others wait until the next is due
			best.probing, best.back = true, now.Add(best.bench)
		}
	}
	return best
}

// doubtedKey is a key for a call that no other is left for: a doubt must not be the end of calls that nothing is wrong with.
func (r *keyring) doubtedKey(model string, now time.Time) *key {
	for i := range r.keys {
		k := r.keys[(r.last+1+i)%len(r.keys)]
		if k.doubted && !k.room(model).rests.After(now) {
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

// done says that a call with a key is over.
func (r *keyring) done(k *key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.calls--
}

// accepted notes that the upstream took a key. If all keys were doubted, none is any more.
func (r *keyring) accepted(k *key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.probing, k.doubts = false, 0
	for _, other := range r.keys {
		if other.bench > 0 && (other == k || other.doubted) {
			other.bench, other.doubted, other.doubts = 0, false, 0
			r.tell(KeyChange{Key: other.number})
		}
	}
}

// fault is whose fault a failed call is.
type fault int

const (
	notTheKeys  fault = iota // another key would fare alike
	perhapsKeys              // nobody knows; one other key may be tried
	refusedKey               // the upstream says that it is the key's: others tell whether that is so
	theKeys                  // another key may do better
)

// failed learns from a failure, and tells whose fault it is.
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
		rest := min(max(e.RetryAfter, minKeyRest), maxKeyRest)
		k.room(model).rests = r.clock().Add(rest)
		r.tell(KeyChange{Key: k.number, Kind: e.Kind, Model: model, For: rest, Err: e})
		return theKeys
	case provider.KindRejected, provider.KindContextTooLong, provider.KindContentBlocked, provider.KindModelNotFound:
		r.accepted(k) // it was heard out
	}
	return notTheKeys
}

// doubt notes that a call was refused with every key there was for it. It reports whether that is the keys' fault by now.
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

// refused leaves a key alone that the upstream does not take, twice as long each time.
func (r *keyring) refused(k *key, e *provider.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	if k.bench > 0 && !k.probing {
		return // a call from before: it is known already
	}
	k.bench = min(max(2*k.bench, firstBench), MaxBench)
	k.back, k.probing = now.Add(k.bench), false
	r.tell(KeyChange{Key: k.number, Kind: e.Kind, For: k.bench, Err: e})
}

func (r *keyring) tell(c KeyChange) {
	if r.watch != nil {
		r.watch(c)
	}
}

// exhausted is the error when no key can be used. A key that only rests will be back; refused ones are the operator's
// business.
func (r *keyring) exhausted(model string) *provider.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	var wait time.Duration
	for _, k := range r.keys {
		if left := k.room(model).rests.Sub(now); left > 0 && k.bench == 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	if wait > 0 {
		return &provider.Error{Kind: provider.KindRateLimited, RetryAfter: wait, Message: "every key of the provider is at its limit"}
	}
	return &provider.Error{Kind: provider.KindAuth, Message: "the upstream refused every key of the provider; check its api_keys"}
}

// learn takes what an answer says about the limits of a key, and returns what that means for all keys together. One that
// has not been heard of is taken to have the same limits.
func (r *keyring) learn(k *key, model string, told provider.RateLimits) provider.RateLimits {
	if told == (provider.RateLimits{}) {
		return told
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	room := k.room(model)
	room.limits, room.at = told, now
	sum := told
	for _, other := range r.keys {
		if other == k || other.bench > 0 {
			continue
		}
		has := other.room(model)
		add := func(into *provider.Allowance, of func(*provider.RateLimits) provider.Allowance) {
			*into = plus(*into, of(&told), has.left(of(&has.limits), now))
		}
		add(&sum.Requests, func(l *provider.RateLimits) provider.Allowance { return l.Requests })
		add(&sum.Tokens, func(l *provider.RateLimits) provider.Allowance { return l.Tokens })
		add(&sum.Input, func(l *provider.RateLimits) provider.Allowance { return l.Input })
		add(&sum.Output, func(l *provider.RateLimits) provider.Allowance { return l.Output })
	}
	return sum
}

// left is what an allowance is by now: whole again when it was to be reset.
func (m *keyCapacity) left(a provider.Allowance, now time.Time) provider.Allowance {
	if a.HasRemaining && now.Sub(m.at) >= a.Reset {
		a.Remaining = a.Limit
	}
	if m.rests.After(now) {
		a.Remaining = 0
	}
	return a
}

// plus adds the allowance of another key to a sum that began with what one was told. What was not said of the other is
// taken from that one, as if it were unused.
func plus(sum, told, other provider.Allowance) provider.Allowance {
	if told.Limit == 0 {
		return sum
	}
	if other.Limit == 0 {
		other.Limit, other.Remaining = told.Limit, told.Limit
	}
	sum.Limit += other.Limit
	sum.Remaining += other.Remaining
	return sum
}

// note says on the attempt which key was used, and which were not.
func (r *keyring) note(k *key, tried []string) string {
	n := fmt.Sprintf("with key %d of %d", k.number, len(r.keys))
	for _, t := range tried {
		n += "; " + t
	}
	return n
}

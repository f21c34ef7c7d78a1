package directory

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"penstock"
)

// The bounds of a throttle.
const (
	// BadKeyBurst is how many wrong keys an address may present at once.
	BadKeyBurst = 20
	// BadKeyInterval is the time after which it may present one more.
	BadKeyInterval = time.Second
	// MaxAddresses is how many addresses are remembered; beyond that, the least recent address is forgotten.
	MaxAddresses = 4096
)

// Throttle limits unknown keys by address. An address that presented too many is refused before its next key is looked
// up, so that it does not learn of a correct guess either.
//
// Callers with valid keys may share that address, for example behind a proxy or a NAT. So keys that were valid from an
// address are remembered, and not refused there. A valid key that is new to a refused address has to wait for one of
// the tries; only wrong keys are counted.
//
// The nil Throttle refuses no key. Safe for concurrent use. For remembered keys it takes no lock.
type Throttle struct {
	clock func() time.Time
	known known

	mu     sync.Mutex
	seen   map[netip.Prefix]*list.Element // of guesser
	recent list.List                      // the latest first
}

// guesser is an address that presented wrong keys.
type guesser struct {
	from  netip.Prefix
	clean time.Time // when its guesses are forgotten: each guess takes BadKeyInterval
}

// NewThrottle returns an empty throttle.
func NewThrottle(clock func() time.Time) *Throttle {
	return &Throttle{clock: clock, known: newKnown(), seen: map[netip.Prefix]*list.Element{}}
}

// Pass is the permission to look up one key. Its caller reports the result with Good or Wrong. The zero Pass is that of
// a nil Throttle.
type Pass struct {
	throttle *Throttle
	from     netip.Prefix
	mark     mark
	known    bool // it was valid before, and used no try
}

// Admit reports whether the key that an address presents may be looked up. Codes: rate_limited.
func (t *Throttle) Admit(address, secret string) (Pass, error) {
	if t == nil {
		return Pass{}, nil
	}
	p := Pass{throttle: t, from: origin(address)}
	p.mark = t.known.markOf(p.from, secret)
	if p.known = t.known.has(p.mark); p.known {
		return p, nil
	}
	wait := t.take(p.from) // counted as wrong until its result is known, because many lookups may run at the same time
	if wait <= 0 {
		return p, nil
	}
	e := penstock.Errorf(penstock.CodeRateLimited,
		"Too many unknown API keys came from your address; the limit is %d, and one more every %v. Correct the key and try again.", BadKeyBurst, BadKeyInterval)
	e.RetryAfter = wait
	return Pass{}, e
}

// Good reports that the key is valid: its try is returned, and the key is not refused from this address from now on.
func (p Pass) Good() {
	if p.throttle == nil || p.known {
		return
	}
	p.throttle.known.add(p.mark)
	p.throttle.giveBack(p.from)
}

// Wrong reports that the key is not valid, or not any more.
func (p Pass) Wrong() {
	if p.throttle == nil || !p.known {
		return
	}
	p.throttle.known.forget(p.mark)
	p.throttle.take(p.from)
}

// Undecided reports that the key could be neither accepted nor refused: its try is returned.
func (p Pass) Undecided() {
	if p.throttle != nil && !p.known {
		p.throttle.giveBack(p.from)
	}
}

// Guard looks up the credential that an address presents, unless the throttle refuses it. Codes: rate_limited, and those of
// find. An error of find with another code than invalid_key counts neither way.
func (t *Throttle) Guard(address, credential string, find func() (penstock.Principal, error)) (penstock.Principal, error) {
	pass, err := t.Admit(address, credential)
	if err != nil {
		return penstock.Principal{}, err
	}
	p, err := find()
	switch {
	case err == nil:
		pass.Good()
	case penstock.ErrorCode(err) == penstock.CodeInvalidKey:
		pass.Wrong()
	default:
		pass.Undecided()
	}
	return p, err
}

// giveBack undoes a take. An address without guesses is forgotten.
func (t *Throttle) giveBack(from netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.seen[from]
	if entry == nil {
		return
	}
	g := entry.Value.(*guesser)
	if g.clean = g.clean.Add(-BadKeyInterval); !g.clean.After(t.clock()) {
		t.recent.Remove(entry)
		delete(t.seen, from)
	}
}

// take counts one guess, and returns how long the caller must wait.
func (t *Throttle) take(from netip.Prefix) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	entry := t.seen[from]
	if entry == nil {
		if len(t.seen) >= MaxAddresses {
			delete(t.seen, t.recent.Remove(t.recent.Back()).(*guesser).from)
		}
		entry = t.recent.PushFront(&guesser{from: from})
		t.seen[from] = entry
	}
	t.recent.MoveToFront(entry)
	g := entry.Value.(*guesser)
	if g.clean.Before(now) {
		g.clean = now
	}
	if early := g.clean.Sub(now) - (BadKeyBurst-1)*BadKeyInterval; early > 0 {
		return early
	}
	g.clean = g.clean.Add(BadKeyInterval)
	return 0
}

// origin is the network that an address is counted as. For IPv6 it is the /64 network, since a host can have many
// addresses.
func origin(address string) netip.Prefix {
	var ip netip.Addr
	if at, err := netip.ParseAddrPort(address); err == nil {
		ip = at.Addr().Unmap()
	}
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // an unreadable address: all of them count as one
	}
	return prefix
}

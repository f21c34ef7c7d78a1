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
	// BadKeyInterval is how often it may present another one after that.
	BadKeyInterval = time.Second
	// MaxAddresses is how many addresses are remembered; past that, the one that was quiet for longest is not.
	MaxAddresses = 4096
)

// Throttle limits unknown keys by address. An address that presented too many is refused before its next key is looked up,
// so that it does not even learn of a right guess.
//
// Callers with good keys may share that address: with a proxy or a NAT before them, all do. So keys that were good from
// an address are remembered, and not refused there. A good key that is new to an address which is being refused has to wait for
// its turn among the guesses, which cost it nothing: only wrong keys are counted.
//
// The nil Throttle slows down nobody. Safe for concurrent use. For keys that are remembered it takes no lock.
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
	clean time.Time // when nothing of its guesses is left: each one takes BadKeyInterval to be forgotten
}

// NewThrottle returns a throttle that has seen nobody.
func NewThrottle(clock func() time.Time) *Throttle {
	return &Throttle{clock: clock, known: newKnown(), seen: map[netip.Prefix]*list.Element{}}
}

// Pass lets one key be looked at. Its caller reports the result with Good or Wrong. The zero Pass is that of no throttle.
type Pass struct {
	throttle *Throttle
	from     netip.Prefix
	mark     mark
	known    bool // it was good before, and took nothing
}

// Admit says whether the key that an address presents may be looked at. Codes: rate_limited.
func (t *Throttle) Admit(address, secret string) (Pass, error) {
	if t == nil {
		return Pass{}, nil
	}
	p := Pass{throttle: t, from: origin(address)}
	p.mark = t.known.markOf(p.from, secret)
	if p.known = t.known.has(p.mark); p.known {
		return p, nil
	}
	wait := t.take(p.from) // as if it were wrong: many may be looked at at the same time
	if wait <= 0 {
		return p, nil
	}
	e := penstock.Errorf(penstock.CodeRateLimited,
		"Too many unknown API keys came from your address; the limit is %d, and one more every %v. Correct the key and try again.", BadKeyBurst, BadKeyInterval)
	e.RetryAfter = wait
	return Pass{}, e
}

// Good notes that the key is good: it costs nothing, and is not refused from this address from now on.
func (p Pass) Good() {
	if p.throttle == nil || p.known {
		return
	}
	p.throttle.known.add(p.mark)
	p.throttle.giveBack(p.from)
}

// Wrong notes that the key is not good, or not any more.
func (p Pass) Wrong() {
	if p.throttle == nil || !p.known {
		return
	}
	p.throttle.known.forget(p.mark)
	p.throttle.take(p.from)
}

// giveBack undoes a take. An address of which nothing is left is forgotten.
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

// take counts one guess, and says how long it came too early.
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

// origin is who an address is counted as. Of IPv6 it is the network, since a host has as many addresses as it likes.
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
		return netip.Prefix{} // no address at all: all of those are one
	}
	return prefix
}

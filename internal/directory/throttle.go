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
	BadKeyInterval = 3 * time.Second
	// MaxAddresses is how many addresses are remembered; past that, the one that was quiet for longest is not.
	MaxAddresses = 4096
)

// Throttle slows down whoever presents keys that are not known, by address. Whoever presents a good one never
// meets it, wherever they call from: it is asked only after a key was found to be wrong. The nil Throttle slows
// down nobody. Safe for concurrent use.
type Throttle struct {
	clock func() time.Time

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
	return &Throttle{clock: clock, seen: map[netip.Prefix]*list.Element{}}
}

// Wrong notes that a wrong key came from an address, and returns the error to answer with in its stead when that
// was one too many. Codes: rate_limited.
func (t *Throttle) Wrong(address string) error {
	if t == nil {
		return nil
	}
	wait := t.take(origin(address))
	if wait <= 0 {
		return nil
	}
	e := penstock.Errorf(penstock.CodeRateLimited,
		"Too many unknown API keys came from your address; the limit is %d, and one more every %v. Correct the key and try again.", BadKeyBurst, BadKeyInterval)
	e.RetryAfter = wait
	return e
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

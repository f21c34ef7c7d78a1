package directory

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"sync/atomic"
)

// The size of what is known: 16,384 sets of 4 marks, 512 KiB in all.
const (
	knownSets = 1 << 14
	knownWays = 4
)

// mark stands for a key from an address. It is made with a secret seed, so that nobody can find another pair with the same mark.
// All that a mark allows is that its key is looked up. 0 stands for no mark.
type mark uint64

// known remembers which keys were good from which addresses, in a table of fixed size: a mark may push out another one, whose
// caller is then a new one at that address. It takes no lock. Only who has a good key can write to it.
type known struct {
	seed maphash.Seed
	sets *[knownSets][knownWays]atomic.Uint64
}

func newKnown() known {
	return known{seed: maphash.MakeSeed(), sets: new([knownSets][knownWays]atomic.Uint64)}
}

func (k *known) markOf(from netip.Prefix, secret string) mark {
	address := from.Addr().As16()
	var both [24]byte
	copy(both[:], address[:])
	binary.LittleEndian.PutUint64(both[16:], maphash.String(k.seed, secret))
	return mark(max(maphash.Bytes(k.seed, both[:]), 1))
}

func (k *known) set(m mark) *[knownWays]atomic.Uint64 { return &k.sets[m%knownSets] }

func (k *known) has(m mark) bool {
	set := k.set(m)
	for i := range set {
		if set[i].Load() == uint64(m) {
			return true
		}
	}
	return false
}

// add takes an empty place in the set, or one that the mark itself decides on.
func (k *known) add(m mark) {
	set := k.set(m)
	for i := range set {
		if set[i].CompareAndSwap(0, uint64(m)) {
			return
		}
	}
	set[(m/knownSets)%knownWays].Store(uint64(m))
}

func (k *known) forget(m mark) {
	set := k.set(m)
	for i := range set {
		set[i].CompareAndSwap(uint64(m), 0)
	}
}

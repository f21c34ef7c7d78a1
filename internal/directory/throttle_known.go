package directory

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"sync/atomic"
)

// The size of the table: 16,384 sets of 4 marks, 512 KiB in all.
const (
	knownSets = 1 << 14
	knownWays = 4
)

// mark is a hash of a key and an address. It uses a secret seed, so that a caller cannot find another pair with the
// same mark. A mark only allows the lookup of its key. 0 means no mark.
type mark uint64

// known remembers which keys were valid from which addresses, in a table of fixed size. A mark may evict another mark,
// whose key then counts as new at its address. It takes no lock. Only a caller with a valid key can write to it.
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

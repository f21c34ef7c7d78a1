package forecast

import "math/bits"

// bitset is a set of processes.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i int)    { b[i/64] |= 1 << (i % 64) }
func (b bitset) remove(i int) { b[i/64] &^= 1 << (i % 64) }

// firstInBoth is the first member of two sets at or after from, going round; -1 when there is none.
func firstInBoth(a, b bitset, from int) int {
	word := from / 64
	rest := a[word] & b[word] &^ (1<<(from%64) - 1)
	for range len(a) + 1 {
		if rest != 0 {
			return word*64 + bits.TrailingZeros64(rest)
		}
		word = (word + 1) % len(a)
		rest = a[word] & b[word]
	}
	return -1
}

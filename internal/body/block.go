package body

import (
	"encoding/binary"
	"math/bits"
)

// blockBytes is the size of a block: a bit of a word for each byte.
const blockBytes = 64

// blocksPortable passes over blocks of a string that hold nothing but text and escapes of two bytes, from i on, which is not inside an
// escape. It returns the place where it stopped: at the quote that ends the string, or before something that quoted has to judge, never
// inside an escape.
//
// Source code has an escape every few bytes. A search for the next one that begins at the end of the last one has to wait for each; the
// special bytes of a block are found without waiting.
func blocksPortable(text []byte, i int) (at int, seen content) {
	for len(text)-i > blockBytes {
		block := (*[blockBytes + 1]byte)(text[i:]) // an escape at its end has a byte behind it
		m := mark(block)
		if m.controls || m.backslashes|m.quotes == 0 {
			return i, seen // quoted is faster where there are no escapes
		}
		next := blockBytes
		for left := m.backslashes; left != 0; {
			at := bits.TrailingZeros64(left)
			if !short[block[at+1]] {
				m.quotes |= 1 << at // not a quote, but to stop at
				break
			}
			m.quotes &^= 2 << at
			left &^= 3 << at
			if at == blockBytes-1 {
				next++
			}
		}
		end := bits.TrailingZeros64(m.quotes)
		seen.add(content{m.backslashes&(1<<end-1) != 0, m.nonASCII})
		if end < blockBytes {
			return i + end, seen
		}
		i += next
	}
	return i, seen
}

// content says which kinds of bytes a scan has seen.
type content struct {
	escapes  bool
	nonASCII bool // also set by bytes behind the end of the string, in its last block
}

func (c *content) add(more content) {
	c.escapes = c.escapes || more.escapes
	c.nonASCII = c.nonASCII || more.nonASCII
}

// marks are the special bytes of a block: a bit for each.
type marks struct {
	backslashes, quotes uint64
	controls            bool // there are control characters
	nonASCII            bool
}

func mark(block *[blockBytes + 1]byte) (m marks) {
	const every, low, high = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	var printable, all uint64 = high, 0
	for n := 0; n < blockBytes; n += 8 {
		eight := binary.LittleEndian.Uint64(block[n : n+8])
		backslash, quote := eight^(every*'\\'), eight^(every*'"')
		// The highest bit of a byte is set where the byte is zero; no byte affects another.
		m.backslashes = m.backslashes>>8 | gather(^((backslash&low + low) | backslash | low))
		m.quotes = m.quotes>>8 | gather(^((quote&low + low) | quote | low))
		printable &= (eight&low + every*(0x80-' ')) | eight
		all |= eight
	}
	m.controls, m.nonASCII = printable != high, all&high != 0
	return m
}

// gather makes one byte, the highest, of the highest bits of eight.
func gather(highest uint64) uint64 { return highest >> 7 * 0x0102040810204080 &^ (1<<56 - 1) }

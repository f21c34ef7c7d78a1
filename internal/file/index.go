package file

import (
	"encoding/binary"
	"errors"
	"sort"
)

// chunk is the entry of a chunk in the index.
type chunk struct {
	sealed, plain int  // bytes
	begun         int  // lines that begin in it
	continues     bool // it begins within a line
}

// place is where a chunk begins: the bytes and lines before it.
type place struct {
	sealed, plain int64
	lines         int
}

// chunkIndex is the table of a file's chunks.
type chunkIndex struct {
	chunks []chunk
	starts []place // of each chunk, and of what follows the last
}

func (x *chunkIndex) add(c chunk) {
	at := x.end()
	if len(x.starts) == 0 {
		x.starts = append(x.starts, at)
	}
	x.chunks = append(x.chunks, c)
	x.starts = append(x.starts, place{at.sealed + int64(c.sealed), at.plain + int64(c.plain), at.lines + c.begun})
}

func (x *chunkIndex) end() place {
	if len(x.starts) == 0 {
		return place{}
	}
	return x.starts[len(x.starts)-1]
}

func (x *chunkIndex) plainBytes() int64  { return x.end().plain }
func (x *chunkIndex) sealedBytes() int64 { return x.end().sealed }

// withLine returns the chunk that a line begins in; the number of chunks if there is no such line.
func (x *chunkIndex) withLine(n int) int {
	return sort.Search(len(x.chunks), func(i int) bool { return x.starts[i+1].lines > n })
}

// withByte returns the chunk that holds a byte of the content; the number of chunks if none does.
func (x *chunkIndex) withByte(offset int64) int {
	return sort.Search(len(x.chunks), func(i int) bool { return x.starts[i+1].plain > offset })
}

const indexVersion = 1

// encode writes a version, the number of chunks, and for each: sealed bytes, plain bytes, and twice the lines
// begun plus one if it begins within a line. All numbers are varints.
func (x *chunkIndex) encode() []byte {
	text := append(make([]byte, 0, 2+8*len(x.chunks)), indexVersion)
	text = binary.AppendUvarint(text, uint64(len(x.chunks)))
	for _, c := range x.chunks {
		text = binary.AppendUvarint(text, uint64(c.sealed))
		text = binary.AppendUvarint(text, uint64(c.plain))
		lines := uint64(c.begun) << 1
		if c.continues {
			lines |= 1
		}
		text = binary.AppendUvarint(text, lines)
	}
	return text
}

var errBadIndex = errors.New("the index of the file makes no sense")

func decodeIndex(text []byte) (*chunkIndex, error) {
	if len(text) == 0 || text[0] != indexVersion {
		return nil, errBadIndex
	}
	text = text[1:]
	read := func() uint64 {
		n, size := binary.Uvarint(text)
		if size <= 0 || n > 1<<40 {
			text = nil
			return 0
		}
		text = text[size:]
		return n
	}
	x := &chunkIndex{}
	for range read() {
		if len(text) == 0 {
			return nil, errBadIndex
		}
		c := chunk{sealed: int(read()), plain: int(read())}
		lines := read()
		c.begun, c.continues = int(lines>>1), lines&1 == 1
		if c.sealed == 0 || c.plain == 0 {
			return nil, errBadIndex
		}
		x.add(c)
	}
	if len(text) != 0 {
		return nil, errBadIndex
	}
	return x, nil
}

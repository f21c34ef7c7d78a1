package api

import (
	"math/bits"
	"sync"
)

const (
	// leastBuffer and mostBuffer are the sizes of the smallest and the largest buffers that are kept for other bodies.
	leastBuffer, mostBuffer = 2 << 10, 1 << 20
	bufferClasses           = 10 // from leastBuffer to mostBuffer
)

// buffers are those that no call uses, by their size: each class has twice the size of the class before. New memory has to be
// cleared, and collected afterwards; for a body of 100 KiB that costs more than reading it.
var buffers [bufferClasses]sync.Pool

// buffer is memory for the body of a call.
type buffer struct{ bytes []byte }

// newBuffer returns a buffer of at least size bytes, which may hold bytes of another body.
func newBuffer(size int64) *buffer {
	if size > mostBuffer {
		return &buffer{make([]byte, size)}
	}
	class := bufferClass(size)
	if b, ok := buffers[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, leastBuffer<<class)}
}

// bufferSize is how many bytes newBuffer allocates for a body of so many bytes.
func bufferSize(size int64) int64 {
	if size > mostBuffer {
		return size
	}
	return leastBuffer << bufferClass(size)
}

// bufferClass is the first class whose buffers are not smaller than size.
func bufferClass(size int64) int {
	return bits.Len64(uint64(max(size, leastBuffer)-1)) - bits.Len64(leastBuffer-1)
}

// first returns the first n bytes, without capacity for more: what lies behind them may be of another body.
func (b *buffer) first(n int) []byte { return b.bytes[:n:n] }

// free lets another call use the buffer.
func (b *buffer) free() {
	if size := int64(len(b.bytes)); size <= mostBuffer {
		buffers[bufferClass(size)].Put(b)
	}
}

// releaseBody gives back the memory of the body. If something may still read it, it is left to the garbage collector.
func (c *call) releaseBody() {
	if c.body != nil && c.running.Released() {
		c.body.free()
	}
	c.body = nil
	c.memory.Close()
}

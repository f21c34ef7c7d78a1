package sse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// Streams use dense buffers one after the other, and at the same time never the same one.
func TestBuffersAreNotMixed(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			frame := fmt.Sprintf("data: %d %s\n\n", n, strings.Repeat("x", 100*n))
			for range 200 {
				r := NewReader(strings.NewReader(strings.Repeat(frame, 50)), 1<<20)
				for range 50 {
					if ev, err := r.Next(); err != nil || string(ev.Raw) != frame {
						t.Errorf("stream %d got %q, %v", n, ev.Raw, err)
						return
					}
				}
				if n%2 == 0 { // the others are read to their end by nobody
					r.Close()
				}
			}
		})
	}
	all.Wait()
}

// A stream that was closed has no memory of the pool and no further events. Closing it again changes nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader(strings.Repeat("data: x\n\n", 1000)), 1<<20)
	for range 100 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if r.dense == nil {
		t.Fatal("a burst is read without a dense buffer")
	}
	r.Close()
	r.Close()
	if _, err := r.Next(); !errors.Is(err, io.ErrClosedPipe) || r.dense != nil || r.buf != nil {
		t.Errorf("after the end: %v, with a buffer of %d bytes", err, len(r.buf))
	}
}

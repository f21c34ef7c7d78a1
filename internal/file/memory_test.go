package file

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// requests yields n lines without holding them. each is called before every thousandth.
type requests struct {
	at, n   int
	pending []byte
	each    func()
}

func (r *requests) Read(p []byte) (int, error) {
	for len(r.pending) < len(p) && r.at < r.n {
		if r.each != nil && r.at%1000 == 0 {
			r.each()
		}
		r.pending = fmt.Appendf(r.pending, `{"custom_id":"row-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"%s"}]}}`+"\n",
			r.at, padding)
		r.at++
	}
	if len(r.pending) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.pending)
	r.pending = append(r.pending[:0], r.pending[n:]...)
	return n, nil
}

var padding = strings.Repeat("What is the capital of this country? ", 8)

// TestMemoryIsFlat holds that ten times the lines take no more memory, except for eight bytes and the spare
// capacity of the table for each custom id.
func TestMemoryIsFlat(t *testing.T) {
	k := newKeeper(t)
	few, many := 10_000, 100_000
	small, large := peak(t, k, few), peak(t, k, many)
	table := uint64(many) * 8 * 4 // half full, and the old table beside the new one
	if large > small+table+(4<<20) {
		t.Errorf("%d lines took %d KiB, %d lines %d KiB", few, small>>10, many, large>>10)
	}
	t.Logf("peak heap: %d lines %d KiB, %d lines %d KiB", few, small>>10, many, large>>10)
}

// peak receives and reads n lines and returns the most memory that was in use, beyond what was before.
func peak(t *testing.T, k *Service, n int) uint64 {
	t.Helper()
	runtime.GC()
	before := heap()
	var most uint64
	look := func() {
		runtime.GC() // what is garbage does not count
		most = max(most, heap())
	}
	f, err := k.Receive(t.Context(), tenant, &requests{n: n, each: func() { look() }}, Limits{MaxBytes: 1 << 30, MaxLineBytes: 1 << 20, MaxJSONDepth: 64})
	if err != nil || f.Lines != n || f.ErrorCount != 0 {
		t.Fatalf("%d lines, %d errors: %v", f.Lines, f.ErrorCount, err)
	}
	f = keep(t, k, f)
	i := 0
	for _, err := range open(t, k, f).Lines(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if i++; i%5000 == 0 {
			look()
		}
	}
	return most - min(most, before)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func BenchmarkReceive(b *testing.B) {
	k := newKeeper(b)
	for b.Loop() {
		f, err := k.Receive(b.Context(), tenant, &requests{n: 50_000}, Limits{MaxBytes: 1 << 30, MaxLineBytes: 1 << 20, MaxJSONDepth: 64})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(f.Bytes)
		k.Discard(b.Context(), f)
	}
}

func BenchmarkLines(b *testing.B) {
	k := newKeeper(b)
	f, err := k.Receive(b.Context(), tenant, &requests{n: 50_000}, Limits{MaxBytes: 1 << 30, MaxLineBytes: 1 << 20, MaxJSONDepth: 64})
	if err != nil {
		b.Fatal(err)
	}
	f = keep(b, k, f)
	b.SetBytes(f.Bytes)
	n := 0
	for b.Loop() {
		for _, err := range open(b, k, f).Lines(b.Context(), 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkStep reads 500 lines from the middle, as a splitter does.
func BenchmarkStep(b *testing.B) {
	k := newKeeper(b)
	f, err := k.Receive(b.Context(), tenant, &requests{n: 50_000}, Limits{MaxBytes: 1 << 30, MaxLineBytes: 1 << 20, MaxJSONDepth: 64})
	if err != nil {
		b.Fatal(err)
	}
	r := open(b, k, keep(b, k, f))
	for b.Loop() {
		n := 0
		for _, err := range r.Lines(b.Context(), 25_000) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == ChunkLines {
				break
			}
		}
	}
}

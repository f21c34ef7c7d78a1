package overflow

import (
	"fmt"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/dialect"
)

// conversationOf is a chat of about so many bytes, in turns of 1 KiB.
func conversationOf(b *testing.B, size int) *dialect.Inference {
	b.Helper()
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 11)
	var list []string
	for i := range size / 1024 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"%d: %s"},{"role":"assistant","content":"%s"}`, i, text, text))
	}
	return inferenceOf(b, penstock.EndpointChat, `{"model":"m","messages":[`+strings.Join(list, ",")+`,{"role":"user","content":"last"}]}`)
}

// BenchmarkFits is the cost of a call that is far below the window of its model: the bound alone.
func BenchmarkFits(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 100 << 10} {
		b.Run(fmt.Sprintf("%d KiB", size>>10), func(b *testing.B) {
			inf := conversationOf(b, size)
			b.ReportAllocs()
			for b.Loop() {
				if Bound(inf.Object) > 200_000 {
					b.Fatal("the bound is above the window")
				}
			}
		})
	}
}

// BenchmarkCut is the cost of a call of 100 KiB on a model with a smaller window.
func BenchmarkCut(b *testing.B) {
	for _, window := range []int64{4096, 16384} {
		b.Run(fmt.Sprintf("window of %d", window), func(b *testing.B) {
			inf := conversationOf(b, 100<<10)
			var cutter Cutter
			order := Order{Inference: inf, Policy: penstock.OverflowTruncateOldest, Window: Window{Goal: window, Limit: window}}
			cutter.Cut(order) // loads the vocabulary
			b.SetBytes(int64(len(inf.Body())))
			b.ReportAllocs()
			for b.Loop() {
				if cut := cutter.Cut(order); cut.Text == nil || cut.After > window {
					b.Fatal("not cut")
				}
			}
		})
	}
}

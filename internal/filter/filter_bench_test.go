package filter

import "testing"

// BenchmarkCounter is the cost of the trivial filter for one answer of a hundred chunks, and for its input.
func BenchmarkCounter(b *testing.B) {
	chain, _ := Counting()
	subject, wire, ctx := Subject{ID: "id", Tenant: "acme", Body: []byte("{}")}, []byte("data: {}\n\n"), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chain.Input(ctx, subject); err != nil {
			b.Fatal(err)
		}
		a := chain.Begin(subject)
		for range 100 {
			if _, err := a.Chunk(ctx, Arrival{Wire: wire}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

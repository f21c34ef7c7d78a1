package filter

import (
	"syscall"
	"testing"
	"time"

	"penstock"
	"penstock/internal/dialect/edit"
)

const benchChunks = 100

// benchmarkAnswer is the cost of filters for an input and an answer of a hundred chunks.
func benchmarkAnswer(b *testing.B, chain *Chain) {
	b.Helper()
	subject, ctx := Subject{ID: "id", Tenant: "acme", Endpoint: penstock.EndpointChat, Body: []byte("{}")}, b.Context()
	wire := []byte(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" weir"},"finish_reason":null}]}` + "\n\n")
	b.ReportAllocs()
	start := processorTime(b)
	for b.Loop() {
		if _, err := chain.Input(ctx, subject); err != nil {
			b.Fatal(err)
		}
		a := chain.Begin(subject)
		for range benchChunks {
			if _, err := a.Chunk(ctx, Arrival{Wire: wire, Form: edit.Events}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64((processorTime(b)-start).Nanoseconds())/float64(b.N*benchChunks), "cpu-ns/chunk")
}

// processorTime is the time that the process has run on processors. Other load on the machine does not add to it.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkNone is a process without filters.
func BenchmarkNone(b *testing.B) { benchmarkAnswer(b, nil) }

// BenchmarkCounter is the trivial filter: no chunk is parsed.
func BenchmarkCounter(b *testing.B) {
	chain, _ := Counting()
	benchmarkAnswer(b, chain)
}

// BenchmarkRead is a filter that reads every text.
func BenchmarkRead(b *testing.B) {
	benchmarkAnswer(b, &Chain{Outputs: []Output{verdicts{looks: true}}})
}

// BenchmarkEdit is a filter that edits every text.
func BenchmarkEdit(b *testing.B) {
	benchmarkAnswer(b, &Chain{Outputs: []Output{verdicts{looks: true, action: Edit}}})
}

package itemstore

import (
	"testing"
	"time"

	"penstock"
)

// benchRow is an item as most are.
func benchRow(i int) *Row {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	u := penstock.Usage{InputTokens: 1200, CachedInputTokens: 300, OutputTokens: 90}
	a := &penstock.Attempt{
		ID: "01JQ0000000000000000000000", Target: "mini", Reason: "only", Config: "cfg_1", StatusCode: 200, Usage: u, UsageKnown: true, Cost: 41_200,
		PriceVersion: "price_1", StartedAt: at, FirstTokenAt: at.Add(200 * time.Millisecond), FinishedAt: at.Add(time.Second),
	}
	r := &Row{Last: a, Reserved: 90_000, PriceVersion: a.PriceVersion}
	r.Index, r.CustomID, r.Attempts, r.Target, r.StatusCode, r.Usage, r.Cost = i, "row-17", 1, a.Target, a.StatusCode, u, a.Cost
	return r
}

// BenchmarkResultFacts writes and reads the facts of a full result group.
func BenchmarkResultFacts(b *testing.B) {
	rows := make([]*Row, resultGroupItems)
	for i := range rows {
		rows[i] = benchRow(i)
	}
	encode := func() []byte {
		w := newResultFacts(len(rows))
		for _, r := range rows {
			w.ended(r)
		}
		return w.buf
	}
	encoded := encode()
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encode()
		}
		b.ReportMetric(float64(len(encoded))/resultGroupItems, "bytes/item")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeResults(encoded, resultGroupItems); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkInputFacts writes and reads the facts of a full input group.
func BenchmarkInputFacts(b *testing.B) {
	facts := make([]Fact, inputGroupItems)
	for i := range facts {
		facts[i] = Fact{CustomID: "row-17", Estimate: 1300, InputBytes: 5000, Reserved: 90_000, input: span{int64(i) * 1800, int64(i+1) * 1800}}
	}
	encoded := encodeInputs(facts)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encodeInputs(facts)
		}
		b.ReportMetric(float64(len(encoded))/inputGroupItems, "bytes/item")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeInputs(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package anthropic

import (
	"testing"

	"penstock/internal/sse"
)

// BenchmarkRead is what it costs to know what an event says. There is one for every token of a stream.
func BenchmarkRead(b *testing.B) {
	for name, other := range map[string]string{
		"Delta":              `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" flows"}}`,
		"DeltaUnlikeTheLast": `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" flows"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			events := [2][]byte{[]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" water"}}`), []byte(other)}
			r := &messageReader{}
			for n := 0; b.Loop(); n++ {
				if part, err := r.Event(sse.Event{Data: events[n%2]}); err != nil || part.Text == "" {
					b.Fatal(err)
				}
			}
		})
	}
}

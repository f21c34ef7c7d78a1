package openai

import (
	"strings"
	"testing"

	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

const benchPlain = `{"id":"chatcmpl-0123456789","object":"chat.completion","created":1700000000,"model":"sim-fast","choices":[{"index":0,"message":{"role":"assistant","content":"The weir holds the water back. It is a low wall across a river, and water flows over its top. Engineers use it to raise the level upstream, to measure the flow, and to keep boats afloat in dry months.","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":230,"completion_tokens":40,"total_tokens":270,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}},"service_tier":"default","system_fingerprint":"fp_sim"}`
const benchChunk = `{"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"sim-fast","system_fingerprint":"fp_sim","choices":[{"index":0,"delta":{"content":" water"},"logprobs":null,"finish_reason":null}],"usage":null}`

// benchmarkChunks reads two chunks in turns.
func benchmarkChunks(b *testing.B, one, other string) {
	b.ReportAllocs()
	r, chunks := &completionReader{}, [2][]byte{[]byte(one), []byte(other)}
	for n := 0; b.Loop(); n++ {
		if part, err := r.Event(sse.Event{Data: chunks[n%2]}); err != nil || part.Text == "" {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is what it costs to know what an answer says and used. There is a chunk for every token of a stream.
func BenchmarkRead(b *testing.B) {
	b.Run("Plain", func(b *testing.B) {
		b.ReportAllocs()
		text := []byte(benchPlain)
		for b.Loop() {
			r := &completionReader{}
			if _, err := r.Plain(text); err != nil || r.reported != wire.ReportedAll {
				b.Fatal(err)
			}
		}
	})
	b.Run("Chunk", func(b *testing.B) {
		benchmarkChunks(b, benchChunk, strings.ReplaceAll(benchChunk, " water", " flows"))
	})
	b.Run("ChunkUnlikeTheLast", func(b *testing.B) {
		benchmarkChunks(b, benchChunk, strings.ReplaceAll(benchChunk, "1700000000", "1700000001"))
	})
}

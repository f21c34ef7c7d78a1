package openai

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"penstock"
	"penstock/internal/provider"
)

func plainCall() provider.Call {
	return provider.Call{Endpoint: penstock.EndpointChat, UpstreamModel: "m", Body: []byte(`{"model":"m","messages":[]}`)}
}

func streamCall() provider.Call {
	call := plainCall()
	call.Stream = true
	return call
}

func benchmarkCall(b *testing.B, call provider.Call, contentType string, answer []byte) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		w.Write(answer)
	}))
	defer server.Close()
	p := newProvider(b, Config{BaseURL: server.URL})
	b.ReportAllocs()
	for b.Loop() {
		answer, err := p.Call(b.Context(), call)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = answer.Next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
		answer.Close()
	}
}

// The server and its allocations are part of what is measured.
func BenchmarkCallPlain(b *testing.B) {
	benchmarkCall(b, plainCall(), "application/json", []byte(plainTranscript.Answer[0].Wire))
}

func BenchmarkCallStream100(b *testing.B) {
	var stream bytes.Buffer
	for range 100 {
		stream.WriteString("data: " + delta(" word") + "\n\n")
	}
	stream.WriteString("data: " + usageChunk + "\n\ndata: [DONE]\n\n")
	benchmarkCall(b, streamCall(), "text/event-stream", stream.Bytes())
}

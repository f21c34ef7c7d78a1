package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock"
	"penstock/internal/provider"
)

func TestEndpointURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com/v1":            "https://api.openai.com/v1/chat/completions",
		"https://api.openai.com/v1/":           "https://api.openai.com/v1/chat/completions",
		"http://127.0.0.1:11434":               "http://127.0.0.1:11434/v1/chat/completions",
		"http://127.0.0.1:11434/":              "http://127.0.0.1:11434/v1/chat/completions",
		"http://[::1]:8000/v1":                 "http://[::1]:8000/v1/chat/completions",
		"https://openrouter.example/api/v1":    "https://openrouter.example/api/v1/chat/completions",
		"https://models.example/v1beta/openai": "https://models.example/v1beta/openai/chat/completions",
		"https://models.example/api/paas/v4/":  "https://models.example/api/paas/v4/chat/completions",
	} {
		if got, err := endpointURL(base, penstock.EndpointChat); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", base, got, err, want)
		}
	}
}

func TestNewReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		BaseURL: "ftp://x", APIKey: "sk-1\n", ConnectTimeout: -1, MaxIdleConnsPerHost: -1, MaxAnswerBytes: -1, MaxErrorBytes: -1,
	})
	for _, field := range []string{
		"name", "base_url", "api_key", "connect_timeout", "max_idle_conns_per_host", "max_answer_bytes", "max_error_bytes",
	} {
		if err == nil || !strings.Contains(err.Error(), field+":") {
			t.Errorf("%s is not reported in: %v", field, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "sk-1") {
		t.Errorf("the API key is repeated: %v", err)
	}
	for base, says := range map[string]string{
		"api.openai.com/v1":             "http",
		"https://":                      "host",
		"https://user:secret@x/v1":      "api_key",
		"https://x/v1?version=1":        "query",
		"https://x/v1#a":                "fragment",
		"https://x/v1/chat/completions": "must end before /chat/completions",
		"http://x\n/v1":                 "not a URL",
	} {
		if _, err := New(Config{Name: "n", BaseURL: base}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", base, err, says)
		}
	}
	if p, err := New(Config{Name: "n"}); err != nil || p.chatURL != "https://api.openai.com/v1/chat/completions" {
		t.Errorf("the defaults: %v", err)
	}
}

func TestConnectTrouble(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"resolved":  &net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", IsNotFound: true}},
		"timed out": &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		"refused":   &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"secure":    &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		"agreed":    tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		"came":      errors.New("something else"),
	} {
		if got := connectTrouble(err); !strings.Contains(got, want) {
			t.Errorf("%v: %q does not say %q", err, got, want)
		}
	}
}

func TestCallIsNotMadeForOtherEndpoints(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{BaseURL: "http://127.0.0.1:1"})
	_, err := p.Call(t.Context(), provider.Call{Endpoint: "/v1/messages", Body: []byte(`{}`)})
	if kind := provider.AsError(err).Kind; kind != provider.KindInternal {
		t.Errorf("got %v", err)
	}
}

func TestCallHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{BaseURL: "http://127.0.0.1:1"})
	call := plainCall()
	call.Header = http.Header{"Traceparent": {"a\nb"}}
	_, err := p.Call(t.Context(), call)
	if e := provider.AsError(err); e.Kind != provider.KindInternal {
		t.Errorf("a defect of ours is called %v", err)
	}
}

func plainCall() provider.Call {
	return provider.Call{Endpoint: penstock.EndpointChat, UpstreamModel: "m", Body: []byte(`{"model":"m","messages":[]}`)}
}

func streamCall() provider.Call {
	call := plainCall()
	call.Stream = true
	return call
}

// http2Provider calls a server that speaks HTTP/2 over TLS.
func http2Provider(t *testing.T, handler http.HandlerFunc) *Provider {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	p := newProvider(t, Config{BaseURL: server.URL})
	p.transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	t.Cleanup(func() {
		p.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	gone := make(chan int, 1)
	p := http2Provider(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: "+delta("Hi")+"\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.ProtoMajor
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer, err := p.Call(ctx, streamCall())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if chunk, err := answer.Next(); err != nil || chunk.Text != "Hi" {
		t.Fatalf("got %q, %v", chunk.Text, err)
	}
	cancel()
	if proto := <-gone; proto != 2 {
		t.Errorf("HTTP/%d was spoken", proto)
	}
	if _, err := answer.Next(); provider.AsError(err).Kind != provider.KindCancelled {
		t.Errorf("got %v", err)
	}
}

func TestHTTP2FirstTokenTimeout(t *testing.T) {
	t.Parallel()
	p := http2Provider(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	call := streamCall()
	call.Timeouts = provider.Timeouts{Connect: time.Hour, FirstToken: 30 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := p.Call(ctx, call)
	if e := provider.AsError(err); e.Kind != provider.KindTimeout || !strings.Contains(e.Message, "first token") {
		t.Errorf("got %v", err)
	}
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

package wire

import (
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

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient makes a client whose connections end with the test.
func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	cfg.Name = "test"
	if cfg.BaseURL == "" {
		cfg.BaseURL = "https://api.example"
	}
	c, err := New(cfg, penstock.EndpointChat)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func plainCall() provider.Call {
	return provider.Call{Endpoint: penstock.EndpointChat, UpstreamModel: "m", Body: []byte(`{"model":"m"}`)}
}

func streamCall() provider.Call {
	call := plainCall()
	call.Stream = true
	return call
}

// request sends a call's body as it is.
func request(call provider.Call) Request {
	return Request{Body: [][]byte{call.Body}, Reader: &words{}, Wanted: "words", SetHeader: func(h http.Header, apiKey string) { h.Set("Authorization", apiKey) }}
}

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
		if got, err := endpointURL(base, penstock.EndpointChat); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v; want %s", base, got, err, want)
		}
	}
}

func TestNewReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		BaseURL: "ftp://x", APIKey: "sk-1\n", ConnectTimeout: -1, MaxIdleConnsPerHost: -1, MaxAnswerBytes: -1, MaxErrorBytes: -1,
	}, penstock.EndpointChat)
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
		if _, err := New(Config{Name: "n", BaseURL: base}, penstock.EndpointChat); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", base, err, says)
		}
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
	p := newClient(t, Config{BaseURL: "http://127.0.0.1:1"})
	_, err := p.Call(t.Context(), provider.Call{Endpoint: "/v1/messages"}, Request{})
	if kind := provider.AsError(err).Kind; kind != provider.KindInternal {
		t.Errorf("got %v", err)
	}
}

func TestCallHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	p := newClient(t, Config{BaseURL: "http://127.0.0.1:1"})
	call := plainCall()
	call.Header = http.Header{"Traceparent": {"a\nb"}}
	_, err := p.Call(t.Context(), call, request(call))
	if e := provider.AsError(err); e.Kind != provider.KindInternal {
		t.Errorf("a defect of ours is called %v", err)
	}
}

// http2Client calls a server that uses HTTP/2 over TLS.
func http2Client(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	p := newClient(t, Config{BaseURL: server.URL, RootCAs: roots})
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
	p := http2Client(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: Hi\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.ProtoMajor
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer, err := p.Call(ctx, streamCall(), request(streamCall()))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if chunk, err := answer.Next(); err != nil || chunk.Text != "Hi" {
		t.Fatalf("got %q, %v", chunk.Text, err)
	}
	cancel()
	if proto := <-gone; proto != 2 {
		t.Errorf("HTTP/%d was used", proto)
	}
	if _, err := answer.Next(); provider.AsError(err).Kind != provider.KindCancelled {
		t.Errorf("got %v", err)
	}
}

func TestHTTP2FirstTokenTimeout(t *testing.T) {
	t.Parallel()
	p := http2Client(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	call := streamCall()
	call.Timeouts = provider.Timeouts{Connect: time.Hour, FirstToken: 30 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := p.Call(ctx, call, request(call))
	if e := provider.AsError(err); e.Kind != provider.KindTimeout || !strings.Contains(e.Message, "first token") {
		t.Errorf("got %v", err)
	}
}

func TestKeysAreScrubbed(t *testing.T) {
	t.Parallel()
	const key = "sk/secret"
	client := newClient(t, Config{APIKey: key})
	for _, body := range []string{
		`{"error":{"message":"bad key sk/secret!","code":"x"}}`,
		strings.Repeat("sk/secret ", 1000),
	} {
		for _, status := range []int{200, 400, 401, 500} {
			ex := &exchange{
				ended: t.Context().Err, client: client, reader: &words{},
				resp: &http.Response{StatusCode: status, Header: http.Header{}},
			}
			e := ex.explain([]byte(body), nil)
			for _, said := range []string{e.Error(), string(e.Body)} {
				if strings.Contains(said, key) {
					t.Errorf("%d %.60s: the key is in %.200q", status, body, said)
				}
			}
			if len(e.Message) > maxMessageBytes+len("…") {
				t.Errorf("a message of %d bytes", len(e.Message))
			}
		}
	}
}

// A caller may show its key in any of the usual ways; none of them is for the upstream.
func TestCallersCredentialsStayHere(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		io.WriteString(w, "Hi")
	}))
	defer server.Close()
	call := plainCall()
	call.Header = http.Header{"authorization": {"Bearer x"}, "x-api-key": {"x"}, "Api-Key": {"x"}, "anthropic-beta": {"y"}}
	client := newClient(t, Config{BaseURL: server.URL})
	if _, err := client.Call(t.Context(), call, request(call)); err != nil {
		t.Fatal(err)
	}
	got := <-seen
	for _, name := range credentials {
		if got.Get(name) != "" {
			t.Errorf("%s: %q went out", name, got.Get(name))
		}
	}
	if got.Get("Anthropic-Beta") != "y" {
		t.Error("a header that is no credential was lost")
	}
}

func TestEveryStatusHasAKind(t *testing.T) {
	t.Parallel()
	for status := 300; status < 600; status++ {
		kind := provider.KindOfStatus(status)
		if permanent := !kind.Policy().Retry && !kind.Policy().Fallback; permanent && status/100 != 4 {
			t.Errorf("%d is taken for the caller's fault", status)
		}
	}
}

package sim

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// send makes a request over the network and returns the response with its body unread.
func send(ctx context.Context, h *httptest.Server, path, body string) (*http.Response, error) {
	r := newRequest(ctx, path, body)
	r.RequestURI = ""
	r.URL.Scheme, r.URL.Host = "http", h.Listener.Addr().String()
	return h.Client().Do(r)
}

func mustSend(t testing.TB, h *httptest.Server, path, body string) *http.Response {
	t.Helper()
	res, err := send(t.Context(), h, path, body)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestStreamOverHTTP(t *testing.T) {
	t.Parallel()
	h := listen(t, newServer(t, Config{OutputTokens: 5}))
	res := mustSend(t, h, chatPath, chatStreamBody("Hi"))
	if res.ContentLength != -1 || res.Header.Get("Content-Type") != streamType {
		t.Errorf("length %d, type %q", res.ContentLength, res.Header.Get("Content-Type"))
	}
	if data := events(t, res.Body); len(data) != 8 || data[7] != "[DONE]" {
		t.Errorf("%d events, want role, 5 tokens, finish and [DONE]: %q", len(data), data)
	}
}

// TestEachTokenIsSentAtOnce reads a token while the stream is held up after it.
func TestEachTokenIsSentAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 2, Stall: MaxLatency})
	h := listen(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := send(ctx, h, messagePath, `{"model":"m","max_tokens":2,"stream":true,"messages":[{"role":"user","content":"[sim:fault=stall]"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "text_delta") {
	}
	if !strings.Contains(lines.Text(), "text_delta") {
		t.Fatal("the first token did not come before the stall")
	}
	cancel()
	until(t, "the client's leaving was counted", func() bool { return s.Stats().Cancelled == 1 && s.Stats().InFlight == 0 })
}

func TestDisconnectCutsTheConnection(t *testing.T) {
	t.Parallel()
	h := listen(t, newServer(t, Config{}))
	for _, body := range []string{chatBody("[sim:fault=disconnect]"), chatStreamBody("[sim:fault=disconnect]")} {
		res := mustSend(t, h, chatPath, body)
		got, err := io.ReadAll(res.Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the body ended with %v, want an unexpected end", err)
		}
		if len(got) == 0 || res.StatusCode != http.StatusOK {
			t.Errorf("status %d and %d bytes before the cut", res.StatusCode, len(got))
		}
	}
}

func TestHangEndsWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	h := listen(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := send(ctx, h, chatPath, chatBody("[sim:fault=hang]"))
		ended <- err
	}()
	until(t, "the request arrived", func() bool { return s.Stats().InFlight == 1 })
	cancel()
	if err := receive(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	until(t, "the client's leaving was counted", func() bool { return s.Stats().Cancelled == 1 && s.Stats().InFlight == 0 })
	if got := s.Stats().ByStatus; len(got) != 0 {
		t.Errorf("a hanging request was answered: %v", got)
	}
}

func TestHangEndsWhenTheServerCloses(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	h := listen(t, s)
	ended := make(chan error, 1)
	go func() {
		_, err := send(t.Context(), h, chatPath, chatBody("[sim:fault=hang]"))
		ended <- err
	}()
	until(t, "the request arrived", func() bool { return s.Stats().InFlight == 1 })
	s.Close()
	if err := receive(t, ended); !errors.Is(err, io.EOF) {
		t.Errorf("the client got %v, want a cut connection", err)
	}
	if err := h.Config.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWhatTheClientHasSeenIsCounted looks at the counters as soon as an answer has been read, without
// polling.
func TestWhatTheClientHasSeenIsCounted(t *testing.T) {
	t.Parallel()
	for name, request := range map[string][2]string{
		"plain":  {chatPath, chatBody("Hi")},
		"long":   {embeddingPath, `{"model":"m","input":["Hi","Hi","Hi"]}`},
		"stream": {chatPath, chatStreamBody("Hi")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, Config{})
			h := listen(t, s)
			for n := range uint32(100) {
				res := mustSend(t, h, request[0], request[1])
				lines := bufio.NewScanner(res.Body)
				lines.Buffer(nil, 1<<20)
				for lines.Scan() && lines.Text() != "data: [DONE]" { // as an SDK does, which need not wait for the end of the body
				}
				if got := s.Executions("Hi").Completed; got != n+1 {
					t.Fatalf("%d answers read, %d counted", n+1, got)
				}
				if got := s.Stats(); got.InFlight != 0 || got.ByStatus[200] != int64(n+1) {
					t.Fatalf("%d answers read: %+v", n+1, got)
				}
			}
		})
	}
}

// flushing counts the writes that no flush has followed yet.
type flushing struct {
	*httptest.ResponseRecorder
	pending, most int
}

func (f *flushing) Write(b []byte) (int, error) {
	f.pending++
	f.most = max(f.most, f.pending)
	return f.ResponseRecorder.Write(b)
}

func (f *flushing) Flush() { f.pending = 0 }

// TestEveryEventButTheLastIsFlushed: each must go out by itself, and the last only after it was counted.
func TestEveryEventButTheLastIsFlushed(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	for _, path := range []string{chatPath, messagePath} {
		for _, fault := range []Fault{"", FaultErrorIn200, FaultErrorMidStream} {
			w := &flushing{ResponseRecorder: httptest.NewRecorder()}
			r := newRequest(t.Context(), path, `{"model":"m","max_tokens":9,"stream":true,`+userHi+`}`)
			r.Header.Set(FaultHeader, string(fault))
			s.ServeHTTP(w, r)
			if w.most != 1 || w.pending != 1 {
				t.Errorf("%s %s: at most %d events together and %d left at the end, want 1 and 1", path, fault, w.most, w.pending)
			}
		}
	}
}

// FuzzDecode throws bytes at every endpoint: an answer must be well formed, and anything else a 4xx in an
// envelope.
func FuzzDecode(f *testing.F) {
	for _, tr := range transcripts() {
		if tr.body != "" {
			f.Add(tr.body)
		}
	}
	for _, body := range []string{
		`{"model":"m","prompt":[1,2],"input":[[]],"max_tokens":1}`,
		`{"model":"m","max_tokens":2,"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image"}]}]}]}`,
		`{"model":"m","stream":true,"max_tokens":2,"messages":[{"role":"user","content":"[sim:tokens=9 fault=malformed]"}]}`,
		`{"model":"m","model":1,"messages":null}`,
		"{\"model\":\"\xff\"}",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "[sim:") || strings.Contains(body, `\u`) {
			t.Skip("the prompt may ask for something slow or broken")
		}
		s := newServer(t, Config{OutputTokens: 3})
		for _, e := range s.endpoints {
			w := ask(t, s, e.path, body)
			switch {
			case w.Code >= 400 && w.Code < 500:
				if !jsontext.Value(w.Body.Bytes()).IsValid() {
					t.Errorf("%s: %d with %q", e.path, w.Code, w.Body)
				}
			case w.Code != http.StatusOK:
				t.Errorf("%s: status %d: %s", e.path, w.Code, w.Body)
			case w.Header().Get("Content-Type") == streamType:
				for _, data := range events(t, w.Body) {
					if data != "[DONE]" && !jsontext.Value(data).IsValid() {
						t.Errorf("%s: event %q", e.path, data)
					}
				}
			case !jsontext.Value(w.Body.Bytes()).IsValid():
				t.Errorf("%s: answer %q", e.path, w.Body)
			}
		}
	})
}

// FuzzDirectives looks for prompts that parseDirectives cannot stand.
func FuzzDirectives(f *testing.F) {
	for _, prompt := range []string{"[sim:fault=hang times=2]", "[sim:[sim:tokens=1]", "[sim:latency=1ms]]", "[sim:=]", "[sim:fault=\xff"} {
		f.Add(prompt)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		d, err := parseDirectives(prompt)
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		if d.tokens < 0 || d.tokens > MaxOutputTokens || d.latency != nil && (*d.latency < 0 || *d.latency > MaxLatency) {
			t.Errorf("out of bounds: %+v", d)
		}
	})
}

package sim

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chatPath       = "/v1/chat/completions"
	completionPath = "/v1/completions"
	embeddingPath  = "/v1/embeddings"
	rerankPath     = "/v1/rerank"
	responsePath   = "/v1/responses"
	messagePath    = "/v1/messages"
	countPath      = "/v1/messages/count_tokens"
)

// deadline bounds every wait for something that ought to happen at once.
const deadline = 10 * time.Second

func newServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// listen serves s over real HTTP.
func listen(t testing.TB, s *Server) *httptest.Server {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return h
}

func newRequest(ctx context.Context, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, messagePath) {
		r.Header.Set("x-api-key", "any")
		r.Header.Set("anthropic-version", "2023-06-01")
	}
	return r
}

// ask sends a request without a network, which is what runs inside a synctest bubble.
func ask(t testing.TB, s *Server, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return do(s, newRequest(t.Context(), path, body))
}

// cutMark stands in a recorded body where the connection was cut.
const cutMark = "(connection cut)"

func do(s *Server, r *http.Request) (w *httptest.ResponseRecorder) {
	w = httptest.NewRecorder()
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			w.Body.WriteString(cutMark)
		} else if p != nil {
			panic(p)
		}
	}()
	s.ServeHTTP(w, r)
	return w
}

func chatBody(prompt string) string {
	return `{"model":"m","messages":[{"role":"user","content":` + quoted(prompt) + `}]}`
}

func chatStreamBody(prompt string) string {
	return `{"model":"m","stream":true,"messages":[{"role":"user","content":` + quoted(prompt) + `}]}`
}

func quoted(s string) string { return string(encode(s)) }

// chatText returns the text of a plain chat answer.
func chatText(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	var c chatCompletion
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || len(c.Choices) != 1 || c.Choices[0].Message.Content == nil {
		t.Fatalf("not a chat answer: %d %s (%v)", w.Code, w.Body, err)
	}
	return *c.Choices[0].Message.Content
}

func wantStatus(t testing.TB, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
}

// receive waits for a value, bounded by the deadline.
func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(deadline):
		t.Fatal("nothing happened in time")
		panic("unreachable")
	}
}

// until polls a condition, bounded by the deadline.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(deadline)
	for !condition() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("did not happen in time: %s", what)
		}
	}
}

// events returns the data of each event of a stream.
func events(t testing.TB, stream io.Reader) []string {
	t.Helper()
	var data []string
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, d)
		}
	}
	return data
}

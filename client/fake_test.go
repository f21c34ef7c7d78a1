package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"penstock/client"
)

const testKey = "psk_test_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// dial returns a client of a server that is reached over a real connection.
func dial(t *testing.T, h http.Handler) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return newClient(t, client.Config{URL: server.URL, APIKey: testKey, HTTPClient: server.Client()})
}

func newClient(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inMemory calls a handler without a network, so that its client can live in a synctest bubble.
type inMemory struct{ handler http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	body, pipe := io.Pipe()
	w := &pipeResponse{header: http.Header{}, body: pipe, begun: make(chan int, 1)}
	stop := context.AfterFunc(r.Context(), func() { pipe.CloseWithError(context.Cause(r.Context())) })
	go func() {
		defer stop()
		defer func() {
			if recover() != nil { // as net/http does for http.ErrAbortHandler
				w.WriteHeader(http.StatusOK)
				pipe.CloseWithError(io.ErrUnexpectedEOF)
			}
		}()
		m.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		pipe.Close()
	}()
	select {
	case status := <-w.begun:
		return &http.Response{
			StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
			Header: w.header.Clone(), Body: body, Request: r,
		}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// pipeResponse is the server's side of an inMemory call.
type pipeResponse struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	begun  chan int
}

func (w *pipeResponse) Header() http.Header { return w.header }
func (w *pipeResponse) Flush()              {}
func (w *pipeResponse) WriteHeader(status int) {
	w.once.Do(func() { w.begun <- status })
}
func (w *pipeResponse) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// script answers one call after the other and remembers what was asked.
type script struct {
	t     *testing.T
	steps []http.HandlerFunc

	mu     sync.Mutex
	calls  []*http.Request
	bodies []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Errorf("reading the body of %s %s: %v", r.Method, r.URL, err)
	}
	s.mu.Lock()
	n := len(s.calls)
	s.calls = append(s.calls, r)
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	if n >= len(s.steps) {
		s.t.Errorf("call %d, %s %s, was not expected", n+1, r.Method, r.URL)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.steps[n](w, r)
}

// times repeats a step.
func times(n int, step http.HandlerFunc) []http.HandlerFunc {
	steps := make([]http.HandlerFunc, n)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

// says answers with a status, headers given as "Name: value", and a body.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// fails answers with an error of Penstock's own.
func fails(status int, code string, headers ...string) http.HandlerFunc {
	return says(status, fmt.Sprintf(`{"error":{"code":%q,"message":"No.","param":null}}`, code), headers...)
}

// breaks writes something and cuts the connection.
func breaks(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

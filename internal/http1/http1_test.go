package http1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// rig is a client and what it connects to.
type rig struct {
	*Client
	url   *url.URL
	dials atomic.Int64
}

func newRig(t *testing.T, address string) *rig {
	t.Helper()
	r := &rig{url: &url.URL{Scheme: "http", Host: address, Path: "/v1/x", RawQuery: "a=b"}}
	r.Client = New(Config{MaxIdle: 2, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			r.dials.Add(1)
			return (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
		}})
	t.Cleanup(r.CloseIdleConnections)
	return r
}

func (r *rig) post(ctx context.Context, body string) (*http.Response, error) {
	return r.Post(ctx, Request{URL: r.url, Header: http.Header{"X-Test": {"1", "2"}}, Body: [][]byte{[]byte(body)}, Phases: phases{}})
}

// ask posts and reads the answer to its end.
func (r *rig) ask(ctx context.Context, body string) (string, error) {
	resp, err := r.post(ctx, body)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// echo serves HTTP by net/http.
func echo(t *testing.T, handler http.HandlerFunc) *rig {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newRig(t, strings.TrimPrefix(server.URL, "http://"))
}

// scripted answers each connection's calls with the given texts, and closes it after the last.
func scripted(t *testing.T, answers ...string) *rig {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for _, answer := range answers {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = io.WriteString(conn, answer)
				}
			}()
		}
	}()
	return newRig(t, listener.Addr().String())
}

func TestPost(t *testing.T) {
	t.Parallel()
	r := echo(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %q %d", r.Method, r.URL, r.Host, r.Header["X-Test"], len(text))
	})
	for _, size := range []int{0, 1, maxJoined, maxJoined + 1, 4 << 20} {
		got, err := r.ask(t.Context(), strings.Repeat("x", size))
		if want := fmt.Sprintf(`POST /v1/x?a=b %s ["1" "2"] %d`, r.url.Host, size); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if n := r.dials.Load(); n != 1 {
		t.Errorf("%d connections for one call after the other", n)
	}
}

// What net/http's own client would read, this reads too, and knows afterwards whether the connection is still good.
func TestFraming(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 10_000)
	for name, tt := range map[string]struct {
		answer, want string
		reused       bool
		fails        bool
	}{
		"length":              {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", true, false},
		"no body":             {"HTTP/1.1 204 No Content\r\n\r\n", "", true, false},
		"chunks":              {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n", "hi!", true, false},
		"switches protocols":  {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhi", "", false, true},
		"a few trailers":      {chunkedWith(maxTrailers, "x"), "hi", true, false},
		"too many trailers":   {chunkedWith(maxTrailers+1, "x"), "hi", false, true},
		"large trailers":      {chunkedWith(2, strings.Repeat("x", parseBytes)), "hi", false, true},
		"interim":             {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", true, false},
		"until it closes":     {"HTTP/1.1 200 OK\r\n\r\n" + long, long, false, false},
		"says it closes":      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", "hi", false, false},
		"older":               {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", false, false},
		"says too much":       {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more", "hi", false, false},
		"cut":                 {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", "", false, true},
		"cut chunk":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi", "", false, true},
		"no HTTP":             {"hello\r\n\r\n", "", false, true},
		"nothing":             {"", "", false, true},
		"headers without end": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("z", 100_000), "", false, true},
		"only interim":        {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := []string{tt.answer}
			if tt.reused {
				answers = append(answers, tt.answer)
			}
			r := scripted(t, answers...)
			for range 2 {
				got, err := r.ask(t.Context(), "x")
				if (err != nil) != tt.fails || (!tt.fails && got != tt.want) {
					t.Fatalf("got %.40q, %v", got, err)
				}
			}
			if n := r.dials.Load(); (n == 1) != tt.reused {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// A server may close an idle connection at any time: the next call must not be lost to that.
func TestIdleConnectionsThatDied(t *testing.T) {
	t.Parallel()
	r := scripted(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") // and closes
	for range 20 {
		if got, err := r.ask(t.Context(), "x"); err != nil || got != "hi" {
			// The server's end may not have been heard yet when the connection is looked at; then it is lost in the
			// exchange, and a call that was sent must not be sent again.
			if !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(fmt.Sprint(err), "reset") {
				t.Fatalf("got %q, %v", got, err)
			}
		}
		awaitEnd(t, r)
	}
}

// awaitEnd waits until the client can know that its idle connections were closed.
func awaitEnd(t *testing.T, r *rig) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		r.pool.mu.Lock()
		alive := 0
		for _, all := range r.pool.idle {
			for _, c := range all {
				if !c.dead() {
					alive++
				}
			}
		}
		r.pool.mu.Unlock()
		if alive == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the server did not close its connections")
		}
	}
}

func TestTheEndOfAContextClosesTheConnection(t *testing.T) {
	t.Parallel()
	gone, begun := make(chan struct{}, 2), make(chan struct{}, 2)
	r := echo(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if string(text) == "stream" {
			_, _ = io.WriteString(w, "begins")
			_ = http.NewResponseController(w).Flush()
		}
		begun <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	for _, body := range []string{"stream", "silence"} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if got, err := r.ask(ctx, body); err == nil {
			t.Errorf("%s: got %q", body, got)
		}
		select {
		case <-gone:
		case <-time.After(patience):
			t.Fatal("the server was not told")
		}
		cancel()
	}
	if _, err := r.post(cancelled(t), "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := r.dials.Load(); n != 2 {
		t.Errorf("%d connections, want one for each call", n)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// An answer that is closed early takes its connection with it, and reads as nothing from then on.
func TestCloseEarly(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 1)
	r := echo(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "begins")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	resp, err := r.post(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the server was not told")
	}
	if n, err := resp.Body.Read(make([]byte, 1)); n > 0 || err == nil || err == io.EOF {
		t.Errorf("read %d, %v", n, err)
	}
}

// A server that has heard enough may answer and hang up before it has read everything.
func TestAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	t.Parallel()
	r := echo(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	resp, err := r.Post(t.Context(), Request{URL: r.url, Body: [][]byte{bytes.Repeat([]byte("x"), 1<<19), nil, bytes.Repeat([]byte("x"), 1<<19)}, Phases: phases{}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// chunkedWith is an answer in chunks with some trailers.
func chunkedWith(trailers int, value string) string {
	answer := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
	for n := range trailers {
		answer += fmt.Sprintf("X-%d: %s\r\n", n, value)
	}
	return answer + "\r\n"
}

// Headers that decide where a request ends are the client's own, however they are written.
func TestFramingHeadersAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "127.0.0.1:1")
	for _, name := range []string{"Content-Length", "content-length", "TRANSFER-ENCODING", "Te", "trailer", "Connection", "Keep-Alive",
		"Proxy-Connection", "Upgrade", "Expect", "Host", "HTTP2-Settings", ""} {
		_, err := r.Post(t.Context(), Request{URL: r.url, Header: http.Header{name: {"1"}}})
		if err == nil || !strings.Contains(err.Error(), "cannot be set by a caller") {
			t.Errorf("%q: got %v", name, err)
		}
	}
	if r.dials.Load() != 0 {
		t.Error("a connection was made")
	}
}

func TestHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, "127.0.0.1:1")
	for _, header := range []http.Header{{"X": {"a\r\nY: b"}}, {"X\r\nY": {"a"}}, {"X": {"a\x00"}}, {"X Y": {"a"}}} {
		if _, err := r.Post(t.Context(), Request{URL: r.url, Header: header}); err == nil || !strings.Contains(err.Error(), "cannot be sent") {
			t.Errorf("%v: got %v", header, err)
		}
	}
	if r.dials.Load() != 0 {
		t.Error("it was tried")
	}
}

func TestThePoolIsBounded(t *testing.T) {
	t.Parallel()
	together := make(chan struct{})
	r := echo(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-together
	})
	const calls = 6
	done := make(chan error, calls)
	for range calls {
		go func() {
			_, err := r.ask(t.Context(), "x")
			done <- err
		}()
	}
	for range calls {
		together <- struct{}{}
	}
	for range calls {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	r.pool.mu.Lock()
	kept := r.pool.count
	r.pool.mu.Unlock()
	if kept == 0 || kept > 2 {
		t.Errorf("%d connections are kept, want 1 or 2", kept)
	}
	r.pool.timeout = 0
	r.pool.expire()
	if r.pool.count != 0 || len(r.pool.idle) != 0 || r.pool.sweep != nil {
		t.Errorf("%d connections are kept past their time", r.pool.count)
	}
}

// phases are those of a call that nobody watches, but for what it waits for; nil for nothing.
type phases struct{ waiting func() error }

func (phases) Connecting() {}
func (phases) Connected()  {}

func (p phases) Waiting() error {
	if p.waiting == nil {
		return nil
	}
	return p.waiting()
}

package http1

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// talker is a server that sends answers nobody asked for.
type talker struct {
	*rig
	mu    sync.Mutex
	conns []net.Conn
	gone  []chan struct{} // closed when the client closed the connection
}

const stolen = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"

// talk answers every call with the number of its connection, and what else behind it.
func talk(t *testing.T, behind string) *talker {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &talker{rig: newRig(t, listener.Addr().String())}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			gone := make(chan struct{})
			s.conns, s.gone = append(s.conns, conn), append(s.gone, gone)
			n := len(s.conns)
			s.mu.Unlock()
			go func() {
				defer close(gone)
				answerAll(conn, n, behind)
			}()
		}
	}()
	return s
}

func answerAll(conn net.Conn, n int, behind string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		text := fmt.Sprintf("connection %d", n)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s%s", len(text), text, behind)
	}
}

// speak sends an answer on a connection that waits for nothing.
func (s *talker) speak(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.conns[n-1], stolen)
}

func (s *talker) want(t *testing.T, text string) {
	t.Helper()
	if got, err := s.ask(t.Context(), "x"); err != nil || got != text {
		t.Fatalf("got %q, %v, want %q", got, err, text)
	}
}

func (s *talker) awaitGone(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	gone := s.gone[n-1]
	s.mu.Unlock()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Errorf("connection %d is still open", n)
	}
}

// A second answer that comes along with the first costs the connection at once.
func TestSecondAnswerWithTheFirst(t *testing.T) {
	t.Parallel()
	s := talk(t, stolen)
	for n := 1; n <= 5; n++ {
		s.want(t, fmt.Sprintf("connection %d", n))
		s.awaitGone(t, n)
	}
}

// A second answer that comes while the connection is unused costs it when it would be used again.
func TestSecondAnswerWhileIdle(t *testing.T) {
	t.Parallel()
	s := talk(t, "")
	s.want(t, "connection 1")
	s.want(t, "connection 1")
	s.speak(1)
	s.awaitReadable(t)
	s.want(t, "connection 2")
	s.awaitGone(t, 1)
}

// awaitReadable waits until what was said unasked has arrived.
func (s *talker) awaitReadable(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		s.pool.mu.Lock()
		c := s.pool.idle[s.url.Host][0]
		s.pool.mu.Unlock()
		if c.dead() {
			// dead took a byte of it; the rest is still there to be found, and its end if not.
			return
		}
	}
	t.Fatal("nothing arrived")
}

// A second answer may come just after its connection went back, when the next call is on its way already. That call
// takes another connection: one that has only just answered rests.
func TestSecondAnswerBehindTheNextCall(t *testing.T) {
	t.Parallel()
	s := talk(t, "")
	s.pool.rest = time.Hour
	s.want(t, "connection 1")
	resp, err := s.post(t.Context(), "the next call")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s.speak(1)
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "connection 2" {
		t.Fatalf("the next call was answered with %q, %v", text, err)
	}
	s.pool.rest = 0 // time goes by
	s.want(t, "connection 2")
	s.want(t, "connection 2")
	if n := s.dials.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// Connections that rest are bounded: a pool that is half full of them uses the oldest.
func TestRestIsBounded(t *testing.T) {
	t.Parallel()
	s := talk(t, "")
	s.pool.rest, s.pool.most = time.Hour, 8
	for range 50 {
		if _, err := s.ask(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.dials.Load(); n != 5 {
		t.Errorf("%d connections were made, want 5", n)
	}
}

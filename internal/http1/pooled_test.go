package http1

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A request that the socket does not take at once reaches the server as a whole, on a connection from the pool too.
func TestPooledConnectionTakesPartOfARequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%d %t %v", len(text), strings.Trim(string(text), "x") == "", err)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.Listener.Addr().String())
	dial := r.cfg.Dial
	r.cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetWriteBuffer(1) // the least that the system has
		}
		return conn, err
	}
	const size = maxJoined - 100
	for range 20 {
		if got, err := r.ask(t.Context(), strings.Repeat("x", size)); err != nil || got != fmt.Sprintf("%d true <nil>", size) {
			t.Fatalf("the server got %q, %v", got, err)
		}
	}
	if n := r.dials.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// While a call waits for its answer on a connection from the pool, nothing holds its request, and the end of the call's context ends it.
func TestPooledConnectionWaits(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if string(text) == "wait" {
			close(asked)
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.Listener.Addr().String())
	if _, err := r.ask(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	r.pool.mu.Lock()
	conn := r.pool.idle[r.url.Host][0]
	r.pool.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := r.post(ctx, "wait"); err == nil || ctx.Err() == nil {
		t.Errorf("the call ended with %v", err)
	}
	if conn.request.buffer != nil || conn.sent == 0 || r.dials.Load() != 1 {
		t.Errorf("after %d bytes the buffer is held: %t; %d connections", conn.sent, conn.request.buffer != nil, r.dials.Load())
	}
}

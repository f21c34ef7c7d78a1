package providertest

import (
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// waitLimit is how long a case waits for something that must happen. It is long because it is only
// ever waited out by a test that fails.
const waitLimit = 20 * time.Second

// Upstream is a model server that does what its script says, for every request alike.
type Upstream struct {
	URL string

	received chan Received
	gone     chan struct{} // gets a value for each client that went away while the script hung
	closing  chan struct{}
	conns    atomic.Int64
	calls    atomic.Int64
	rootCAs  *x509.CertPool // who vouches for it; nil without TLS
	http2    bool

	mu      sync.Mutex
	idle    map[net.Conn]bool // connections that wait for a call
	left    map[net.Conn]bool // those that the upstream has ended, until the client has too
	changed chan struct{}     // gets a value when these may have changed
}

// Received is a request as the upstream saw it.
type Received struct {
	Path   string
	Header http.Header
	Body   string
}

// Step is a part of a script.
type Step func(up *Upstream, w http.ResponseWriter, r *http.Request)

// maxRecorded is how many requests an upstream can keep for the test to look at; more are served and
// forgotten.
const maxRecorded = 16

// newUpstream starts an upstream that ends with the test.
func newUpstream(t testing.TB, start func(*httptest.Server), script []Step) *Upstream {
	t.Helper()
	up := &Upstream{
		received: make(chan Received, maxRecorded), gone: make(chan struct{}, maxRecorded), closing: make(chan struct{}),
		idle: map[net.Conn]bool{}, left: map[net.Conn]bool{}, changed: make(chan struct{}, 1),
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up.record(r)
		for _, step := range script {
			step(up, w, r)
		}
	}))
	server.Config.ConnState = up.track
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are broken off on purpose
	start(server)
	up.URL, up.rootCAs, up.http2 = server.URL, rootCAs(server), server.EnableHTTP2
	t.Cleanup(func() {
		close(up.closing)
		server.Close()
	})
	return up
}

// track counts connections, and knows which of them wait for a call.
func (up *Upstream) track(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		up.conns.Add(1)
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	delete(up.idle, c)
	delete(up.left, c)
	if state == http.StateIdle {
		up.idle[c] = true
	}
	select {
	case up.changed <- struct{}{}:
	default:
	}
}

// leave ends the connections that wait for a call, as servers do with those that waited too long. With HTTP/2 the client
// listens all the time, and hangs up as well; with HTTP/1.1 it looks when it is about to use a connection.
func (up *Upstream) leave(t *testing.T) {
	t.Helper()
	up.mustIdle(t)
	up.mu.Lock()
	for c := range up.idle {
		if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		delete(up.idle, c)
		up.left[c] = true
	}
	up.mu.Unlock()
	if up.http2 && !up.await(waitLimit, func() bool { return len(up.left) == 0 }) {
		t.Fatal("the client keeps a connection that has ended")
	}
}

// mustIdle waits until a connection waits for a call.
func (up *Upstream) mustIdle(t *testing.T) {
	t.Helper()
	if !up.await(waitLimit, func() bool { return len(up.idle) > 0 }) {
		t.Fatal("no connection waits for a call")
	}
}

// await waits until something is true of the connections.
func (up *Upstream) await(most time.Duration, holds func() bool) bool {
	deadline := time.After(most)
	for {
		up.mu.Lock()
		done := holds()
		up.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-up.changed:
		case <-deadline:
			return false
		}
	}
}

// record keeps the request. It reads all of its body, without which a server does not notice that
// the client goes away.
func (up *Upstream) record(r *http.Request) {
	up.calls.Add(1)
	body, _ := io.ReadAll(r.Body)
	select {
	case up.received <- Received{Path: r.URL.Path, Header: r.Header, Body: string(body)}:
	default:
	}
}

// Head sends a status and headers, given in pairs.
func Head(status int, header ...string) Step {
	return func(_ *Upstream, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		w.WriteHeader(status)
		http.NewResponseController(w).Flush()
	}
}

// Send sends some bytes of the body at once.
func Send(text string) Step {
	return func(_ *Upstream, w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, text)
		http.NewResponseController(w).Flush()
	}
}

// Cut breaks the connection in the middle of the body.
func Cut() Step {
	return func(*Upstream, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
}

// HangUp closes the connection without any answer, or the stream where many share one.
func HangUp() Step {
	return func(*Upstream, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
}

// From takes a step on the n-th call and all after it, and none on those before.
func From(n int64, step Step) Step {
	return func(up *Upstream, w http.ResponseWriter, r *http.Request) {
		if up.calls.Load() >= n {
			step(up, w, r)
		}
	}
}

// Hang does nothing until the client goes away.
func Hang() Step {
	return func(up *Upstream, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			select {
			case up.gone <- struct{}{}:
			default:
			}
		case <-up.closing:
		}
	}
}

// Await waits until the test sends on the channel.
func Await(signal <-chan struct{}) Step {
	return func(up *Upstream, _ http.ResponseWriter, _ *http.Request) {
		select {
		case <-signal:
		case <-up.closing:
		}
	}
}

// Repeat sends the same bytes at an interval until the client goes away.
func Repeat(text string, interval time.Duration) Step {
	return func(up *Upstream, w http.ResponseWriter, r *http.Request) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				Send(text)(up, w, r)
			case <-r.Context().Done():
				return
			case <-up.closing:
				return
			}
		}
	}
}

// request returns the next request that the upstream has seen.
func (up *Upstream) request(t *testing.T) Received {
	t.Helper()
	select {
	case r := <-up.received:
		return r
	case <-time.After(waitLimit):
		t.Fatal("the upstream saw no request")
		return Received{}
	}
}

// mustSeeClientGo waits until a hanging script has lost its client.
func (up *Upstream) mustSeeClientGo(t *testing.T) {
	t.Helper()
	select {
	case <-up.gone:
	case <-time.After(waitLimit):
		t.Error("the connection to the upstream was left open")
	}
}

// plainHead is the head of a plain answer, with the id that Meta must show.
func plainHead() Step {
	return Head(http.StatusOK, "Content-Type", "application/json", "X-Request-Id", upstreamID, "Request-Id", upstreamID)
}

// streamHead is the head of a streamed answer.
func (d Dialect) streamHead() Step {
	return Head(http.StatusOK, "Content-Type", d.streamType(), "X-Request-Id", upstreamID, "Request-Id", upstreamID)
}

// streamType is the content type of streams.
func (d Dialect) streamType() string {
	if d.Framing != nil {
		return d.Framing.Type
	}
	return streamType
}

const (
	upstreamID = "up-4711"
	streamType = "text/event-stream; charset=utf-8"
)

// play is a script that sends whole frames.
func (d Dialect) play(frames []Frame) []Step {
	script := []Step{d.streamHead()}
	for _, f := range frames {
		script = append(script, Send(d.onWire(f.Wire)))
	}
	return script
}

// Package http1 sends POST requests to HTTP/1.1 servers on the goroutine of the caller.
//
// The client of net/http gives every connection two goroutines and hands each call to them and back. Decision 0042 has the
// cost. Here a call writes and reads its connection itself. The package serves model servers in the same network, which speak
// HTTP/1.1 without TLS. With TLS it serves servers that speak HTTP/1.1 only: net/http would take an answer that such a server
// sends unasked for the answer to the next call.
//
// It owns connections: dialling, a bounded pool, the decision whether a connection can be used again, and closing the
// connection of a call whose context ended. It has no timeouts except that of idle connections: the context of a call ends
// the call. It follows no redirects, keeps no cookies, uses no proxy and asks for no compression. net/http parses the
// answers.
//
// Invariants:
//   - A call is sent at most once. It starts over on another connection only if not one byte of it was sent.
//   - The framing of a request is the client's own: a caller's headers cannot change where a request ends.
//   - A connection is used again only after an answer that was read to its end, with nothing after it: not with it, not
//     while the connection rested, and not until the next call is sent. HTTP/1.1 cannot tell which request an answer belongs
//     to, so a server that sends an answer unasked loses its connection before another call can take it. A connection that
//     cannot be checked for unasked bytes is used once; that is so on systems other than Unix.
//   - A connection never changes its protocol: 101 is an error.
//   - Headers and trailers of answers and the pool are bounded. The caller bounds the bodies of answers.
//
// A Client is safe for concurrent use and starts no goroutine for a call. An answer belongs to one goroutine.
package http1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config is how a Client connects. All fields are required.
type Config struct {
	// Dial makes a connection. One with TLS has done its handshake.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxIdle is how many unused connections are kept.
	MaxIdle int
	// IdleTimeout is for how long.
	IdleTimeout time.Duration
	// Rest is how long a connection is left alone after an answer before it is used again: an answer that nobody asked for comes
	// right behind the one before it. A call that finds only such connections makes a new one. 0 for no rest.
	Rest time.Duration
	// MaxHeaderBytes bounds the headers of an answer, give or take a buffer.
	MaxHeaderBytes int64
}

// Client posts to any number of servers.
type Client struct {
	cfg     Config
	pool    pool
	buffers sync.Pool // of *[]byte, for what is sent
	inputs  sync.Pool // of *[inputBytes]byte, for what arrives
}

// New returns a client without connections.
func New(cfg Config) *Client {
	return &Client{
		cfg: cfg, pool: pool{most: cfg.MaxIdle, timeout: cfg.IdleTimeout, rest: cfg.Rest},
		buffers: sync.Pool{New: func() any { return new([]byte) }}, inputs: sync.Pool{New: func() any { return new([inputBytes]byte) }},
	}
}

// CloseIdleConnections closes the connections that no call is using.
func (c *Client) CloseIdleConnections() { c.pool.clear() }

// Request is what is posted.
type Request struct {
	URL    *url.URL
	Header http.Header // without framing headers, which the client sets; see framing
	Body   [][]byte    // in pieces
	Phases Phases
}

// Phases learns how far a call is.
type Phases interface {
	// Connecting is called whenever a new connection is needed.
	Connecting()
	// Connected is called whenever there is a connection: the call is sent next.
	Connected()
	// Waiting is called before the body of the answer is waited for: all that has arrived of it was read. An error ends the answer.
	Waiting() error
}

// Post sends a request and returns when the headers of its answer are there. Until the answer's body is read to its end
// or closed, the end of ctx closes the connection, and with it the answer.
func (c *Client) Post(ctx context.Context, r Request) (*http.Response, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		conn, err := c.connection(ctx, &r)
		if err != nil {
			return nil, err
		}
		r.Phases.Connected()
		resp, err := conn.exchange(ctx, &r)
		if err == nil {
			return resp, nil
		}
		conn.drop()
		// The server may have closed a connection of the pool, or said something unasked.
		if conn.uses == 1 || conn.sent > 0 {
			return nil, err
		}
	}
}

// connection is one from the pool or a new one.
func (c *Client) connection(ctx context.Context, r *Request) (*conn, error) {
	address := r.URL.Host
	if found := c.pool.take(address); found != nil {
		return found, nil
	}
	r.Phases.Connecting()
	dialled := address
	if r.URL.Port() == "" {
		port := "80"
		if r.URL.Scheme == "https" {
			port = "443"
		}
		dialled = net.JoinHostPort(r.URL.Hostname(), port)
	}
	raw, err := c.cfg.Dial(ctx, "tcp", dialled)
	if err != nil {
		return nil, err
	}
	return newConn(raw, address, c), nil
}

// framing are the headers that decide where a request ends, to which host it goes, and what the connection is used for, by the lengths of their
// names. Only the client sets them: with a second opinion in the same request, a server and the client could disagree where it ends.
var framing = func() (by [32][]string) {
	for _, name := range []string{
		"Host", "Content-Length", "Transfer-Encoding", "TE", "Trailer", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "HTTP2-Settings", "Expect",
	} {
		by[len(name)] = append(by[len(name)], name)
	}
	return by
}()

func isFraming(name string) bool {
	if len(name) >= len(framing) {
		return false
	}
	for _, other := range framing[len(name)] {
		if strings.EqualFold(name, other) {
			return true
		}
	}
	return false
}

// check refuses framing headers, and headers that a server would read as further lines of the request.
func (r *Request) check() error {
	for name, values := range r.Header {
		if name == "" || isFraming(name) {
			return fmt.Errorf("http1: the header %q cannot be set by a caller", name)
		}
		if len(values) > 0 && strings.ContainsAny(name, "\r\n\x00: \t") {
			return fmt.Errorf("http1: the header %q cannot be sent", name)
		}
		for _, value := range values {
			if endsLine(value) {
				return fmt.Errorf("http1: the header %q cannot be sent", name)
			}
		}
	}
	return nil
}

// endsLine reports whether a value has a byte that ends it for some server. Values are short, so that a loop over their bytes is faster than
// three searches.
func endsLine(value string) bool {
	for i := range len(value) {
		if c := value[i]; c == '\r' || c == '\n' || c == 0 {
			return true
		}
	}
	return false
}

// Length is how many bytes a body in pieces has.
func Length(pieces [][]byte) (n int64) {
	for _, piece := range pieces {
		n += int64(len(piece))
	}
	return n
}

// appendHead appends all that is sent before the body.
func (r *Request) appendHead(b []byte) []byte {
	b = append(b, "POST "...)
	b = append(b, r.URL.RequestURI()...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.URL.Host...)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, Length(r.Body), 10)
	for name, values := range r.Header {
		for _, value := range values {
			b = append(b, "\r\n"...)
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, value...)
		}
	}
	return append(b, "\r\n\r\n"...)
}

var (
	errHeader   = errors.New("http1: the headers of the answer are too large")
	errInterim  = errors.New("http1: too many interim answers")
	errSwitched = errors.New("http1: the server switched protocols, which no request asked for")
	errTrailer  = errors.New("http1: the answer has too many trailers")
	errUnasked  = errors.New("http1: the server closed the connection or said something unasked")
	errReadLate = errors.New("http1: the answer was closed")
)

package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile is an upstream that attacks its callers. The first segment of a path names the attack.
type hostile struct {
	t       testing.TB
	attacks map[string]func(*hostileConn)
	closing chan struct{}
	once    sync.Once
	all     sync.WaitGroup
}

// hostileConn is a connection on which a request was read.
type hostileConn struct {
	net.Conn
	in      *bufio.Reader
	request *http.Request
	stream  bool // the request asks for a stream
	turn    int  // which request of the connection it is, from 1
	closing <-chan struct{}
}

func newHostile(t testing.TB, attacks map[string]func(*hostileConn)) *hostile {
	h := &hostile{t: t, attacks: attacks, closing: make(chan struct{})}
	t.Cleanup(h.stop)
	return h
}

// stop closes everything, as often as it is called.
func (h *hostile) stop() {
	h.once.Do(func() { close(h.closing) })
	h.all.Wait()
}

// listen serves on a port of its own, with TLS if there is a configuration for it, and returns its URL.
func (h *hostile) listen(config *tls.Config, serve func(net.Conn)) string {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	if config != nil {
		url = "https://" + l.Addr().String()
	}
	h.all.Go(func() {
		<-h.closing
		l.Close()
	})
	h.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if config != nil {
				conn = tls.Server(conn, config)
			}
			h.all.Go(func() { h.keep(conn, serve) })
		}
	})
	return url
}

// keep serves a connection until it or the test ends.
func (h *hostile) keep(conn net.Conn, serve func(net.Conn)) {
	done := make(chan struct{})
	h.all.Go(func() {
		select {
		case <-h.closing:
		case <-done:
		}
		conn.Close()
	})
	serve(conn)
	close(done)
}

// serve1 speaks HTTP/1.1.
func (h *hostile) serve1(conn net.Conn) {
	c := &hostileConn{Conn: conn, in: bufio.NewReader(conn), closing: h.closing}
	for {
		var err error
		if c.request, err = http.ReadRequest(c.in); err != nil {
			return
		}
		body, err := io.ReadAll(c.request.Body)
		if err != nil {
			return
		}
		c.turn++
		c.stream = strings.Contains(string(body), `"stream":true`)
		name := strings.Split(c.request.URL.Path, "/")[1]
		attack := h.attacks[name]
		if attack == nil {
			h.t.Errorf("there is no attack %q", name)
			return
		}
		attack(c)
	}
}

// say sends bytes. Whether they arrive is the victim's affair.
func (c *hostileConn) say(text string) bool {
	_, err := io.WriteString(c.Conn, text)
	return err == nil
}

// forever sends the same bytes until the victim leaves, or the test ends.
func (c *hostileConn) forever(text string) {
	for block := strings.Repeat(text, 1+4096/len(text)); c.say(block); {
	}
	c.Close()
}

// drip sends bytes one by one, a few of them a second, until the victim leaves.
func (c *hostileConn) drip(text string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-c.closing:
			return
		case <-tick.C:
		}
		if !c.say(text[i%len(text) : i%len(text)+1]) {
			return
		}
	}
}

// hang says nothing until the victim leaves.
func (c *hostileConn) hang() {
	_, _ = c.in.ReadByte() // nothing is expected
	c.Close()
}

// reset closes the connection without a farewell.
func (c *hostileConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that the kernel sends RST
	}
	c.Close()
}

const (
	goodText   = "all is fine"
	goodAnswer = `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + goodText +
		`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}}`
	goodChunk  = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"` + goodText + `"},"finish_reason":null}]}` + "\n\n"
	goodFinish = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	goodUsage  = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}}` + "\n\n"
	goodDone   = "data: [DONE]\n\n"
	goodStream = goodChunk + goodFinish + goodUsage + goodDone
)

// body is a good answer as the request wants it, and its type.
func (c *hostileConn) body() (text, contentType string) {
	if c.stream {
		return goodStream, "text/event-stream"
	}
	return goodAnswer, "application/json"
}

// answer is a good answer with further header lines, each with its end.
func (c *hostileConn) answer(headers string) string {
	text, contentType := c.body()
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s", contentType, headers, len(text), text)
}

// head is a good head without an end, for attacks in the body.
func (c *hostileConn) head(headers string) string {
	_, contentType := c.body()
	return "HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\n" + headers + "\r\n"
}

// chunked is a body in one chunk, with its end.
func chunked(text string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(text), text) }

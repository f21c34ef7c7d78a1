package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Bounds of a stream.
const (
	// MaxLineBytes is the longest line of a stream, which is one result or one event.
	MaxLineBytes = 64 << 20
	// IdleTimeout is how long a stream may be silent before its connection counts as broken. A server
	// with nothing to say sends a comment every 15 seconds.
	IdleTimeout = 45 * time.Second
)

var errIdle = fmt.Errorf("nothing was received for %v", IdleTimeout)

// stream is a streamed answer, read line by line.
type stream struct {
	client *Client
	lines  *bufio.Reader
	line   []byte // the current one
	body   io.Closer
	header http.Header
	idle   *time.Timer
	cause  func() error // why the connection was cut, nil while it was not
	cancel context.CancelCauseFunc
}

// open makes a call once and returns its answer as a stream, which the caller closes.
func (c *Client) open(ctx context.Context, call call) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{
		client: c, cancel: cancel, cause: func() error { return context.Cause(ctx) },
		idle: time.AfterFunc(IdleTimeout, func() { cancel(errIdle) }),
	}
	resp, err := c.send(ctx, call)
	s.idle.Stop()
	if err != nil {
		err = s.reason(err)
		cancel(nil)
		return nil, err
	}
	s.body, s.header = resp.Body, resp.Header
	s.lines = bufio.NewReader(watched{resp.Body, s.idle})
	return s, nil
}

// reason puts the silence that made us cut a connection in the place of what the cut looks like.
func (s *stream) reason(err error) error {
	if errors.Is(s.cause(), errIdle) {
		return s.client.unreachable("reading the answer of", errIdle)
	}
	return err
}

// next returns the next line. io.EOF is a stream that ended after a whole line; what a broken connection
// leaves behind is no line. The line is valid until the next call.
func (s *stream) next() ([]byte, error) {
	s.line = s.line[:0]
	for {
		part, err := s.lines.ReadSlice('\n')
		s.line = append(s.line, part...)
		switch {
		case len(s.line) > MaxLineBytes:
			return nil, fmt.Errorf("a line of the answer is longer than %d bytes", MaxLineBytes)
		case err == nil:
			return bytes.TrimSuffix(s.line[:len(s.line)-1], []byte("\r")), nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(s.line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		}
		return nil, s.reason(s.client.unreachable("reading the answer of", err))
	}
}

func (s *stream) close() {
	s.idle.Stop()
	s.cancel(nil)
	_ = s.body.Close() // nothing more is wanted of it
}

// watched runs a timer while a read waits, and only then: a slow consumer is not a silent server.
type watched struct {
	io.Reader
	timer *time.Timer
}

func (w watched) Read(p []byte) (int, error) {
	w.timer.Reset(IdleTimeout)
	defer w.timer.Stop()
	return w.Reader.Read(p)
}

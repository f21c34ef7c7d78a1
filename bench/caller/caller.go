// Package caller makes HTTP calls over one connection. It knows as much of HTTP/1.1 as the servers that are measured speak: a
// generator that costs as much as the server would measure itself.
package caller

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"time"
)

// Client is one connection to a server, which is kept open between calls. It is not safe for concurrent use.
type Client struct {
	Address string // host and port
	Request []byte // the call, as Post renders it
	conn    net.Conn
	in      *bufio.Reader
}

// Target is where a call goes.
type Target struct{ Address, Path, Key string }

// Post renders a call.
func Post(to Target, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", to.Path, to.Address, to.Key, len(body))
	return append([]byte(head), body...)
}

// answerTimeout bounds a call: a server that hangs is a failure and not a pause.
const answerTimeout = 2 * time.Minute

// Call makes one call. It returns the time at which the first byte of the answer's body came.
func (c *Client) Call() (first time.Time, err error) {
	if err = c.Send(); err == nil {
		first, err = c.Answer(nil)
	}
	if err != nil {
		c.Close()
	}
	return first, err
}

// Send writes the request, on a new connection if there is none.
func (c *Client) Send() (err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.Address); err != nil {
			return err
		}
		c.in = bufio.NewReaderSize(c.conn, 4<<10)
	}
	if err := c.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	_, err = c.conn.Write(c.Request)
	return err
}

// Close closes the connection, if there is one.
func (c *Client) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// Answer reads one answer to its end. begun, if there is one, is called when the first byte of its body is there.
func (c *Client) Answer(begun func()) (first time.Time, err error) {
	status, length, err := c.head()
	if err != nil {
		return first, err
	}
	if status/100 != 2 {
		text, _ := c.in.Peek(min(c.in.Buffered(), 300))
		return first, fmt.Errorf("answered with status %d: %s", status, text)
	}
	if _, err := c.in.Peek(1); err != nil {
		return first, err
	}
	first = time.Now()
	if begun != nil {
		begun()
	}
	if length >= 0 {
		_, err = c.in.Discard(length)
		return first, err
	}
	return first, c.chunks()
}

// head reads the status and, of the headers, how long the body is: -1 when it comes in chunks.
func (c *Client) head() (status, length int, err error) {
	line, err := c.line()
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, fmt.Errorf("not HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	length = -1
	for {
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return status, length, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if len(name) == len("Content-Length") && textproto.CanonicalMIMEHeaderKey(string(name)) == "Content-Length" {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, 0, err
			}
		}
	}
}

// chunks reads a body that comes in chunks.
func (c *Client) chunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return err
		}
		if size == 0 {
			return c.trailers()
		}
		if _, err := c.in.Discard(int(size) + len("\r\n")); err != nil {
			return err
		}
	}
}

// trailers reads to the empty line behind the last chunk.
func (c *Client) trailers() error {
	for {
		if line, err := c.line(); err != nil || len(line) == 0 {
			return err
		}
	}
}

func (c *Client) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return bytes.TrimRight(line, "\r\n"), err
}

package http1

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// recited is a connection on which a server says the same whatever it is asked.
type recited struct {
	net.Conn // nil: whatever is not here is not called
	said     *bytes.Reader
}

func (s *recited) Read(p []byte) (int, error)      { return s.said.Read(p) }
func (s *recited) Write(p []byte) (int, error)     { return len(p), nil }
func (s *recited) Close() error                    { return nil }
func (s *recited) SetReadDeadline(time.Time) error { return nil }

const fuzzedHeader = 4 << 10

// FuzzAnswer lets a server say anything. An answer is what package net/http reads of the same bytes, within the bound of
// headers, and a connection with anything left on it is never used again.
func FuzzAnswer(f *testing.F) {
	for _, said := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
		"HTTP/1.1 101 Switching Protocols\r\n\r\nx", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nffffffffffffffff\r\n",
	} {
		f.Add([]byte(said))
	}
	to := &url.URL{Scheme: "http", Host: "upstream", Path: "/v1"}
	f.Fuzz(func(t *testing.T, said []byte) {
		dialled := 0
		client := New(Config{MaxIdle: 2, IdleTimeout: time.Minute, MaxHeaderBytes: fuzzedHeader, Dial: func(context.Context, string, string) (net.Conn, error) {
			dialled++
			return &recited{said: bytes.NewReader(said)}, nil
		}})
		defer client.CloseIdleConnections()
		post := func() (status int, body []byte, err error) {
			answer, err := client.Post(t.Context(), Request{URL: to, Header: http.Header{}, Body: [][]byte{[]byte("{}")}, Phases: phases{}})
			if err != nil {
				return 0, nil, err
			}
			defer answer.Body.Close()
			body, err = io.ReadAll(answer.Body)
			return answer.StatusCode, body, err
		}
		status, body, err := post()
		if want, wantBody, ok := reference(said); err == nil && ok && (status != want || !bytes.Equal(body, wantBody)) {
			t.Errorf("read %d %q, net/http reads %d %q", status, body, want, wantBody)
		}
		if left := len(said) > 0 && err == nil && leftOver(said); left {
			if _, _, _ = post(); dialled < 2 {
				t.Error("a connection with something left on it was used again")
			}
		}
	})
}

// reference is the final answer as net/http reads it; ok is false without one.
func reference(said []byte) (status int, body []byte, ok bool) {
	in := bufio.NewReader(bytes.NewReader(said))
	for {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return 0, nil, false
		}
		if answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols {
			body, err := io.ReadAll(answer.Body)
			return answer.StatusCode, body, err == nil
		}
	}
}

// leftOver reports whether bytes follow the final answer.
func leftOver(said []byte) bool {
	in := bufio.NewReader(bytes.NewReader(said))
	for {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return false
		}
		if answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols {
			_, err := io.Copy(io.Discard, answer.Body)
			_, more := in.Peek(1)
			return err == nil && more == nil
		}
	}
}

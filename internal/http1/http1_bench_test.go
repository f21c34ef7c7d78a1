//go:build unix

package http1

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkClients compares a call with one by the client of net/http, for answers as models give them: 1 KiB, and a stream of 40
// chunks. The server does next to nothing, so nearly all of the time is the client's.
//
//	go test ./internal/http1 -run NONE -bench Clients -count 6
func BenchmarkClients(b *testing.B) {
	chunk := "100\r\n" + strings.Repeat("x", 256) + "\r\n"
	answers := map[string]string{
		"plain":  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1024\r\n\r\n" + strings.Repeat("x", 1024),
		"stream": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk, 40) + "0\r\n\r\n",
	}
	body := bytes.Repeat([]byte("x"), 1024)
	for _, kind := range []string{"plain", "stream"} {
		to := &url.URL{Scheme: "http", Host: canned(b, answers[kind], len(body)), Path: "/v1/chat/completions"}
		own := New(Config{Dial: new(net.Dialer).DialContext, MaxIdle: 512, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10})
		b.Cleanup(own.CloseIdleConnections)
		b.Run(kind+"/http1", func(b *testing.B) {
			measureCalls(b, func() (*http.Response, error) {
				return own.Post(b.Context(), Request{URL: to, Header: benchHeader(), Body: [][]byte{body}, Phases: phases{}})
			})
		})
		transport := &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}
		b.Cleanup(transport.CloseIdleConnections)
		b.Run(kind+"/nethttp", func(b *testing.B) {
			measureCalls(b, func() (*http.Response, error) {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, to.String(), bytes.NewReader(body))
				if err != nil {
					return nil, err
				}
				req.Header = benchHeader()
				return transport.RoundTrip(req)
			})
		})
	}
}

func benchHeader() http.Header {
	return http.Header{"Authorization": {"Bearer none"}, "Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"bench"}}
}

// measureCalls makes calls from 32 goroutines for each processor and reports the processor time of a call.
func measureCalls(b *testing.B, call func() (*http.Response, error)) {
	b.SetParallelism(32)
	b.ReportAllocs()
	before := processorTime()
	b.RunParallel(func(pb *testing.PB) {
		buffer := make([]byte, 4<<10)
		for pb.Next() {
			resp, err := call()
			if err != nil {
				b.Error(err)
				return
			}
			for err == nil {
				_, err = resp.Body.Read(buffer)
			}
			if err != io.EOF {
				b.Error(err)
			}
			_ = resp.Body.Close()
		}
	})
	b.ReportMetric(float64((processorTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// canned serves one answer to every request, whose body has a known length.
func canned(b *testing.B, text string, length int) string {
	answer := []byte(text)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					line, err := in.ReadSlice('\n')
					if err != nil {
						return
					}
					if len(line) > len("\r\n") {
						continue
					}
					if _, err := in.Discard(length); err != nil {
						return
					}
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

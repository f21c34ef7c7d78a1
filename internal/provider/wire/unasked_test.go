package wire

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

const stolenAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 6\r\n\r\nstolen"

// talkative is a server that sends a second answer behind every answer, with TLS or without.
func talkative(t *testing.T, scheme string) (url string, roots *x509.CertPool, calls *atomic.Int64) {
	t.Helper()
	certified := httptest.NewTLSServer(http.NotFoundHandler()) // only for its certificate
	defer certified.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if scheme == "https" {
		listener = tls.NewListener(listener, &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"http/1.1"}})
	}
	roots = x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	t.Cleanup(func() { _ = listener.Close() })
	calls = new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					text, _ := io.ReadAll(req.Body)
					calls.Add(1)
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s", len(text), text, stolenAnswer)
				}
			}()
		}
	}()
	return scheme + "://" + listener.Addr().String(), roots, calls
}

// An unrequested answer reaches no caller, however busy its connection is.
func TestUnaskedAnswersReachNobody(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			url, roots, calls := talkative(t, scheme)
			client := newClient(t, Config{BaseURL: url, RootCAs: roots})
			var wrong atomic.Int64
			var all sync.WaitGroup
			for who := range 16 {
				all.Go(func() {
					for n := range 25 {
						call := plainCall()
						text := fmt.Sprintf(`"%d-%d"`, who, n)
						call.Body = []byte(text)
						r := request(call)
						answer, err := client.Call(t.Context(), call, r)
						if err != nil {
							continue // it may cost a call its connection, but never brings it another answer
						}
						chunk, _ := answer.Next()
						if string(chunk.Wire) != text {
							wrong.Add(1)
						}
						answer.Close()
					}
				})
			}
			all.Wait()
			if wrong.Load() > 0 || calls.Load() == 0 {
				t.Errorf("%d of %d calls got another answer", wrong.Load(), calls.Load())
			}
		})
	}
}

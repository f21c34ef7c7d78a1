package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// A stream that waits for more holds none of the memory that it was read into.
func TestWaitingConnectionsHoldNoBuffer(t *testing.T) {
	t.Parallel()
	r := echo(t, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			fmt.Fprint(w, "said")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
	resp, err := r.post(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(io.LimitReader(resp.Body, 12)); string(text) != "saidsaidsaid" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	if held := resp.Body.(*body).conn.input.buffer; held != nil {
		t.Error("a buffer is held while nothing is there")
	}
}

// However large an answer is and in whatever pieces it is read, it is read whole, also from a connection that has no
// file which could be waited for.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcde\n", 5*inputBytes/16)
	chunked := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n3\r\nend\r\n0\r\nX-Trailer: 1\r\n\r\n", len(long), long)
	for name, answer := range map[string]string{
		"chunks": chunked, "length": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%send", len(long)+3, long),
	} {
		for _, file := range []bool{true, false} {
			r := scripted(t, answer, answer)
			if dial := r.cfg.Dial; !file {
				r.cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := dial(ctx, network, address)
					return struct{ net.Conn }{conn}, err
				}
			}
			for _, slowly := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
				resp, err := r.post(t.Context(), "x")
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(slowly(resp.Body))
				if string(text) != long+"end" || err != nil {
					t.Errorf("%s, with a file %t: %d bytes, %v, want %d", name, file, len(text), err, len(long)+3)
				}
			}
			want := int64(1)
			if !file { // it cannot be checked for unasked bytes, and is used once
				want = 2
			}
			if n := r.dials.Load(); n != want {
				t.Errorf("%s, with a file %t: %d connections, want %d", name, file, n, want)
			}
		}
	}
}

// A call announces that it waits for its answer when all that has arrived was read, and not before. An error of the announcement ends
// the answer.
func TestWaitingIsAnnounced(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	r := echo(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			fmt.Fprint(w, "said")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	resp, err := r.postWaiting(t.Context(), func() error { next <- struct{}{}; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); string(text) != "saidsaidsaid" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	whole := scripted(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsaid\r\n0\r\n\r\n")
	resp, err = whole.postWaiting(t.Context(), func() error { return errors.New("it waits for what is there") })
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); string(text) != "said" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	refused := errors.New("nobody waits")
	resp, err = scripted(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsaid").postWaiting(t.Context(), func() error { return refused })
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); string(text) != "said" || !errors.Is(err, refused) {
		t.Errorf("%q, %v", text, err)
	}
}

func (r *rig) postWaiting(ctx context.Context, waiting func() error) (*http.Response, error) {
	return r.Post(ctx, Request{URL: r.url, Body: [][]byte{[]byte("x")}, Phases: phases{waiting}})
}

package wire

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"penstock/internal/body"
)

func TestUploadIsReadInAnyPieces(t *testing.T) {
	t.Parallel()
	for _, pieces := range []body.Pieces{nil, {nil}, {[]byte("one")}, {[]byte("one"), nil, []byte("two"), []byte("")}} {
		u := upload{pieces: pieces}
		want := ""
		for _, p := range pieces {
			want += string(p)
		}
		for range 2 { // a connection that turned out to be dead
			if err := iotest.TestReader(u.open(), []byte(want)); err != nil {
				t.Errorf("%q: %v", pieces, err)
			}
		}
		if u.isClosed() {
			t.Errorf("%q may be opened again, and is closed", pieces)
		}
		if u.answered(); !u.isClosed() {
			t.Errorf("%q was read and answered, and is not closed", pieces)
		}
	}
}

func TestUploadEndsItsReaders(t *testing.T) {
	t.Parallel()
	u := upload{pieces: body.Pieces{[]byte("one"), []byte("two")}}
	reader := u.open()
	if _, err := reader.Read(make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	if u.answered(); u.isClosed() {
		t.Error("it is closed although a reader has not read all of it")
	}
	u.close()
	if n, err := reader.Read(make([]byte, 2)); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("read %d bytes of a closed upload, %v", n, err)
	}
	if _, err := u.reopen(); err == nil {
		t.Error("a closed upload was opened again")
	}
}

// The memory of a request belongs to other calls once its answer is closed, also when the server answered before it had read the
// request. The race detector sees a transport that still reads it.
func TestClosedAnswerReadsNoRequest(t *testing.T) {
	t.Parallel()
	p := http2Client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength%2 == 0 {
			_, _ = io.CopyN(io.Discard, r.Body, 100<<10)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "early")
	})
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			text := []byte(strings.Repeat("x", 2<<20+who)) // more than the windows of HTTP/2 let through
			for range 4 {
				call := plainCall()
				call.Body = text
				answer, err := p.Call(t.Context(), call, request(call))
				if err == nil {
					err = answer.Close()
				}
				if err != nil {
					t.Error(err)
				}
				for i := 0; i < len(text); i += 64 {
					text[i]++
				}
			}
		})
	}
	all.Wait()
}

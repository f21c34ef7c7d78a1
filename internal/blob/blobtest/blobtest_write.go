package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"penstock/internal/blob"
)

func testOneWriterWins(t *testing.T, store blob.Store) {
	const writers = 8
	name := blob.NewName()
	var wins atomic.Int32
	var winner atomic.Value // of []byte
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			content := bytes.Repeat([]byte{byte('a' + i)}, 100_000)
			_, err := store.Put(t.Context(), name, bytes.NewReader(content))
			switch {
			case err == nil:
				wins.Add(1)
				winner.Store(content)
			case !errors.Is(err, blob.ErrExists):
				t.Errorf("Put returned %v, want nil or ErrExists", err)
			}
		})
	}
	group.Wait()
	if wins.Load() != 1 {
		t.Fatalf("%d of %d writers of one name succeeded, want 1", wins.Load(), writers)
	}
	if got, err := read(t, store, name); err != nil || !bytes.Equal(got, winner.Load().([]byte)) {
		t.Errorf("the blob is not the winner's: %d bytes, %v", len(got), err)
	}
}

// testInvisibleUntilWhole looks for the blob from within its own Put, between any two chunks and after the
// last one.
func testInvisibleUntilWhole(t *testing.T, store blob.Store) {
	name := blob.NewName()
	source := &pattern{n: 200_000}
	soon := time.Now().Add(time.Hour)
	looks := 0
	peek := readerFunc(func(p []byte) (int, error) {
		looks++
		if _, err := read(t, store, name); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Open after %d of %d bytes: %v, want ErrNotFound", source.at, source.n, err)
		}
		// Not everything(): an adapter may read its source in a goroutine, where t.Fatal is of no use.
		listed, err := store.List(t.Context(), blob.Query{OlderThan: soon, Limit: 1})
		if err != nil || len(listed) != 0 {
			t.Errorf("List after %d of %d bytes shows %+v, %v", source.at, source.n, listed, err)
		}
		return source.Read(p[:min(len(p), 50_000)])
	})
	if _, err := store.Put(t.Context(), name, peek); err != nil {
		t.Fatal(err)
	}
	if looks < 5 {
		t.Fatalf("the source was read %d times, too few to prove anything", looks)
	}
	if got, err := read(t, store, name); err != nil || int64(len(got)) != source.n {
		t.Errorf("after Put: %d bytes, %v; want %d", len(got), err, source.n)
	}
}

func testReadersNeverSeeAPart(t *testing.T, store blob.Store) {
	const rounds, readers = 10, 4
	content := bytes.Repeat([]byte("penstock"), 40_000)
	for range rounds {
		name := blob.NewName()
		done := make(chan struct{})
		var group sync.WaitGroup
		for range readers {
			group.Go(func() {
				for last := false; !last; {
					select {
					case <-done:
						last = true // the blob must be there now
					default:
					}
					got, err := read(t, store, name)
					if errors.Is(err, blob.ErrNotFound) && !last {
						continue
					}
					if err != nil || !bytes.Equal(got, content) {
						t.Errorf("a reader saw %d of %d bytes, %v (Put done: %v)", len(got), len(content), err, last)
						return
					}
				}
			})
		}
		if _, err := store.Put(t.Context(), name, iotest.HalfReader(bytes.NewReader(content))); err != nil {
			t.Error(err)
		}
		close(done)
		group.Wait()
	}
}

func testReaderError(t *testing.T, store blob.Store) {
	broken := errors.New("source broke")
	for _, n := range []int64{0, 1, 100_000} {
		name := blob.NewName()
		size, err := store.Put(t.Context(), name, io.MultiReader(&pattern{n: n}, iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || size != 0 {
			t.Errorf("after %d bytes Put returned %d, %v; want the source's error", n, size, err)
		}
		wantNothing(t, store, name)
		if err := store.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}

func testCancelled(t *testing.T, store blob.Store) {
	kept, name := mustPut(t, store, []byte("kept")), blob.NewName()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func() error{
		"Put":    func() error { _, err := store.Put(ctx, name, bytes.NewReader([]byte("x"))); return err },
		"Open":   func() error { _, err := store.Open(ctx, kept); return err },
		"Delete": func() error { return store.Delete(ctx, kept) },
		"List":   func() error { _, err := store.List(ctx, blob.Query{Limit: 1}); return err },
		"Check":  func() error { return store.Check(ctx) },
	}
	for method, call := range calls {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s returned %v, want context.Canceled", method, err)
		}
	}
	if left := everything(t, store); len(left) != 1 || left[0].Name != kept {
		t.Errorf("left: %+v, want %s alone", left, kept)
	}
}

func testCancelledWhileWriting(t *testing.T, store blob.Store) {
	const endless = 1 << 40 // a Put that ignores its context does not get away with it
	name := blob.NewName()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source := &pattern{n: endless}
	_, err := store.Put(ctx, name, readerFunc(func(p []byte) (int, error) {
		if source.at > 100_000 {
			cancel()
		}
		if source.at > 2*largeBytes {
			return 0, errors.New("read on long after the context was done")
		}
		return source.Read(p)
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Put returned %v, want context.Canceled", err)
	}
	wantNothing(t, store, name)
}

func testNamesRejected(t *testing.T, store blob.Store) {
	good := blob.NewName()
	names := map[string]string{
		"empty":        "",
		"dot":          ".",
		"parent":       "..",
		"short":        good[:31],
		"long":         good + "0",
		"upper case":   "ABCDEF" + good[6:],
		"not hex":      "ghijkl" + good[6:],
		"traversal":    "../" + good[3:],
		"deep":         "ab/../../../../../../etc/passwd0",
		"slash":        good[:16] + "/" + good[17:],
		"backslash":    good[:16] + `\` + good[17:],
		"absolute":     "/" + good[1:],
		"zero byte":    good[:31] + "\x00",
		"new line":     good[:31] + "\n",
		"blank":        " " + good[1:],
		"wide digits":  "０１２３４５６７８９" + good[30:],
		"percent":      "%2e%2e%2f" + good[9:],
		"staging area": "tmp",
	}
	for kind, name := range names {
		read := false
		source := readerFunc(func([]byte) (int, error) { read = true; return 0, io.EOF })
		if _, err := store.Put(t.Context(), name, source); !errors.Is(err, blob.ErrInvalidName) || read {
			t.Errorf("%s: Put returned %v (source read: %v), want ErrInvalidName", kind, err, read)
		}
		if _, err := store.Open(t.Context(), name); !errors.Is(err, blob.ErrInvalidName) {
			t.Errorf("%s: Open returned %v, want ErrInvalidName", kind, err)
		}
		if err := store.Delete(t.Context(), name); !errors.Is(err, blob.ErrInvalidName) {
			t.Errorf("%s: Delete returned %v, want ErrInvalidName", kind, err)
		}
	}
	wantNothing(t, store, good)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

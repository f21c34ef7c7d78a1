// Package blobtest is the conformance suite of blob.Store. Every adapter passes it unchanged, so that one
// can take the place of another.
//
// It owns the promises that can be seen from outside a store. What needs a look inside, such as the order of
// syncs on a disk, each adapter tests itself.
package blobtest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"testing"
	"time"

	"penstock/internal/blob"
)

const (
	largeBytes = 8 << 20
	// maxStreamAlloc is what streaming largeBytes may allocate: one part of a multipart upload
	// (5 MiB is the least that S3 takes), but not for the whole.
	maxStreamAlloc = 6 << 20
)

// Run tests the stores that open returns: a new and empty one at each call, which open also cleans up. The
// test that calls it must not be parallel, because one part of the suite measures memory.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	// Alone, before the parallel ones begin, since allocations are counted for the whole process.
	t.Run("streams with bounded memory", func(t *testing.T) { testStreaming(t, open(t)) })

	tests := []struct {
		name string
		test func(*testing.T, blob.Store)
	}{
		{"round trip", testRoundTrip},
		{"ranges", testRanges},
		{"not found", testNotFound},
		{"overwrite refused", testOverwriteRefused},
		{"one of many writers wins", testOneWriterWins},
		{"invisible until whole", testInvisibleUntilWhole},
		{"readers never see a part", testReadersNeverSeeAPart},
		{"reader error leaves nothing", testReaderError},
		{"cancelled context", testCancelled},
		{"cancelled while writing", testCancelledWhileWriting},
		{"delete is idempotent", testDelete},
		{"list pages", testListPages},
		{"list filters by age", testListAge},
		{"list refuses bad queries", testListBadQueries},
		{"names rejected", testNamesRejected},
		{"check leaves nothing", testCheck},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.test(t, open(t))
		})
	}
}

func mustPut(t *testing.T, store blob.Store, content []byte) (name string) {
	t.Helper()
	name = blob.NewName()
	size, err := store.Put(t.Context(), name, bytes.NewReader(content))
	if err != nil || size != int64(len(content)) {
		t.Fatalf("Put returned %d, %v; want %d", size, err, len(content))
	}
	return name
}

func read(t *testing.T, store blob.Store, name string) ([]byte, error) {
	t.Helper()
	reader, err := store.Open(t.Context(), name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

// everything returns all blobs, however young.
func everything(t *testing.T, store blob.Store) []blob.Info {
	t.Helper()
	query := blob.Query{OlderThan: time.Now().Add(time.Hour), Limit: blob.MaxListLimit}
	page, err := store.List(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// wantNothing fails unless the store is empty and name is free.
func wantNothing(t *testing.T, store blob.Store, name string) {
	t.Helper()
	if content, err := read(t, store, name); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open returned %d bytes, %v; want ErrNotFound", len(content), err)
	}
	if left := everything(t, store); len(left) != 0 {
		t.Errorf("left behind: %+v", left)
	}
	if _, err := store.Put(t.Context(), name, bytes.NewReader(nil)); err != nil {
		t.Errorf("the name cannot be used afterwards: %v", err)
	}
}

// pattern yields n bytes that differ from place to place, without holding them.
type pattern struct {
	at, n int64
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.at == p.n {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), p.n-p.at)]
	for i := range b {
		b[i] = patternByte(p.at + int64(i))
	}
	p.at += int64(len(b))
	return len(b), nil
}

func patternByte(at int64) byte { return byte(at ^ at>>8 ^ at>>16) }

// patternCheck counts the bytes written to it and remembers whether all were those of a pattern.
type patternCheck struct {
	at    int64
	wrong bool
}

func (c *patternCheck) Write(b []byte) (int, error) {
	for i := range b {
		c.wrong = c.wrong || b[i] != patternByte(c.at+int64(i))
	}
	c.at += int64(len(b))
	return len(b), nil
}

func testStreaming(t *testing.T, store blob.Store) {
	name := blob.NewName()
	before := totalAlloc()
	size, err := store.Put(t.Context(), name, &pattern{n: largeBytes})
	if err != nil || size != largeBytes {
		t.Fatalf("Put returned %d, %v; want %d", size, err, largeBytes)
	}
	written := totalAlloc()
	reader, err := store.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var check patternCheck
	if _, err := io.Copy(&check, reader); err != nil || check.at != largeBytes || check.wrong {
		t.Errorf("read %d bytes, wrong: %v, %v; want the %d that were put", check.at, check.wrong, err, largeBytes)
	}
	if n := written - before; n > maxStreamAlloc {
		t.Errorf("Put of %d bytes allocated %d", largeBytes, n)
	}
	if n := totalAlloc() - written; n > maxStreamAlloc {
		t.Errorf("reading %d bytes allocated %d", largeBytes, n)
	}
}

func totalAlloc() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

func testRoundTrip(t *testing.T, store blob.Store) {
	sizes := map[string]int{} // by name
	for _, size := range []int{0, 1, 32 << 10, 32<<10 + 1, 300_000} {
		content := make([]byte, size)
		if _, err := io.ReadFull(&pattern{n: int64(size)}, content); err != nil {
			t.Fatal(err)
		}
		name := mustPut(t, store, content)
		sizes[name] = size
		for range 2 { // reading does not use it up
			if got, err := read(t, store, name); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes: read %d, %v", size, len(got), err)
			}
		}
	}
	listed := everything(t, store)
	if len(listed) != len(sizes) {
		t.Errorf("List shows %d blobs, want %d", len(listed), len(sizes))
	}
	for _, info := range listed {
		if size, ok := sizes[info.Name]; !ok || info.Size != int64(size) {
			t.Errorf("List shows %+v, want size %d", info, size)
		}
	}
}

func testRanges(t *testing.T, store blob.Store) {
	const size = 100_000
	content := make([]byte, size)
	if _, err := io.ReadFull(&pattern{n: size}, content); err != nil {
		t.Fatal(err)
	}
	name, empty := mustPut(t, store, content), mustPut(t, store, nil)
	for _, test := range []struct {
		name string
		part blob.Range
		want []byte
	}{
		{name, blob.Range{Offset: 0, Length: 1}, content[:1]},
		{name, blob.Range{Offset: 0, Length: size}, content},
		{name, blob.Range{Offset: 4097, Length: 60_000}, content[4097:64_097]},
		{name, blob.Range{Offset: size - 1, Length: 1}, content[size-1:]},
		{name, blob.Range{Offset: size - 10, Length: 1 << 40}, content[size-10:]},
		{name, blob.Range{Offset: size, Length: 1}, nil},
		{name, blob.Range{Offset: 2 * size, Length: 5}, nil},
		{empty, blob.Range{Offset: 0, Length: 5}, nil},
	} {
		got, err := readRange(t, store, test.name, test.part)
		if err != nil || !bytes.Equal(got, test.want) {
			t.Errorf("%+v: read %d bytes, %v; want %d", test.part, len(got), err, len(test.want))
		}
	}
	if _, err := readRange(t, store, blob.NewName(), blob.Range{Length: 1}); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("range of a blob that never was: %v, want ErrNotFound", err)
	}
	for _, bad := range []blob.Range{{}, {Offset: -1, Length: 1}, {Length: -1}, {Offset: math.MaxInt64, Length: 1}} {
		if _, err := readRange(t, store, name, bad); !errors.Is(err, blob.ErrInvalidRange) {
			t.Errorf("%+v: %v, want ErrInvalidRange", bad, err)
		}
	}
	if _, err := readRange(t, store, "..", blob.Range{Length: 1}); !errors.Is(err, blob.ErrInvalidName) {
		t.Errorf("range of a bad name: %v, want ErrInvalidName", err)
	}
}

func readRange(t *testing.T, store blob.Store, name string, r blob.Range) ([]byte, error) {
	t.Helper()
	reader, err := store.OpenRange(t.Context(), name, r)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

func testNotFound(t *testing.T, store blob.Store) {
	if _, err := read(t, store, blob.NewName()); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func testOverwriteRefused(t *testing.T, store blob.Store) {
	name := mustPut(t, store, []byte("first"))
	for _, content := range []string{"second", "first", ""} {
		if _, err := store.Put(t.Context(), name, bytes.NewReader([]byte(content))); !errors.Is(err, blob.ErrExists) {
			t.Errorf("Put of %q over a blob returned %v, want ErrExists", content, err)
		}
	}
	if got, err := read(t, store, name); err != nil || string(got) != "first" {
		t.Errorf("the blob is now %q, %v", got, err)
	}
	if left := everything(t, store); len(left) != 1 {
		t.Errorf("refused blobs were left behind: %+v", left)
	}
}

func testDelete(t *testing.T, store blob.Store) {
	kept, name := mustPut(t, store, []byte("kept")), mustPut(t, store, []byte("gone"))
	for range 2 {
		if err := store.Delete(t.Context(), name); err != nil {
			t.Errorf("Delete returned %v", err)
		}
		if _, err := read(t, store, name); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("after Delete: %v, want ErrNotFound", err)
		}
	}
	if err := store.Delete(t.Context(), blob.NewName()); err != nil {
		t.Errorf("Delete of a blob that never was returned %v", err)
	}
	if left := everything(t, store); len(left) != 1 || left[0].Name != kept {
		t.Errorf("left: %+v, want %s alone", left, kept)
	}
}

func testCheck(t *testing.T, store blob.Store) {
	kept := mustPut(t, store, []byte("kept"))
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("Check returned %v", err)
	}
	if left := everything(t, store); len(left) != 1 || left[0].Name != kept {
		t.Errorf("Check left %+v, want %s alone", left, kept)
	}
}

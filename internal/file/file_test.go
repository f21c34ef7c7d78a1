package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
)

const tenant penstock.TenantID = "acme"

var usual = Limits{MaxBytes: 64 << 20, MaxLineBytes: 8 << 20, MaxJSONDepth: 64}

// rows keeps files in memory.
type rows struct {
	store.Files
	mu    sync.Mutex
	files map[penstock.ID]store.File
}

func (r *rows) CreateFile(_ context.Context, tenant penstock.TenantID, f store.File) (store.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.Tenant, f.CreatedAt = tenant, time.Now()
	r.files[f.ID] = f
	return f, nil
}

func (r *rows) File(_ context.Context, tenant penstock.TenantID, id penstock.ID) (store.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.files[id]
	if !ok || f.Tenant != tenant {
		return store.File{}, penstock.Errorf(penstock.CodeNotFound, "There is no such file.")
	}
	return f, nil
}

func newKeeper(t testing.TB) *Service {
	t.Helper()
	root := t.TempDir()
	keys, err := payload.LoadOrCreate(filepath.Join(root, "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.New(filepath.Join(root, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(Deps{Files: &rows{files: map[penstock.ID]store.File{}}, Blobs: blobs, Codec: codec, Clock: time.Now,
		Windows: func(penstock.TenantID) penstock.Retention { return penstock.Retention{Files: time.Hour} }})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// receive makes a file of a text.
func receive(t testing.TB, k *Service, text string) store.File {
	t.Helper()
	f, err := k.Receive(t.Context(), tenant, strings.NewReader(text), usual)
	if err != nil {
		t.Fatal(err)
	}
	return keep(t, k, f)
}

func keep(t testing.TB, k *Service, f store.File) store.File {
	t.Helper()
	f, err := k.Keep(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t testing.TB, k *Service, f store.File) *Reader {
	t.Helper()
	r, err := k.Open(t.Context(), tenant, f.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func request(n int) string {
	return fmt.Sprintf(`{"custom_id":"row-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"question %d"}]}}`, n, n)
}

// TestAnyPlace holds that whatever was written is read back byte by byte, from any offset and any line, wherever
// chunks happen to end.
func TestAnyPlace(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		for range rapid.IntRange(0, 6).Draw(t, "blocks") {
			size := rapid.SampledFrom([]int{0, 1, 100, readBuffer - 1, readBuffer, ChunkBytes - 1, ChunkBytes, ChunkBytes + 7}).Draw(t, "size")
			for range rapid.SampledFrom([]int{1, 2, ChunkLines - 1, ChunkLines, ChunkLines + 1}).Draw(t, "times") {
				if text.Len() > 8<<20 {
					break
				}
				text.Write(bytes.Repeat([]byte{'x'}, size))
				text.WriteByte('\n')
			}
		}
		text.WriteString(rapid.SampledFrom([]string{"", "end", "\n"}).Draw(t, "tail"))
		content := text.Bytes()
		f, err := k.Write(context.Background(), tenant, iotest.HalfReader(bytes.NewReader(content)))
		if err != nil {
			t.Fatal(err)
		}
		if f, err = k.Keep(context.Background(), f); err != nil {
			t.Fatal(err)
		}
		r, err := k.Open(context.Background(), tenant, f.ID)
		if err != nil {
			t.Fatal(err)
		}
		offset := rapid.IntRange(0, len(content)).Draw(t, "offset")
		if got, err := io.ReadAll(r.Content(context.Background(), int64(offset))); err != nil || !bytes.Equal(got, content[offset:]) {
			t.Fatalf("from %d: %d bytes, %v; want %d", offset, len(got), err, len(content)-offset)
		}
		lines := strings.SplitAfter(string(content), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		if f.Lines != len(lines) || f.Bytes != int64(len(content)) {
			t.Fatalf("counted %d lines in %d bytes, want %d in %d", f.Lines, f.Bytes, len(lines), len(content))
		}
		from := rapid.IntRange(0, len(lines)+1).Draw(t, "line")
		n := from
		for line, err := range r.Texts(context.Background(), from) {
			if err != nil || string(line) != strings.TrimSuffix(lines[n], "\n") {
				t.Fatalf("line %d from %d: %d bytes, %v; want %d", n, from, len(line), err, len(lines[n]))
			}
			n++
		}
		if n != max(from, len(lines)) {
			t.Fatalf("lines from %d ended at %d of %d", from, n, len(lines))
		}
	})
}

// TestChunksEndWithLines holds that every multiple of 500 lines can be read without what comes before it.
func TestChunksEndWithLines(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	var text strings.Builder
	for n := range 2300 {
		text.WriteString(request(n) + "\n")
	}
	r := open(t, k, receive(t, k, text.String()))
	for n := 0; n < 2300; n += ChunkLines {
		if at := r.index.starts[r.index.withLine(n)]; at.lines != n || r.index.chunks[r.index.withLine(n)].continues {
			t.Errorf("line %d lies in a chunk that begins at line %d", n, at.lines)
		}
	}
	n := 1999
	for line, err := range r.Lines(t.Context(), n) {
		if err != nil || line.Index != n || line.CustomID != fmt.Sprintf("row-%d", n) || line.Endpoint != penstock.EndpointChat {
			t.Fatalf("line %d is %+v, %v", n, line, err)
		}
		n++
	}
	if n != 2300 {
		t.Errorf("the lines ended at %d", n)
	}
}

// TestTamperedFilesDoNotOpen tries the changes that an attacker with write access to blobs could make.
func TestTamperedFilesDoNotOpen(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	var text strings.Builder
	for n := range 3 * ChunkLines {
		text.WriteString(request(n) + "\n")
	}
	f, other := receive(t, k, text.String()), receive(t, k, text.String())
	sealed, foreign := blobOf(t, k, f), blobOf(t, k, other)
	r := open(t, k, f)
	cut := func(from, to int) []byte { return sealed[r.index.starts[from].sealed:r.index.starts[to].sealed] }
	index := sealed[f.IndexAt:]
	flipped := slices.Clone(sealed)
	flipped[100] ^= 1
	for name, content := range map[string][]byte{
		"a flipped bit":        flipped,
		"exchanged chunks":     slices.Concat(cut(1, 2), cut(0, 1), cut(2, 3), index),
		"a repeated chunk":     slices.Concat(cut(0, 1), cut(0, 1), cut(2, 3), index),
		"cut off":              sealed[:len(sealed)-1],
		"the last chunk gone":  slices.Concat(cut(0, 2), index),
		"another file's":       foreign,
		"another file's index": slices.Concat(cut(0, 3), foreign[other.IndexAt:]),
		"nothing":              nil,
	} {
		fake := f
		fake.ID, fake.Blob = k.ids.New(time.Now()), blob.NewName()
		if _, err := k.Blobs.Put(t.Context(), fake.Blob, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		fake.ID = f.ID
		got, err := k.open(t.Context(), fake)
		if err == nil {
			_, err = io.Copy(io.Discard, got.Content(t.Context(), 0))
		}
		if err == nil {
			t.Errorf("%s: it opened", name)
		}
	}
	stolen := f
	stolen.Tenant = "umbra"
	if _, err := k.open(t.Context(), stolen); !errors.Is(err, payload.ErrTampered) {
		t.Errorf("as another tenant's: %v", err)
	}
}

func blobOf(t *testing.T, k *Service, f store.File) []byte {
	t.Helper()
	r, err := k.Blobs.Open(t.Context(), f.Blob)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil || int64(len(content)) != f.BlobBytes {
		t.Fatalf("the blob has %d bytes, %v; the row says %d", len(content), err, f.BlobBytes)
	}
	return content
}

// TestRefusedContentLeavesNothing holds that refused content leaves no blob and no row.
func TestRefusedContentLeavesNothing(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	broken := errors.New("the caller left")
	for name, c := range map[string]struct {
		content io.Reader
		want    penstock.Code
	}{
		"too large": {strings.NewReader(strings.Repeat("x", 2000)), penstock.CodeTooLarge},
		"empty":     {strings.NewReader(""), penstock.CodeInvalidRequest},
		"broken":    {io.MultiReader(strings.NewReader(request(1)), iotest.ErrReader(broken)), penstock.CodeInternal},
	} {
		_, err := k.Receive(t.Context(), tenant, c.content, Limits{MaxBytes: 1999, MaxLineBytes: 100, MaxJSONDepth: 8})
		if penstock.ErrorCode(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	left, err := k.Blobs.List(t.Context(), blob.Query{OlderThan: time.Now().Add(time.Hour), Limit: 10})
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %+v, %v", left, err)
	}
}

func TestHashSetAgreesWithMap(t *testing.T) {
	t.Parallel()
	set, want := newHashSet(), map[string]bool{}
	for range 50_000 {
		id := fmt.Sprint(rand.IntN(30_000))
		if got := set.add(id); got == want[id] {
			t.Fatalf("%s was new: %v", id, got)
		}
		want[id] = true
	}
}

// TestExpiry holds that a file ends when it says or when files are kept no longer, and is gone from then on.
func TestExpiry(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	brief := receive(t, k, request(1))
	for end, want := range map[time.Duration]time.Duration{0: time.Hour, time.Minute: time.Minute, 2 * time.Hour: time.Hour} {
		f := brief
		f.ID, f.ExpiresAt = k.ids.New(time.Now()), time.Time{}
		if end > 0 {
			f.ExpiresAt = time.Now().Add(end)
		}
		f = keep(t, k, f)
		if left := f.ExpiresAt.Sub(f.CreatedAt); (left - want).Abs() > time.Second {
			t.Errorf("with %v it ends after %v, want %v", end, left, want)
		}
		late := Service{Deps: k.Deps}
		late.Clock = func() time.Time { return f.ExpiresAt.Add(time.Second) }
		if _, err := late.Open(t.Context(), tenant, f.ID); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("after its end: %v", err)
		}
	}
}

func TestSeekable(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	content := bytes.Repeat([]byte("0123456789\n"), 200_000)
	f, err := k.Write(t.Context(), tenant, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(open(t, k, keep(t, k, f)).Seekable(t.Context()), content); err != nil {
		t.Error(err)
	}
}

// TestLostContent holds that a file without content is a fault of the installation, not an unknown file.
func TestLostContent(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	f := keep(t, k, receive(t, k, request(1)))
	if err := k.Blobs.Delete(t.Context(), f.Blob); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Open(t.Context(), tenant, f.ID); penstock.ErrorCode(err) != penstock.CodeInternal || !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a file whose content is lost: %v", err)
	}
	if _, err := k.Reopen(t.Context(), tenant, f.ID); penstock.ErrorCode(err) != penstock.CodeNotFound || !errors.Is(err, ErrLost) {
		t.Errorf("a file that a job needs and whose content is lost: %v", err)
	}
	if _, err := io.ReadAll(k.Joined(t.Context(), []store.File{f})); penstock.ErrorCode(err) != penstock.CodeInternal || !errors.Is(err, ErrLost) {
		t.Errorf("a part whose content is lost: %v", err)
	}
}

package dir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock/internal/blob"
	"penstock/internal/blob/blobtest"
)

// Not parallel: the suite measures memory.
func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return newStore(t) })
}

func newStore(t testing.TB) *Store {
	t.Helper()
	store, err := New(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// files lists the regular files below the store's root.
func files(t *testing.T, store *Store) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(store.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			found = append(found, strings.TrimPrefix(path, store.root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestLayoutAndModes(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	name := blob.NewName()
	if _, err := store.Put(t.Context(), name, strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(name[:2], name)
	if got := files(t, store); !slices.Equal(got, []string{file}) {
		t.Errorf("files are %v, want %s alone", got, file)
	}
	for path, want := range map[string]fs.FileMode{".": 0o700, "tmp": 0o700, name[:2]: 0o700, file: 0o600} {
		if info, err := os.Stat(filepath.Join(store.root, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %o", path, info.Mode(), err, want)
		}
	}
}

func TestReopenKeepsBlobs(t *testing.T) {
	t.Parallel()
	first := newStore(t)
	name := blob.NewName()
	if _, err := first.Put(t.Context(), name, strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	second, err := New(first.root)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := second.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, err := io.ReadAll(reader); err != nil || string(got) != "hello" {
		t.Errorf("read %q, %v", got, err)
	}
}

// The content and its directory must be durable before the name exists, and the name before Put returns.
func TestPutSyncsInOrder(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	shard := filepath.Join(store.root, "ab")
	var path string // of the blob being put
	var steps []string
	record := func(step string) {
		_, err := os.Stat(path)
		steps = append(steps, fmt.Sprintf("%s published=%v", step, err == nil))
	}
	store.syncFile = func(file *os.File) error {
		if info, err := file.Stat(); err != nil || info.Size() != 5 {
			t.Errorf("file synced with %d of 5 bytes, %v", info.Size(), err)
		}
		record("file")
		return file.Sync()
	}
	store.syncDir = func(dir string) error {
		if _, err := os.Stat(shard); err != nil {
			t.Errorf("synced %s before there was anything to sync: %v", dir, err)
		}
		record(strings.TrimPrefix(dir, filepath.Dir(store.root)+"/"))
		return syncDir(dir)
	}
	for _, want := range [][]string{
		{"file published=false", "blobs published=false", "blobs/ab published=true"},
		{"file published=false", "blobs/ab published=true"}, // the directory is known by now
	} {
		name := "ab" + blob.NewName()[2:]
		path, steps = store.path(name), nil
		if _, err := store.Put(t.Context(), name, strings.NewReader("hello")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(steps, want) {
			t.Errorf("synced %q, want %q", steps, want)
		}
	}
}

func TestFailedSyncStoresNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk broke")
	tests := map[string]func(*Store){
		"file":      func(s *Store) { s.syncFile = func(*os.File) error { return broken } },
		"directory": func(s *Store) { s.syncDir = func(string) error { return broken } },
		"name": func(s *Store) {
			s.syncDir = func(dir string) error {
				if dir != s.root {
					return broken
				}
				return nil
			}
		},
	}
	for name, breakSync := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			breakSync(store)
			if _, err := store.Put(t.Context(), blob.NewName(), strings.NewReader("hello")); !errors.Is(err, broken) {
				t.Errorf("Put returned %v, want the sync's error", err)
			}
			if left := files(t, store); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
			if err := store.Check(t.Context()); !errors.Is(err, broken) {
				t.Errorf("Check returned %v, want the sync's error", err)
			}
		})
	}
}

// A caller that gave up during a slow sync has no use for the blob.
func TestCancelledDuringSyncStoresNothing(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	store.syncFile = func(file *os.File) error { cancel(); return file.Sync() }
	if _, err := store.Put(ctx, blob.NewName(), strings.NewReader("hello")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put returned %v, want context.Canceled", err)
	}
	if left := files(t, store); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMakeDirSyncsWhatItCreates(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var synced []string
	store := &Store{syncDir: func(dir string) error { synced = append(synced, dir); return nil }}
	if err := store.makeDir(filepath.Join(base, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if want := []string{base, filepath.Join(base, "a")}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
}

// A directory whose sync failed is not taken for durable by the next Put.
func TestFailedDirectorySyncIsRepeated(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	broken := errors.New("disk broke")
	store.syncDir = func(string) error { return broken }
	for range 2 {
		if _, err := store.Put(t.Context(), "ab"+blob.NewName()[2:], strings.NewReader("x")); !errors.Is(err, broken) {
			t.Fatalf("Put returned %v, want the sync's error", err)
		}
	}
	var synced []string
	store.syncDir = func(dir string) error { synced = append(synced, dir); return syncDir(dir) }
	if _, err := store.Put(t.Context(), "ab"+blob.NewName()[2:], strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(synced, store.root) {
		t.Errorf("synced %v, want %s among them", synced, store.root)
	}
}

func TestNewRemovesOnlyStaleFiles(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	ages := map[string]time.Duration{"dead": staleAfter + time.Minute, "alive": staleAfter - time.Minute}
	for name, age := range ages {
		path := filepath.Join(store.temp, name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	// A blob may be as old as it likes.
	old := blob.NewName()
	if _, err := store.Put(t.Context(), old, strings.NewReader("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(store.path(old), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := New(store.root); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(old[:2], old), "tmp/alive"}
	if got := files(t, store); !slices.Equal(got, want) {
		t.Errorf("files are %v, want %v", got, want)
	}
}

func TestOpenReaderSurvivesDelete(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	name, content := blob.NewName(), bytes.Repeat([]byte("penstock"), 40_000)
	if _, err := store.Put(t.Context(), name, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	reader, err := store.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := store.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the open reader got %d of %d bytes, %v", len(got), len(content), err)
	}
}

func TestListIgnoresForeignFiles(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	name, misplaced := "ab"+blob.NewName()[2:], "cd"+blob.NewName()[2:]
	if _, err := store.Put(t.Context(), name, strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{"README", ".DS_Store", "a", misplaced} {
		if err := os.WriteFile(filepath.Join(store.root, "ab", foreign), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(store.root, "ab", "ab"+blob.NewName()[2:]), 0o700); err != nil {
		t.Fatal(err)
	}
	page, err := store.List(t.Context(), blob.Query{OlderThan: time.Now().Add(time.Hour), Limit: 10})
	if err != nil || len(page) != 1 || page[0].Name != name {
		t.Errorf("List shows %+v, %v; want %s alone", page, err, name)
	}
}

// A directory that is away for a while has lost nothing.
func TestALostDirectoryIsNoLostBlob(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	name := blob.NewName()
	if _, err := store.Put(t.Context(), name, strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	away := store.root + ".away"
	if err := os.Rename(store.root, away); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), name); err == nil || errors.Is(err, blob.ErrNotFound) {
		t.Errorf("without the directory: %v, want an error that is not ErrNotFound", err)
	}
	if err := os.MkdirAll(store.root, 0o700); err != nil { // the empty mount point
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), name); err == nil || errors.Is(err, blob.ErrNotFound) {
		t.Errorf("with the mount point alone: %v, want an error that is not ErrNotFound", err)
	}
	if err := errors.Join(os.Remove(store.root), os.Rename(away, store.root)); err != nil {
		t.Fatal(err)
	}
	reader, err := store.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
}

func TestCheckFindsALostDirectory(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	if err := os.RemoveAll(store.root); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(t.Context()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), store.root) {
		t.Errorf("Check returned %v, want an error that names %s", err, store.root)
	}
}

func TestNewRefusesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(path); err == nil {
		t.Error("New accepted a file as its root")
	}
}

func BenchmarkPut(b *testing.B) {
	store := newStore(b)
	content := bytes.Repeat([]byte("penstock"), 64<<10/8)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Put(b.Context(), blob.NewName(), bytes.NewReader(content)); err != nil {
			b.Fatal(err)
		}
	}
}

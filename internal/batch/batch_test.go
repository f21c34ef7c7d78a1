package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/blob/dir"
	"penstock/internal/file"
	"penstock/internal/payload"
	"penstock/internal/signal"
	"penstock/internal/store"
)

const tenant penstock.TenantID = "acme"

// fakeStore is a store of one job, in memory.
type fakeStore struct {
	store.Files
	mu     sync.Mutex
	files  map[penstock.ID]store.File
	blobs  *countedBlobs
	job    penstock.Job
	next   int
	items  []store.NewItem
	failed error // what the next split fails with

	affordable int // how many items of a step the budget pays for; 0 for all

	disabled bool // the tenant is disabled
	asBefore []bool
}

func (h *fakeStore) CreateFile(_ context.Context, _ penstock.TenantID, f store.File) (store.File, error) {
	h.files[f.ID] = f
	return f, nil
}

func (h *fakeStore) File(_ context.Context, _ penstock.TenantID, id penstock.ID) (store.File, error) {
	f, ok := h.files[id]
	if !ok {
		return f, penstock.Errorf(penstock.CodeNotFound, "There is no such file.")
	}
	return f, nil
}

func (h *fakeStore) UnsplitJobs(context.Context, int) ([]store.Unsplit, error) {
	if h.next == h.job.Counts.Total {
		return nil, nil
	}
	return []store.Unsplit{{Job: h.job, Next: h.next}}, nil
}

func (h *fakeStore) Accounts(penstock.Job) ([]store.Account, bool) { return nil, !h.disabled }

func (h *fakeStore) SplitJob(_ context.Context, _ penstock.TenantID, s store.Split) (store.Step, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failed; err != nil {
		h.failed = nil
		return store.Step{}, err
	}
	if s.From != h.next {
		return store.Step{}, penstock.Errorf(penstock.CodeConflict, "It has them.")
	}
	if h.affordable > 0 {
		s.Items = s.Items[:min(len(s.Items), h.affordable)]
	}
	h.asBefore = append(h.asBefore, s.AsBefore)
	h.items = append(h.items, s.Items...)
	h.next += len(s.Items)
	return store.Step{Items: len(s.Items)}, nil
}

func (h *fakeStore) Compose(context.Context, store.Unsplit) (func(file.Line) (store.NewItem, error), error) {
	return func(l file.Line) (store.NewItem, error) {
		return store.NewItem{CustomID: l.CustomID, Body: l.Body}, nil
	}, nil
}

func (h *fakeStore) Publish(...penstock.ID) {}

// countedBlobs counts what is read.
type countedBlobs struct {
	*dir.Store
	opens int
	bytes int64
}

func (b *countedBlobs) OpenRange(ctx context.Context, name string, r blob.Range) (io.ReadCloser, error) {
	b.opens++
	b.bytes += r.Length
	return b.Store.OpenRange(ctx, name, r)
}

// newFakeStore has a job over a file with n lines.
func newFakeStore(t *testing.T, n int) (*fakeStore, *Splitter) {
	t.Helper()
	keys, err := payload.LoadOrCreate(filepath.Join(t.TempDir(), "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.New(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	h := &fakeStore{files: map[penstock.ID]store.File{}, blobs: &countedBlobs{Store: blobs}}
	files, err := file.New(file.Deps{Files: h, Blobs: h.blobs, Codec: codec, Clock: time.Now,
		Windows: func(penstock.TenantID) penstock.Retention { return penstock.Retention{} }}) // every file has expired
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"custom_id":"row-%d","body":{"n":%d}}`+"\n", i, i)
	}
	f, err := files.Receive(t.Context(), tenant, strings.NewReader(lines.String()), file.Limits{MaxBytes: 1 << 30, MaxLineBytes: 1 << 20, MaxJSONDepth: 8})
	if err == nil {
		f, err = files.Keep(t.Context(), f)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.job = penstock.Job{ID: "01JQ0000000000000000000000", Tenant: tenant, File: f.ID, Counts: penstock.Counts{Total: n}}
	s, err := NewSplitter(SplitterDeps{Store: h, Files: files, Composer: h, Work: signal.NewTopic[signal.None](nil, signal.Work), Jobs: h, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// drain splits until nothing is left, as Run does. It fails if the splitter makes no progress.
func drain(t *testing.T, s *Splitter) {
	t.Helper()
	for range 100 {
		n, err := s.runOnce(t.Context())
		if err == nil && n == 0 {
			return
		}
	}
	t.Fatal("the splitter does not end")
}

// TestEveryLineOnce checks that all lines become items, once and in order, over errors and conflicts, and though the
// file has expired.
func TestEveryLineOnce(t *testing.T) {
	t.Parallel()
	const n = 1234
	h, s := newFakeStore(t, n)
	h.failed = errors.New("the database is away")
	if _, err := s.runOnce(t.Context()); err == nil {
		t.Error("an error of the store was not returned")
	}
	h.failed = penstock.Errorf(penstock.CodeConflict, "Another process was faster.")
	if _, err := s.runOnce(t.Context()); err != nil {
		t.Errorf("that another process was faster is no error: %v", err)
	}
	drain(t, s)
	if len(h.items) != n {
		t.Fatalf("there are %d items, want %d", len(h.items), n)
	}
	for i, item := range h.items {
		if item.CustomID != fmt.Sprintf("row-%d", i) || item.Refusal != nil {
			t.Fatalf("item %d is %+v", i, item)
		}
	}
}

// TestDisabledTenantPaysAsBefore checks that the accepted jobs of a disabled tenant are still charged.
func TestDisabledTenantPaysAsBefore(t *testing.T) {
	t.Parallel()
	h, s := newFakeStore(t, 700)
	if _, err := s.runOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.disabled = true
	drain(t, s)
	if !slices.Equal(h.asBefore, []bool{false, true}) {
		t.Errorf("paid as before: %v", h.asBefore)
	}
}

// TestLostFileEndsItsJob checks that a job whose file was lost ends.
func TestLostFileEndsItsJob(t *testing.T) {
	t.Parallel()
	h, s := newFakeStore(t, 700)
	if n, err := s.runOnce(t.Context()); err != nil || n != store.MaxSplit {
		t.Fatalf("%d items, %v", n, err)
	}
	if err := h.blobs.Delete(t.Context(), h.files[h.job.File].Blob); err != nil {
		t.Fatal(err)
	}
	clear(h.files)
	drain(t, s)
	for i, item := range h.items {
		if lost := item.Refusal != nil && item.Refusal.Code == penstock.CodeGone; lost != (i >= store.MaxSplit) {
			t.Fatalf("item %d: %+v", i, item.Refusal)
		}
	}
	if len(h.items) != 700 {
		t.Errorf("there are %d items", len(h.items))
	}
}

// TestLostContentEndsItsJob checks that the lines of a file that is listed, and whose content is lost, say so: the caller deleted
// nothing.
func TestLostContentEndsItsJob(t *testing.T) {
	t.Parallel()
	h, s := newFakeStore(t, 3)
	if err := h.blobs.Delete(t.Context(), h.files[h.job.File].Blob); err != nil {
		t.Fatal(err)
	}
	drain(t, s)
	if len(h.items) != 3 {
		t.Fatalf("there are %d items", len(h.items))
	}
	want := "The line could not be read any more: the server has lost the content of " + penstock.ViewFile.Format(h.job.File) + ". Upload the file again, and create a new job."
	for i, item := range h.items {
		if item.Refusal == nil || item.Refusal.Code != penstock.CodeGone || item.Refusal.Message != want {
			t.Errorf("item %d: %+v", i, item.Refusal)
		}
	}
}

// TestFileIsReadOnce checks that a splitter reads every byte of a file once, however many steps the job takes and though
// steps fail, and opens the file again after an error.
func TestFileIsReadOnce(t *testing.T) {
	t.Parallel()
	const steps = 8
	h, s := newFakeStore(t, steps*store.MaxSplit)
	whole := h.files[h.job.File].BlobBytes
	h.failed = errors.New("the database is away")
	drain(t, s)
	// One chunk for each step, and the index.
	if h.blobs.opens != steps+1 || h.blobs.bytes != whole {
		t.Errorf("%d parts with %d bytes were read of a file of %d parts with %d bytes", h.blobs.opens, h.blobs.bytes, steps+1, whole)
	}
	if len(s.files.open) != 0 {
		t.Errorf("%d files are open after the last step", len(s.files.open))
	}
}

// TestSplitterResumesWhereTheJobIs checks that the position of a step comes from the job, not from the open file: another
// process may have taken steps, or the budget may have paid for a part of a step only.
func TestSplitterResumesWhereTheJobIs(t *testing.T) {
	t.Parallel()
	const n = 4*store.MaxSplit + 7
	h, mine := newFakeStore(t, n)
	others, err := NewSplitter(mine.SplitterDeps) // as after a restart, or of another process
	if err != nil {
		t.Fatal(err)
	}
	for turn := 0; h.next < n; turn++ {
		s := []*Splitter{mine, others}[turn%2]
		h.affordable = []int{0, 3, store.MaxSplit, 77}[turn%4]
		if _, err := s.runOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, item := range h.items {
		if want := fmt.Sprintf("row-%d", i); item.CustomID != want || item.Refusal != nil {
			t.Fatalf("item %d is %+v", i, item)
		}
	}
}

// TestOpenFilesAreBounded checks that a splitter keeps few files open, and none that it does not read.
func TestOpenFilesAreBounded(t *testing.T) {
	t.Parallel()
	h, s := newFakeStore(t, 1)
	now := time.Now()
	s.files.clock = func() time.Time { return now }
	open := func(job int) {
		t.Helper()
		now = now.Add(time.Second)
		u := store.Unsplit{Job: h.job}
		u.Job.ID = penstock.ID(fmt.Sprint(job))
		if _, err := s.files.reader(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	for job := range 3 * maxOpenFiles {
		open(job)
		open(0) // which is read all the time
		if len(s.files.open) > maxOpenFiles || s.files.open["0"] == nil {
			t.Fatalf("after %d jobs %d files are open, the first one: %v", job+1, len(s.files.open), s.files.open["0"] != nil)
		}
	}
	if want := 1 + 3*maxOpenFiles - 1; h.blobs.opens != want {
		t.Errorf("%d files were opened, want %d", h.blobs.opens, want)
	}
	now = now.Add(maxIdleFile)
	open(-1)
	if len(s.files.open) != 1 {
		t.Errorf("%d files are open that no step read for long", len(s.files.open)-1)
	}
}

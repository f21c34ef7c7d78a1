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
	job    penstock.Job
	next   int
	items  []store.NewItem
	failed error // what the next split fails with

	disabled bool // the tenant may not call any more
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
	h.asBefore = append(h.asBefore, s.AsBefore)
	h.items = append(h.items, s.Items...)
	h.next += len(s.Items)
	return store.Step{Items: len(s.Items)}, nil
}

func (h *fakeStore) Compose(store.Unsplit) (func(file.Line) store.NewItem, error) {
	return func(l file.Line) store.NewItem { return store.NewItem{CustomID: l.CustomID, Body: l.Body} }, nil
}

func (h *fakeStore) Publish(...penstock.ID) {}

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
	h := &fakeStore{files: map[penstock.ID]store.File{}}
	files, err := file.New(file.Deps{Files: h, Blobs: blobs, Codec: codec, Clock: time.Now,
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

// drain splits until nothing is left, as Run does. It gives up on a splitter that does not come on.
func drain(t *testing.T, s *Splitter) {
	t.Helper()
	for range 100 {
		n, err := s.runOnce(t.Context())
		if err == nil && n == 0 {
			return
		}
	}
	t.Fatal("the splitter does not come to an end")
}

// TestEveryLineOnce holds that all lines become items, once and in order, over errors and conflicts, and though the
// file has expired.
func TestEveryLineOnce(t *testing.T) {
	t.Parallel()
	const n = 1234
	h, s := newFakeStore(t, n)
	h.failed = errors.New("the database is away")
	if _, err := s.runOnce(t.Context()); err == nil {
		t.Error("an error of the store was not told")
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

// TestDisabledTenantPaysAsBefore holds that what was accepted of a tenant who may not call any more is not free.
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

// TestLostFileEndsItsJob holds that a job whose file is gone after all does not stay open for ever.
func TestLostFileEndsItsJob(t *testing.T) {
	t.Parallel()
	h, s := newFakeStore(t, 700)
	if n, err := s.runOnce(t.Context()); err != nil || n != store.MaxSplit {
		t.Fatalf("%d items, %v", n, err)
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

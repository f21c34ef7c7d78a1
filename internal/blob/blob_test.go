package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestNewNameIsValidAndNew(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		name := NewName()
		if err := ValidateName(name); err != nil {
			t.Fatal(err)
		}
		if seen[name] {
			t.Fatalf("%s came twice", name)
		}
		seen[name] = true
	}
}

// memory is the least of a store that Probe needs, with faults to inject.
type memory struct {
	Store // what a probe does not ask for

	blobs                         map[string][]byte
	putErr, openErr, deleteErr    error
	afterPut                      func()
	flipOnRead, keepOnDelete, cut bool
}

func (m *memory) Put(_ context.Context, name string, r io.Reader) (int64, error) {
	content, err := io.ReadAll(r)
	if err = errors.Join(err, m.putErr); err != nil {
		return 0, err
	}
	m.blobs[name] = content
	if m.afterPut != nil {
		m.afterPut()
	}
	return int64(len(content)), nil
}

func (m *memory) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	content, ok := m.blobs[name]
	if err := errors.Join(m.openErr, ctx.Err()); err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrNotFound
	}
	content = bytes.Clone(content)
	if m.flipOnRead {
		content[0] ^= 1
	}
	if m.cut {
		content = content[1:]
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (m *memory) Delete(ctx context.Context, name string) error {
	if err := errors.Join(m.deleteErr, ctx.Err()); err != nil {
		return err
	}
	if !m.keepOnDelete {
		delete(m.blobs, name)
	}
	return nil
}

func (m *memory) List(context.Context, Query) ([]Info, error) { return nil, errors.ErrUnsupported }

func (m *memory) Check(ctx context.Context) error { return Probe(ctx, m) }

func TestProbeFindsFaults(t *testing.T) {
	t.Parallel()
	broken := errors.New("store broke")
	tests := map[string]struct {
		store memory
		says  string // "" for a healthy store
		left  int
	}{
		"healthy":        {},
		"cannot put":     {store: memory{putErr: broken}, says: "store probe blob: store broke"},
		"cannot open":    {store: memory{openErr: broken}, says: "open probe blob: store broke"},
		"cannot delete":  {store: memory{deleteErr: broken}, says: "remove probe blob: store broke", left: 1},
		"wrong content":  {store: memory{flipOnRead: true}, says: "came back different"},
		"short content":  {store: memory{cut: true}, says: "63 bytes instead of 64"},
		"delete is idle": {store: memory{keepOnDelete: true}, says: "still there", left: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.store.blobs = map[string][]byte{}
			err := Probe(t.Context(), &test.store)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
			if len(test.store.blobs) != test.left {
				t.Errorf("%d blobs are left, want %d", len(test.store.blobs), test.left)
			}
		})
	}
}

func TestProbeCleansUpWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	store := &memory{blobs: map[string][]byte{}, afterPut: cancel}
	if err := Probe(ctx, store); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if len(store.blobs) != 0 {
		t.Error("the probe blob was left behind")
	}
}

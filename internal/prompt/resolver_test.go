package prompt_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/signal"
)

// heads is a store of one prompt, which tests change.
type heads struct {
	mu    sync.Mutex
	head  prompt.Head
	reads int
	away  bool
}

func (h *heads) Head(context.Context, penstock.TenantID, string) (prompt.Head, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away {
		return prompt.Head{}, errors.New("away")
	}
	h.reads++
	head := h.head
	head.Labels = map[string]int64{"production": h.head.Labels["production"]}
	return head, nil
}

func (h *heads) Changes(_ context.Context, ids []penstock.ID) (map[penstock.ID]int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away {
		return nil, errors.New("away")
	}
	return map[penstock.ID]int64{ids[0]: h.head.Change}, nil
}

func (h *heads) Version(_ context.Context, tenant penstock.TenantID, k prompt.VersionKey) (prompt.Version, error) {
	return prompt.Version{Tenant: tenant, Name: k.Name, N: k.N, Content: content.Content{Kind: content.KindText, Text: fmt.Sprintf("version %d for {{who}}", k.N)}}, nil
}

func (h *heads) NameOf(_ context.Context, _ penstock.TenantID, id string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reads++; id != "pmpt_theirs" {
		return "", prompt.NoPrompt(id)
	}
	return "p", nil
}

func (h *heads) move(to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head.Change++
	h.head.Labels = map[string]int64{"production": to}
}

func newResolver(h *heads) (*prompt.Resolver, *signal.Topic[signal.None]) {
	topic := signal.NewTopic[signal.None](nil, signal.Prompts)
	return prompt.NewResolver(prompt.ResolverDeps{Store: h, Changes: topic, Log: slog.New(slog.DiscardHandler)}), topic
}

// A moved label is seen at once after a signal, and within five seconds without one. While the store is away, the last known
// version counts.
func TestMovesAreSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heads{head: prompt.Head{ID: "id", Change: 1, Latest: 3, Labels: map[string]int64{"production": 1}}}
		r, topic := newResolver(h)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = r.Run(ctx) }()
		want := func(what string, version int64) {
			t.Helper()
			found, err := r.Resolve(t.Context(), "acme", content.Reference{Name: "p"})
			if err != nil || found.Version != version {
				t.Errorf("%s: %+v, %v; want version %d", what, found, err, version)
			}
		}
		want("at first", 1)
		h.move(2)
		topic.Notify()
		synctest.Wait()
		want("after a signal", 2)
		h.move(3)
		time.Sleep(5 * time.Second)
		want("without a signal", 3)
		h.mu.Lock()
		h.away = true
		h.mu.Unlock()
		time.Sleep(time.Minute)
		want("while the store is away", 3)
		h.mu.Lock()
		h.away = false
		h.mu.Unlock()
		h.move(1)
		time.Sleep(5 * time.Second)
		want("after it is back", 1)
	})
}

func TestResolvingFromMemoryReadsNothing(t *testing.T) {
	t.Parallel()
	h := &heads{head: prompt.Head{ID: "id", Change: 1, Latest: 1, Labels: map[string]int64{"production": 1}}}
	r, _ := newResolver(h)
	for range 100 {
		if _, err := r.Resolve(t.Context(), "acme", content.Reference{Name: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	if h.reads != 1 {
		t.Errorf("100 calls read the labels %d times", h.reads)
	}
}

// BenchmarkResolve is what resolving a label adds to a call: at most 5 µs.
func BenchmarkResolve(b *testing.B) {
	h := &heads{head: prompt.Head{ID: "id", Change: 1, Latest: 1, Labels: map[string]int64{"production": 1}}}
	r, _ := newResolver(h)
	ref := content.Reference{Name: "support/answer"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Resolve(b.Context(), "acme", ref); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRender is the rendering of a short prompt, with the check of its variables.
func BenchmarkRender(b *testing.B) {
	h := &heads{head: prompt.Head{ID: "id", Change: 1, Latest: 1, Labels: map[string]int64{"production": 1}}}
	r, _ := newResolver(h)
	found, err := r.Resolve(b.Context(), "acme", content.Reference{Name: "p"})
	if err != nil {
		b.Fatal(err)
	}
	variables := map[string]any{"who": "you"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := found.Content.Render(variables); err != nil {
			b.Fatal(err)
		}
	}
}

// An id is looked up once. A number of another registry means the version that the import gave it.
func TestIdentify(t *testing.T) {
	t.Parallel()
	h := &heads{head: prompt.Head{ID: "id", Change: 1, Latest: 9, Labels: map[string]int64{"production": 1}, Aliases: map[string]map[string]int64{"pmpt_theirs": {"3": 2, "10": 4}}}}
	r, _ := newResolver(h)
	for version, want := range map[string]content.Reference{
		"": {Name: "p"}, "3": {Name: "p", Version: 2}, "10": {Name: "p", Version: 4}, "canary": {Name: "p", Label: "canary"},
	} {
		if got, err := r.Identify(t.Context(), "acme", "pmpt_theirs", version); err != nil || got != want {
			t.Errorf("version %q: %+v, %v; want %+v", version, got, err, want)
		}
	}
	_, err := r.Identify(t.Context(), "acme", "pmpt_theirs", "2")
	if penstock.ErrorCode(err) != penstock.CodeNotFound || !strings.Contains(err.Error(), "the imported versions are 3, 10") {
		t.Errorf("a version that was not imported: %v", err)
	}
	if _, err := r.Identify(t.Context(), "acme", "pmpt_other", ""); penstock.ErrorCode(err) != penstock.CodeNotFound {
		t.Errorf("an unknown id: %v", err)
	}
	if _, err := r.Identify(t.Context(), "acme", "pmpt_theirs", "no label"); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("a text that is no version: %v", err)
	}
	if h.reads != 3 { // the id, its labels, and the unknown id
		t.Errorf("%d reads", h.reads)
	}
}

package reload

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// fakeStore notes reloads and has open jobs.
type fakeStore struct {
	noted []store.Reload
	open  []store.Resolution
	err   error
}

func (f *fakeStore) NoteReload(_ context.Context, r store.Reload) error {
	f.noted = append(f.noted, r)
	return f.err
}
func (f *fakeStore) OpenResolutions(context.Context) ([]store.Resolution, error) { return f.open, nil }

// snapshot is a configuration with some targets.
func snapshot(t *testing.T, targets ...string) *config.Snapshot {
	t.Helper()
	file := config.File{
		Providers: map[string]config.ProviderConfig{"p": {Kind: config.KindOpenAI, BaseURL: "http://127.0.0.1:1/v1"}},
		Targets:   map[string]config.TargetConfig{},
		Tenants:   map[string]config.TenantConfig{"search": {Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(rand.Text() + rand.Text())}}}},
	}
	for _, name := range targets {
		file.Targets[name] = config.TargetConfig{Provider: "p", UpstreamModel: "m", Price: config.Price{Input: "0", Output: "0"}}
	}
	s, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newReloader(f *fakeStore, current, next *config.Snapshot) *Reloader {
	return New(Deps{
		Live: config.NewLive(current), Store: f, Load: func() (*config.Snapshot, error) { return next, nil }, Check: func(*config.Snapshot) error { return nil },
		Remember: func(context.Context, *config.Snapshot) error { return nil }, Log: slog.New(slog.DiscardHandler),
	})
}

// TestReloadIsAudited holds that a configuration is in force only if the audit has noted who put it there.
func TestReloadIsAudited(t *testing.T) {
	t.Parallel()
	f := &fakeStore{}
	before, after := snapshot(t, "a"), snapshot(t, "a", "b")
	r := newReloader(f, before, after)
	if _, err := r.Reload(t.Context(), Order{Actor: "ada", DryRun: true}); err != nil || len(f.noted) != 0 || r.Live.Current().Hash != before.Hash {
		t.Errorf("a dry run: %v, noted %v, in force %s", err, f.noted, r.Live.Current().Hash)
	}
	f.err = errors.New("away")
	if _, err := r.Reload(t.Context(), Order{Actor: "ada"}); err == nil || r.Live.Current().Hash != before.Hash {
		t.Errorf("without an entry: %v, in force %s", err, r.Live.Current().Hash)
	}
	f.err, f.noted = nil, nil
	plan, err := r.Reload(t.Context(), Order{Actor: "ada"})
	if err != nil || plan.Config != after.Hash || r.Live.Current().Hash != after.Hash {
		t.Fatalf("%+v, %v", plan, err)
	}
	if len(f.noted) != 1 || f.noted[0].Actor != "ada" || f.noted[0].Before != before.Hash || f.noted[0].After != after.Hash {
		t.Errorf("noted %+v", f.noted)
	}
}

// TestReloadKeepsTargetsOfOpenJobs holds that a reload takes no target away from open jobs unless it is forced.
func TestReloadKeepsTargetsOfOpenJobs(t *testing.T) {
	t.Parallel()
	f := &fakeStore{open: []store.Resolution{{Targets: []string{"a"}, Jobs: 2, Items: 5}, {Targets: []string{"a", "b"}, Jobs: 1, Items: 1}}}
	before, after := snapshot(t, "a", "b"), snapshot(t, "b")
	r := newReloader(f, before, after)
	_, err := r.Reload(t.Context(), Order{})
	if penstock.ErrorCode(err) != penstock.CodeConflict || !strings.Contains(err.Error(), "3 open jobs with 6 items were resolved to it, of which 2 jobs with 5 items") || r.Live.Current().Hash != before.Hash {
		t.Errorf("%v, in force %s", err, r.Live.Current().Hash)
	}
	plan, err := r.Reload(t.Context(), Order{Force: true})
	if err != nil || len(plan.Removed) != 1 || plan.Removed[0] != (Loss{Target: "a", Jobs: 3, Items: 6, StrandedJobs: 2, StrandedItems: 5}) || r.Live.Current().Hash != after.Hash {
		t.Errorf("forced: %+v, %v", plan, err)
	}
}

func TestReloadRefusesAnEmptyFile(t *testing.T) {
	t.Parallel()
	next := snapshot(t, "a")
	next.Tenants = nil
	r := newReloader(&fakeStore{}, snapshot(t, "a"), next)
	if _, err := r.Reload(t.Context(), Order{}); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
		t.Errorf("%v", err)
	}
	r.Load = nil
	if _, err := r.Reload(t.Context(), Order{}); penstock.ErrorCode(err) != penstock.CodeConflict {
		t.Errorf("without a file: %v", err)
	}
}

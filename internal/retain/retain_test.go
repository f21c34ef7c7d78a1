package retain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// attic is a store that has so many rows of each kind to remove. A step takes the time that its rows cost.
type attic struct {
	mu      sync.Mutex
	tenants []penstock.TenantID
	due     map[string]int // by step, such as "jobs search"
	failing map[string]error
	steps   []string      // in order
	busy    time.Duration // in which the writer was held
	pages   int           // of blobs left in the walk
	blobs   []store.BlobPage
}

const rowCost = 100 * time.Microsecond

func (a *attic) step(ctx context.Context, name string, limit int) (store.Purged, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps = append(a.steps, name)
	if err := a.failing[name]; err != nil {
		return store.Purged{}, err
	}
	n := min(a.due[name], limit)
	a.due[name] -= n
	took := time.Duration(n) * rowCost
	a.busy += took
	time.Sleep(took) // of the bubble's clock
	done := store.Purged{Removed: n, More: n == limit}
	if n > 0 {
		done.Overdue = time.Duration(n) * time.Second
	}
	return done, ctx.Err()
}

// kept is the window of a tenant; the name tells which.
// fileExtra is how much longer files are kept than results, eventsLess how much shorter logs are.
const (
	fileExtra  = time.Hour
	eventsLess = time.Minute
)

func kept(id penstock.TenantID) time.Duration { return time.Duration(len(id)) * time.Hour }

func (a *attic) DeleteJob(context.Context, penstock.TenantID, store.Deletion) error {
	return errors.New("a sweep deletes nothing on behalf of a caller")
}

func (a *attic) TenantIDs(_ context.Context, p store.TenantPage) ([]penstock.TenantID, error) {
	after := slices.DeleteFunc(slices.Clone(a.tenants), func(id penstock.TenantID) bool { return id <= p.After })
	return after[:min(len(after), p.Limit)], nil
}

func (a *attic) owned(ctx context.Context, kind string, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	if p.Kept != kept(id) {
		return store.Purged{}, fmt.Errorf("%s of %s are kept for %v", kind, id, p.Kept)
	}
	return a.step(ctx, kind+" "+string(id), p.Limit)
}

func (a *attic) PurgeJobs(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	return a.owned(ctx, "jobs", id, p)
}

// PurgeDeliveries has nothing to remove.
func (a *attic) PurgeDeliveries(context.Context, penstock.TenantID, store.Purge) (store.Purged, error) {
	return store.Purged{}, nil
}

func (a *attic) PurgeResponses(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	return a.owned(ctx, "responses", id, p)
}

func (a *attic) PurgeConversations(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	return a.owned(ctx, "conversations", id, p)
}

// atticUploads are the uploads of an attic.
type atticUploads struct{ *attic }

func (a atticUploads) Purge(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	return a.step(ctx, "uploads "+string(id), p.Limit)
}

func (a *attic) PurgeRuns(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	return a.owned(ctx, "runs", id, p)
}

func (a *attic) PurgeRequests(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	return a.owned(ctx, "requests", id, p)
}

func (a *attic) PurgeFiles(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	p.Kept -= fileExtra
	return a.owned(ctx, "files", id, p)
}

func (a *attic) PurgeEvents(ctx context.Context, id penstock.TenantID, p store.Purge) (store.Purged, error) {
	p.Kept += eventsLess
	return a.owned(ctx, "events", id, p)
}

func (a *attic) PurgeItems(ctx context.Context, limit int) (store.Purged, error) {
	return a.step(ctx, "items", limit)
}

func (a *attic) PurgeKeys(ctx context.Context, limit int) (store.Purged, error) {
	return a.step(ctx, "keys", limit)
}

func (a *attic) PurgeBlobs(_ context.Context, p store.BlobPage) (store.PurgedBlobs, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blobs = append(a.blobs, p)
	if a.pages--; a.pages <= 0 {
		return store.PurgedBlobs{}, nil
	}
	return store.PurgedBlobs{Purged: store.Purged{Removed: 1, More: true}, Next: fmt.Sprintf("page-%d", a.pages)}, nil
}

// count is how often a step was made.
func (a *attic) count(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, s := range a.steps {
		if s == name {
			n++
		}
	}
	return n
}

type rig struct {
	*Sweeper
	t     *testing.T
	attic *attic
	log   *strings.Builder
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, log: &strings.Builder{}, attic: &attic{
		tenants: []penstock.TenantID{"bob", "eve", "search"}, due: map[string]int{}, failing: map[string]error{},
	}}
	s, err := New(Deps{
		Store: r.attic, Outbox: r.attic, Logs: r.attic, Turns: r.attic, Uploads: atticUploads{r.attic}, Runs: r.attic, Metrics: telemetry.NewMetrics("test", ""), Log: slog.New(slog.NewTextHandler(r.log, nil)), Clock: time.Now,
		Windows: func(id penstock.TenantID) penstock.Retention {
			return penstock.Retention{Results: kept(id), Files: kept(id) + fileExtra, Events: kept(id) - eventsLess}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Sweeper = s
	return r
}

// run sweeps for a while.
func (r *rig) run(d time.Duration) {
	r.t.Helper()
	ctx, stop := context.WithTimeout(r.t.Context(), d)
	defer stop()
	if err := r.Run(ctx); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) metric(name string) string {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestRoundSweepsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.attic.due = map[string]int{"items": 1, "jobs bob": 2, "jobs search": 3, "requests eve": 4, "events bob": 6, "responses eve": 7, "conversations bob": 8, "keys": 5}
		r.attic.pages = 3
		if more, err := r.runOnce(t.Context()); more || err != nil {
			t.Errorf("more is %v, error is %v", more, err)
		}
		for name, left := range r.attic.due {
			if left > 0 {
				t.Errorf("%s: %d are left", name, left)
			}
		}
		for series, want := range map[string]string{
			`penstock_swept_total{kind="item"}`: "1", `penstock_swept_total{kind="job"}`: "5", `penstock_swept_total{kind="request"}`: "4",
			`penstock_swept_total{kind="idempotency_key"}`: "5", `penstock_swept_total{kind="event"}`: "6", `penstock_swept_total{kind="blob"}`: "2",
			`penstock_sweep_overdue_seconds{kind="job"}`: "3", `penstock_sweep_overdue_seconds{kind="request"}`: "4",
		} {
			if got := r.metric(series); got != want {
				t.Errorf("%s is %s, want %s", series, got, want)
			}
		}
		if _, err := r.runOnce(t.Context()); err != nil {
			t.Error(err)
		}
		if got := r.metric(`penstock_sweep_overdue_seconds{kind="job"}`); got != "0" {
			t.Errorf("after a round that found nothing the sweep is %s seconds behind", got)
		}
	})
}

// TestPace holds that a sweep with endless work keeps the writer busy for a fifth of the time at the most.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.attic.due["jobs search"], r.attic.due["keys"] = 1<<30, 1<<30
		const while = 10 * time.Minute
		r.run(while)
		if share := float64(r.attic.busy) / float64(while); share > 1.0/(1+Rest)+0.001 || share < 0.15 {
			t.Errorf("the sweep took %.3f of the writer", share)
		}
	})
}

// TestTurns holds that a tenant with endless work does not keep others, or other kinds, from their turn.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.attic.due["items"], r.attic.due["jobs bob"] = 1<<30, 1<<30
		r.attic.due["jobs eve"], r.attic.due["requests search"], r.attic.due["keys"] = 10, 10, 10
		if more, err := r.runOnce(t.Context()); !more || err != nil {
			t.Errorf("more is %v, error is %v", more, err)
		}
		if n := r.attic.count("jobs bob"); n != TurnSteps {
			t.Errorf("the first tenant had %d steps in its turn, want %d", n, TurnSteps)
		}
		for _, name := range []string{"jobs eve", "requests search", "keys"} {
			if r.attic.due[name] > 0 {
				t.Errorf("%s did not have a turn", name)
			}
		}
	})
}

func TestIntervalAndErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.attic.failing["jobs eve"] = errors.New("no such table")
		r.attic.due["keys"] = 7
		r.run(10*Interval - time.Second)
		if n := r.attic.count("items"); n != 10 {
			t.Errorf("%d rounds in ten intervals", n)
		}
		if n := r.attic.count("jobs search"); n != 0 {
			t.Errorf("the tenant after the one that fails was swept %d times", n)
		}
		if r.attic.due["keys"] > 0 {
			t.Error("an error of one kind kept the others from being swept")
		}
		if !strings.Contains(r.log.String(), "sweeping tenant eve: no such table") || r.metric("penstock_sweep_errors_total") != "10" {
			t.Errorf("errors are not logged:\n%s", r.log)
		}
	})
}

// TestWalkOverBlobs holds that the walk goes on page by page, begins anew an hour after its end, and spares
// what is too young to be judged.
func TestWalkOverBlobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.attic.pages = 3*TurnSteps + 1
		start := time.Now()
		r.run(30 * time.Minute)
		if n := len(r.attic.blobs); n != 3*TurnSteps+1 {
			t.Fatalf("%d pages in the first walk", n)
		}
		if first := r.attic.blobs[0]; first.After == "" || !first.StoredBefore.Equal(start.Add(-BlobGrace)) || first.Limit != StepBlobs {
			t.Errorf("the first page is %+v", first)
		}
		for i, p := range r.attic.blobs[1:] {
			if want := fmt.Sprintf("page-%d", 3*TurnSteps-i); p.After != want {
				t.Errorf("page %d begins behind %q, want %q", i+1, p.After, want)
			}
		}
		r.run(WalkInterval)
		if n := len(r.attic.blobs); n != 3*TurnSteps+2 || r.attic.blobs[n-1].After != "" {
			t.Errorf("the next walk has %d pages, the last from %q", n, r.attic.blobs[n-1].After)
		}
	})
}

func TestManyTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.attic.tenants = nil
		for i := range 2*tenantPage + 1 {
			id := fmt.Sprintf("tenant-%04d", i)
			r.attic.tenants = append(r.attic.tenants, penstock.TenantID(id))
			r.attic.due["jobs "+id] = 1
		}
		if _, err := r.runOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, left := range r.attic.due {
			if left > 0 {
				t.Errorf("%s: %d are left", name, left)
			}
		}
	})
}

func TestStopsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.attic.due["keys"] = 1 << 30
		began := time.Now()
		r.run(30 * time.Millisecond)
		if took := time.Since(began); took > 30*time.Millisecond+StepRows*rowCost {
			t.Errorf("it took %v to stop", took)
		}
		if r.log.Len() > 0 {
			t.Errorf("a stop is no error:\n%s", r.log)
		}
	})
}

func TestNewWantsEverything(t *testing.T) {
	t.Parallel()
	if _, err := New(Deps{}); err == nil {
		t.Error("a sweeper without a store was made")
	}
}

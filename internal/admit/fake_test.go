package admit

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/directory"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

var now = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

// submits records submissions and returns the configured answers.
type submits struct {
	tenants  []penstock.TenantID
	got      []store.Submission
	replayed bool
	keyed    map[string]penstock.Job // by key and hash
	err      error
}

func (s *submits) JobByKey(_ context.Context, _ penstock.TenantID, key store.IdempotencyKey) (penstock.Job, error) {
	if job, ok := s.keyed[key.Key+"/"+string(key.BodyHash)]; ok {
		return job, nil
	}
	return penstock.Job{}, penstock.Errorf(penstock.CodeNotFound, "There is none.")
}

func (s *submits) SubmitJob(_ context.Context, tenant penstock.TenantID, sub store.Submission) (store.Receipt, error) {
	s.tenants, s.got = append(s.tenants, tenant), append(s.got, sub)
	job := sub.Job
	job.Tenant = tenant
	job.Counts.Total = len(sub.Items)
	return store.Receipt{Job: job, Replayed: s.replayed}, s.err
}

// Backlogs returns nothing: the view counts what it admitted itself.
func (s *submits) Backlogs(context.Context) ([]store.Backlog, error) { return nil, nil }

// bounds are what the queue may hold, none by default.
type bounds struct{ all, tenant backlog.Bounds }

func (b *bounds) All() backlog.Bounds                     { return b.all }
func (b *bounds) Tenant(penstock.TenantID) backlog.Bounds { return b.tenant }

// rig is a service over a store that only records. Its caller may do everything.
type rig struct {
	*Service
	t        *testing.T
	notified <-chan struct{}
	store    *submits
	disk     *disk
	bounds   *bounds
	caller   penstock.Principal

	controls holds
}

// holds are the paused names, by kind.
type holds map[store.ControlKind]string

func (h holds) Paused(kind store.ControlKind, name string) (store.Control, bool) {
	return store.Control{Kind: kind, Name: name, State: store.ControlPaused, Reason: "maintenance"}, h[kind] == name
}

func (h holds) Open(targets []string) []string {
	return slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return t == h[store.ControlTarget] })
}

// disk returns the configured refusal, and counts the reports that it is full.
type disk struct {
	refusal error
	full    int
}

func (d *disk) Refusal() error { return d.refusal }
func (d *disk) Full()          { d.full++ }

const secret = "psk_7gq2xk9dmw4ztfv8hsb3rnj6cp"

func newRig(t *testing.T, edit ...func(*config.File)) *rig {
	t.Helper()
	file := config.File{
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI}},
		Targets: map[string]config.TargetConfig{
			"cheap":  {Provider: "up", UpstreamModel: "c", MaxOutputTokens: 1000, Price: config.Price{Input: "1", Output: "2"}},
			"costly": {Provider: "up", UpstreamModel: "d", MaxOutputTokens: 100, Price: config.Price{Input: "10", Output: "20"}},
		},
		Models: map[string]config.ModelConfig{
			"fast": {Targets: []string{"cheap"}}, "smart": {Targets: []string{"costly", "cheap"}},
		},
		Tenants: map[string]config.TenantConfig{"search": {Keys: []config.KeyConfig{
			{Name: "app", Secret: config.NewSecret(secret), Scopes: []penstock.Scope{penstock.ScopeInference, penstock.ScopeJobsRead}},
		}}},
	}
	for _, e := range edit {
		e(&file)
	}
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	s, work, disk, controls := &submits{}, signal.NewTopic[signal.None](nil, signal.Work), &disk{}, holds{}
	bounds, live := &bounds{}, config.NewLive(snapshot)
	view, err := backlog.New(backlog.Deps{
		Source: s, Limits: bounds, Failed: func() {}, Log: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t: t, store: s, disk: disk, bounds: bounds, notified: work.SubscribeAll().C, controls: controls,
		Service: New(Deps{
			Config: live, Principals: directory.New(directory.Deps{Config: live, Clock: time.Now}), Jobs: s, Disk: disk, Backlog: view, Work: work, Controls: controls, Metrics: telemetry.NewMetrics("test", ""),
			Clock: func() time.Time { return now },
		}),
		caller: penstock.Principal{Tenant: penstock.Tenant{ID: "search", Weight: 1, Lanes: penstock.Lanes}, Key: "app", Scopes: penstock.Scopes},
	}
}

// order is the smallest job.
func order() JobOrder {
	return JobOrder{Model: "fast", Inferences: []dialect.Inference{{Object: body.Object{Text: []byte(`{"messages":[]}`)}}}}
}

// admit submits an order, which must be accepted, and returns what reached the store.
func (r *rig) admit(o JobOrder) store.Submission {
	r.t.Helper()
	if _, err := r.Job(r.t.Context(), r.caller, o); err != nil {
		r.t.Fatalf("job: %v", err)
	}
	return r.store.got[len(r.store.got)-1]
}

func (r *rig) wasNotified() bool {
	select {
	case <-r.notified:
		return true
	default:
		return false
	}
}

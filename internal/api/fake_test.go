package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/attempt"
	"penstock/internal/backlog"
	"penstock/internal/budget"
	"penstock/internal/cache"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/limit"
	"penstock/internal/provider"
	"penstock/internal/record"
	"penstock/internal/request"
	"penstock/internal/rest"
	routing "penstock/internal/route"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

const (
	testKey  = "psk_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	otherKey = "psk_n4w8bq2zt7kxv9gd3mhfj6sprc" // of another tenant, and it uses the cache
)

// upstream answers as the test says, and keeps the last call.
type upstream struct {
	speaks []penstock.Endpoint
	reply  func(ctx context.Context, call provider.Call) (provider.Answer, error)
}

func (u *upstream) Provider(string) (provider.Provider, bool) { return u, true }

func (u *upstream) Speaks(e penstock.Endpoint) bool { return slices.Contains(u.speaks, e) }

func (u *upstream) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	return u.reply(ctx, call)
}

// frames is an answer that is there in full, or goes on until its context ends.
type frames struct {
	ctx   context.Context
	wires []string
	err   error // how it ends; io.EOF when nil
	hangs bool  // after its frames, until the context ends
	meta  provider.Meta
}

func (f *frames) Next() (provider.Chunk, error) {
	if len(f.wires) > 0 {
		wire := f.wires[0]
		f.wires = f.wires[1:]
		return provider.Chunk{Wire: []byte(wire)}, nil
	}
	if f.hangs {
		<-f.ctx.Done()
		return provider.Chunk{}, &provider.Error{Kind: provider.KindCancelled, Message: "cancelled", Err: f.ctx.Err()}
	}
	if f.err != nil {
		return provider.Chunk{}, f.err
	}
	return provider.Chunk{}, io.EOF
}

func (f *frames) Meta() provider.Meta { return f.meta }
func (f *frames) Close() error        { return nil }

// rig is the API over a scripted upstream and a store that only records.
type rig struct {
	t        *testing.T
	url      string
	server   *Server
	upstream *upstream
	store    *submits
	recorder *record.Recorder
	metrics  *telemetry.Metrics
}

// submits keeps the jobs that were submitted.
type submits struct{ got []store.Submission }

func (s *submits) JobByKey(context.Context, penstock.TenantID, store.IdempotencyKey) (penstock.Job, error) {
	return penstock.Job{}, penstock.Errorf(penstock.CodeNotFound, "There is none.")
}

func (s *submits) SubmitJob(_ context.Context, _ penstock.TenantID, sub store.Submission) (store.Receipt, error) {
	s.got = append(s.got, sub)
	return store.Receipt{Job: sub.Job}, nil
}

func (s *submits) Backlogs(context.Context) ([]store.Backlog, error) { return nil, nil }

// open is a fake without pauses, without bounds and with endless disk space.
type open struct{}

func (open) Paused(store.ControlKind, string) (store.Control, bool) { return store.Control{}, false }
func (open) Open(targets []string) []string                         { return targets }
func (open) Refusal() error                                         { return nil }
func (open) Full()                                                  {}
func (open) All() backlog.Bounds                                    { return backlog.Bounds{} }
func (open) Tenant(penstock.TenantID) backlog.Bounds                { return backlog.Bounds{} }

func newRig(t *testing.T, speaks ...penstock.Endpoint) *rig {
	t.Helper()
	return newLimitedRig(t, config.TenantLimits{}, speaks...)
}

// newLimitedRig is a rig whose tenant has limits.
func newLimitedRig(t *testing.T, limits config.TenantLimits, speaks ...penstock.Endpoint) *rig {
	t.Helper()
	snapshot, err := config.NewSnapshot(config.File{
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI}},
		Targets: map[string]config.TargetConfig{"main": {Provider: "up", UpstreamModel: "upstream-1", MaxOutputTokens: 100,
			Price: config.Price{Input: "1", Output: "2"}}},
		Models: map[string]config.ModelConfig{"fast": {Targets: []string{"main"}},
			"smart": {Targets: []string{"main"}, Cache: config.CacheUse{TTL: time.Minute}}},
		Tenants: map[string]config.TenantConfig{
			"search": {Limits: limits, Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(testKey), Scopes: penstock.Scopes}}},
			"other": {Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(otherKey), Scopes: penstock.Scopes,
				Cache: config.CacheUse{TTL: time.Minute}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	metrics := telemetry.NewMetrics("test", "")
	began := time.Now()
	still := func() time.Time { return began } // however long a test takes, no limit fills up again
	r := &rig{t: t, upstream: &upstream{speaks: speaks}, store: &submits{}, metrics: metrics}
	live, log := config.NewLive(snapshot), slog.New(slog.DiscardHandler)
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := backlog.New(backlog.Deps{Source: r.store, Limits: open{}, Failed: func() {}, Log: log, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	r.recorder = record.New(record.Deps{Store: requests{}, Log: log})
	admission := admit.New(admit.Deps{Config: live, Principals: directory.New(directory.Deps{Config: live, Clock: time.Now}), Jobs: r.store, Disk: open{}, Backlog: view, Work: signal.NewTopic[signal.None](nil, signal.Work),
		Controls: open{}, Limits: limit.New(capacity.New(capacity.Config{Clock: still}), nil), Metrics: metrics, Clock: time.Now})
	runner := attempt.New(attempt.Deps{Config: live, Providers: r.upstream, Router: routing.New(capacity.New(capacity.Config{Clock: time.Now})),
		Metrics: metrics, Tracer: tracer, Log: log, Clock: time.Now})
	s, err := New(Deps{
		RefusingUploads: func(context.Context) error { return nil },
		Config:          live, Backlog: view, Metrics: metrics, Tracer: tracer, Log: log, Clock: time.Now, Admit: admission,
		Requests: request.New(request.Deps{
			Config: live, Admit: admission, Budgets: budget.New(budget.Deps{Clock: time.Now}), Runner: runner, Recorder: r.recorder,
			Cache: cache.New(cache.Config{MaxBytes: 1 << 20, MaxEntryBytes: 1 << 17, Clock: time.Now}), Status: rest.Status, Metrics: metrics, Clock: time.Now,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	r.url, r.server = server.URL, s
	return r
}

// answers makes the upstream answer every call with a copy of f.
func (r *rig) answers(f frames) {
	r.upstream.reply = func(ctx context.Context, _ provider.Call) (provider.Answer, error) {
		f.ctx = ctx
		return &f, nil
	}
}

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	body   string
}

// post sends a body with headers given as names and values. The key is in x-api-key, where Anthropic's
// SDK puts it, unless another is given.
func (r *rig) post(path, body string, headers ...string) reply {
	return r.do(http.MethodPost, path, body, headers...)
}

func (r *rig) get(path string, headers ...string) reply {
	return r.do(http.MethodGet, path, "", headers...)
}

func (r *rig) do(method, path, body string, headers ...string) reply {
	r.t.Helper()
	resp, err := http.DefaultClient.Do(r.request(method, path, body, headers...))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

func (r *rig) request(method, path, body string, headers ...string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("x-api-key", testKey)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// requests is a store that has no requests: all that is recorded is still pending.
type requests struct{}

func (requests) RecordRequests(context.Context, []penstock.Request) error { return nil }
func (requests) Request(context.Context, penstock.TenantID, penstock.ID) (penstock.Request, error) {
	return penstock.Request{}, penstock.Errorf(penstock.CodeNotFound, "It is not recorded yet.")
}

// recorded waits for the record of a call, which is made behind its answer.
func (r *rig) recorded(answer http.Header) penstock.Request {
	r.t.Helper()
	id, err := penstock.ViewRequest.Parse(answer.Get("x-request-id"))
	if err != nil {
		r.t.Fatal(err)
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	late := time.After(5 * time.Second)
	for {
		if got, err := r.recorder.Request(r.t.Context(), "search", id); err == nil {
			return got
		}
		select {
		case <-look.C:
		case <-late:
			r.t.Fatal("the call was not recorded")
		}
	}
}

// awaitAnswers waits until so many calls found something in the cache.
func (r *rig) awaitAnswers(t *testing.T, result string, n int) {
	t.Helper()
	want := fmt.Sprintf(`penstock_cache_answers_total{model="smart",result=%q} %d`, result, n)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	late := time.After(5 * time.Second)
	for {
		w := httptest.NewRecorder()
		r.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		if strings.Contains(w.Body.String(), want) {
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("there is no %s", want)
		}
	}
}

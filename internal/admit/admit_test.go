package admit

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	caller, err := r.Authenticate(secret)
	if err != nil || caller.Tenant.ID != "search" || caller.Key != "app" {
		t.Errorf("got %+v, %v", caller, err)
	}
	for name, wrong := range map[string]string{
		"none": "", "unknown": "psk_n4w8bq2zt7kxv9gd3mhfj6sprc", "cut": secret[:len(secret)-1], "longer": secret + "0",
		"with the scheme": "Bearer " + secret, "very long": strings.Repeat("x", 1<<20),
	} {
		caller, err := r.Authenticate(wrong)
		if penstock.ErrorCode(err) != penstock.CodeInvalidKey || caller.Key != "" {
			t.Errorf("%s: got %+v, %v; want invalid_key", name, caller, err)
		}
		if wrong != "" && strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: the error repeats the key", name)
		}
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	for _, has := range penstock.Scopes {
		for _, wants := range penstock.Scopes {
			err := Require(penstock.Principal{Key: "app", Scopes: []penstock.Scope{has}}, wants)
			if (err == nil) != (has == wants) {
				t.Errorf("a key with %s: %s is answered %v", has, wants, err)
			}
		}
	}
	err := Require(penstock.Principal{Key: "app", Scopes: []penstock.Scope{penstock.ScopeInference}}, penstock.ScopeJobsWrite)
	e := penstock.AsError(err)
	if e.Code != penstock.CodeScopeMissing || !strings.Contains(e.Message, "jobs:write") || !strings.Contains(e.Message, "inference") || !strings.Contains(e.Message, "app") {
		t.Errorf("got %+v; want the key, the scope and the scopes that it has", e)
	}
	if err := Require(penstock.Principal{}, penstock.ScopeJobsRead); penstock.ErrorCode(err) != penstock.CodeScopeMissing {
		t.Errorf("a key without scopes: %v", err)
	}
}

func TestJobTakesDefaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sub := r.admit(order())
	hash := r.Config.Current().Hash
	want := store.Submission{
		Job: penstock.Job{
			ID: sub.Job.ID, Key: "app", Endpoint: penstock.EndpointChat, Model: "fast", Lane: penstock.LaneStandard,
			MaxAttempts: 4, ItemTimeout: 5 * time.Minute, QueueTokens: 15 + 1000,
			Resolved: penstock.Resolved{Config: hash, Model: "fast", Policy: "ordered", Targets: []string{"cheap"}},
		},
		DeadlineIn: 24 * time.Hour,
		Items:      []store.NewItem{{Body: []byte(`{"messages":[]}`), EstimateTokens: 15 + 1000, Reserved: 15*1000 + 1000*2000}},
	}
	if diff := cmp.Diff(want, sub); diff != "" {
		t.Errorf("submission (-want +got):\n%s", diff)
	}
	if !sub.Job.ID.Valid() || r.store.tenants[0] != "search" {
		t.Errorf("job id %q for tenant %q", sub.Job.ID, r.store.tenants[0])
	}
}

func TestJobKeepsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := JobOrder{
		Endpoint: penstock.EndpointChat, Model: "smart", Lane: penstock.LaneBulk, Deadline: now.Add(time.Hour), MaxAttempts: 20,
		ItemTimeout: time.Hour, Tags: map[string]string{"team": "search"}, TraceParent: "00-trace", IdempotencyKey: "once", BodyHash: []byte("hash"),
		Inferences: []dialect.Inference{{CustomID: "one", Object: body.Object{Text: []byte(`{}`)}, MaxOutputTokens: 5}, {CustomID: "two", Object: body.Object{Text: []byte(`{"a":1}`)}}},
	}
	sub := r.admit(o)
	want := store.Submission{
		Job: penstock.Job{
			ID: sub.Job.ID, Key: "app", Endpoint: penstock.EndpointChat, Model: "smart", Lane: penstock.LaneBulk, Tags: o.Tags,
			MaxAttempts: 20, ItemTimeout: time.Hour, TraceParent: "00-trace", Deadline: now.Add(time.Hour), QueueTokens: 2 + 5 + 7 + 1000,
			Resolved: penstock.Resolved{Config: r.Config.Current().Hash, Model: "smart", Policy: "ordered", Targets: []string{"costly", "cheap"}},
		},
		DeadlineIn: DefaultDeadline,
		Items: []store.NewItem{
			{CustomID: "one", Body: []byte(`{}`), EstimateTokens: 2 + 5, Reserved: 2*10_000 + 5*20_000},
			{CustomID: "two", Body: []byte(`{"a":1}`), EstimateTokens: 7 + 1000, Reserved: 7*10_000 + 100*20_000},
		},
		Idempotency: &store.IdempotencyKey{Key: "once", BodyHash: []byte("hash"), TTL: 24 * time.Hour},
	}
	if diff := cmp.Diff(want, sub); diff != "" {
		t.Errorf("submission (-want +got):\n%s", diff)
	}
}

func TestJobsHaveDifferentIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if one, two := r.admit(order()).Job.ID, r.admit(order()).Job.ID; one >= two {
		t.Errorf("ids %s and %s do not ascend", one, two)
	}
}

func TestJobNeedsItsScope(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.caller.Scopes = []penstock.Scope{penstock.ScopeInference, penstock.ScopeJobsRead}
	if _, err := r.Job(t.Context(), r.caller, order()); penstock.ErrorCode(err) != penstock.CodeScopeMissing || len(r.store.got) > 0 {
		t.Errorf("got %v and %d submits, want scope_missing and none", err, len(r.store.got))
	}
}

// Admitting does not notify the workers: the answer goes out first.
func TestRefusedJobsNotifyNoWorker(t *testing.T) {
	t.Parallel()
	broken := penstock.Errorf(penstock.CodeIdempotencyMismatch, "Another payload.")
	for _, tt := range []struct {
		name  string
		store submits
		order func(*JobOrder)
	}{
		{"new", submits{}, nil},
		{"replayed", submits{replayed: true}, nil},
		{"refused by the store", submits{err: broken}, nil},
		{"refused before it", submits{}, func(o *JobOrder) { o.Model = "" }},
	} {
		r := newRig(t)
		*r.store = tt.store
		o := order()
		if tt.order != nil {
			tt.order(&o)
		}
		receipt, err := r.Job(t.Context(), r.caller, o)
		if r.wasNotified() {
			t.Errorf("%s: workers were notified", tt.name)
		}
		if tt.store.err != nil && !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want the store's", tt.name, err)
		}
		if receipt.Replayed != tt.store.replayed {
			t.Errorf("%s: replayed is %v", tt.name, receipt.Replayed)
		}
	}
}

func TestAdmissionIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Metrics.Admit(telemetryNames)
	r.admit(order())
	bad := order()
	bad.Model = "nope"
	_, _ = r.Job(t.Context(), r.caller, bad)
	r.store.replayed = true
	r.admit(order())
	w := httptest.NewRecorder()
	r.Metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`penstock_jobs_accepted_total{lane="standard",model="fast",tenant="search"} 1`,
		`penstock_jobs_rejected_total{code="model_not_found"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestModelNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := order()
	o.Model = "fsat"
	_, jobErr := r.Job(t.Context(), r.caller, o)
	_, requestErr := r.Request(t.Context(), r.caller, RequestOrder{Model: "fsat"})
	for name, err := range map[string]error{"job": jobErr, "request": requestErr} {
		e := penstock.AsError(err)
		if e.Code != penstock.CodeModelNotFound || e.Param != "model" {
			t.Errorf("%s: %+v, want model_not_found for model", name, e)
		}
		if !strings.Contains(e.Message, `"fsat"`) || !strings.Contains(e.Message, "fast, smart") {
			t.Errorf("%s: %q does not name the unknown model and the configured ones", name, e.Message)
		}
	}
}

func TestModelNotFoundStaysShort(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) {
		for i := range 100 {
			f.Models["m"+string(rune('a'+i/10))+string(rune('0'+i%10))] = config.ModelConfig{Targets: []string{"cheap"}}
		}
	})
	for _, name := range []string{strings.Repeat("x", MaxModelBytes), "x" + strings.Repeat("é", 100)} {
		_, err := r.Request(t.Context(), r.caller, RequestOrder{Model: name})
		if e := penstock.AsError(err); len(e.Message) > 400 || !strings.Contains(e.Message, "all 102") || !utf8.ValidString(e.Message) {
			t.Errorf("%d bytes: %.200q", len(e.Message), e.Message)
		}
	}
}

func TestFallbackModelAnswersForUnknownNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) { f.FallbackModel = "smart" })
	o := order()
	o.Model = "gpt-anything"
	job := r.admit(o).Job
	if job.Model != "gpt-anything" || job.Resolved.Model != "smart" || !cmp.Equal(job.Resolved.Targets, []string{"costly", "cheap"}) {
		t.Errorf("model %q resolved to %+v", job.Model, job.Resolved)
	}
}

// With a fallback model any name is taken, and it is stored with every item of the job.
func TestModelNameIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) { f.FallbackModel = "smart" })
	longest := order()
	longest.Model = strings.Repeat("x", MaxModelBytes)
	r.admit(longest)
	for _, name := range []string{"", strings.Repeat("x", MaxModelBytes+1), "a\x00b", "a\nb", "a\xff"} {
		o := order()
		o.Model = name
		_, jobErr := r.Job(t.Context(), r.caller, o)
		_, requestErr := r.Request(t.Context(), r.caller, RequestOrder{Model: name})
		for what, err := range map[string]error{"job": jobErr, "request": requestErr} {
			if e := penstock.AsError(err); err == nil || e.Code != penstock.CodeInvalidRequest || e.Param != "model" {
				t.Errorf("%s: model %.20q is answered %v, want invalid_request for model", what, name, err)
			}
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "smart", Inference: dialect.Inference{Object: body.Object{Text: []byte(`{}`)}, MaxOutputTokens: 7}})
	want := Admitted{Targets: []string{"costly", "cheap"}, Bound: 2*10_000 + 7*20_000,
		Model: r.Config.Current().Models["smart"], Resolved: []string{"costly", "cheap"}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if len(r.store.got) > 0 || r.wasNotified() {
		t.Error("a request touched the store or notified workers")
	}
}

func TestRequestNeedsScopeAndLane(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	noScope := r.caller
	noScope.Scopes = []penstock.Scope{penstock.ScopeJobsWrite, penstock.ScopeJobsRead}
	if _, err := r.Request(t.Context(), noScope, RequestOrder{Model: "fast"}); penstock.ErrorCode(err) != penstock.CodeScopeMissing {
		t.Errorf("without the scope: %v", err)
	}
	noLane := r.caller
	noLane.Tenant.Lanes = []penstock.Lane{penstock.LaneBulk}
	_, err := r.Request(t.Context(), noLane, RequestOrder{Model: "fast"})
	if e := penstock.AsError(err); e.Code != penstock.CodeInvalidRequest || e.Param != "lane" {
		t.Errorf("without the lane: %+v", e)
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	cheap := &penstock.Target{Name: "cheap", MaxOutputTokens: 1000, Price: penstock.Price{Input: 1_000_000, CachedInput: 500_000, Output: 2_000_000}}
	costly := &penstock.Target{Name: "costly", MaxOutputTokens: 100, Price: penstock.Price{Input: 10_000_000, CachedInput: 1_000_000, Output: 20_000_000}}
	free := &penstock.Target{Name: "free", MaxOutputTokens: 5000}
	text := []byte(strings.Repeat("x", 50))
	for _, tt := range []struct {
		name    string
		targets []*penstock.Target
		inf     dialect.Inference
		want    Most
	}{
		{"the caller's maximum", []*penstock.Target{cheap}, dialect.Inference{Object: body.Object{Text: text}, MaxOutputTokens: 10}, Most{60, 50*1_000 + 10*2_000}},
		{"the target's maximum", []*penstock.Target{cheap}, dialect.Inference{Object: body.Object{Text: text}}, Most{1050, 50*1_000 + 1000*2_000}},
		{"the costliest target", []*penstock.Target{cheap, costly}, dialect.Inference{Object: body.Object{Text: text}, MaxOutputTokens: 10}, Most{60, 50*10_000 + 10*20_000}},
		{"each target's own maximum", []*penstock.Target{costly, cheap}, dialect.Inference{Object: body.Object{Text: text}}, Most{1050, 50*10_000 + 100*20_000}},
		{"most tokens on a free one", []*penstock.Target{cheap, free}, dialect.Inference{Object: body.Object{Text: text}}, Most{5050, 50*1_000 + 1000*2_000}},
		{"more than the target gives", []*penstock.Target{costly}, dialect.Inference{Object: body.Object{Text: text}, MaxOutputTokens: 500}, Most{550, 50*10_000 + 500*20_000}},
		{"bytes, not characters", []*penstock.Target{cheap}, dialect.Inference{Object: body.Object{Text: []byte("éé")}, MaxOutputTokens: 1}, Most{5, 4*1_000 + 2_000}},
		{"no target", nil, dialect.Inference{Object: body.Object{Text: text}}, Most{}},
	} {
		if got := Bound(tt.targets, tt.inf, Terms{}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestBoundSaturates(t *testing.T) {
	t.Parallel()
	got := Bound([]*penstock.Target{{Price: penstock.Price{Output: 1_000_000}}}, dialect.Inference{Object: body.Object{Text: []byte("{}")}, MaxOutputTokens: math.MaxInt64}, Terms{})
	if got.Tokens < 1<<53 || got.Cost != MaxReservation {
		t.Errorf("got %+v, want the most that there is", got)
	}
}

// The reservation of a job is one number, which decides whether a hard budget accepts the job.
func TestSumOfReservationsFits(t *testing.T) {
	t.Parallel()
	if most := penstock.NanoUSD(math.MaxInt64 / max(config.MaxInputs, MaxRetryItems)); MaxReservation > most {
		t.Errorf("the sum over the items of a job overflows: each reserves up to %d, and may reserve %d", MaxReservation, most)
	}
}

func TestBoundCoversCachedInputThatCostsMore(t *testing.T) {
	t.Parallel()
	target := penstock.Target{Price: penstock.Price{Input: 1_000_000, CachedInput: 5_000_000, Output: 1_000_000}}
	got := Bound([]*penstock.Target{&target}, dialect.Inference{Object: body.Object{Text: []byte(strings.Repeat("x", 10))}, MaxOutputTokens: 1}, Terms{})
	if most := target.Price.Cost(penstock.Usage{InputTokens: 10, CachedInputTokens: 10, OutputTokens: 1}); got.Cost < most {
		t.Errorf("bound %v, but it can cost %v", got.Cost, most)
	}
}

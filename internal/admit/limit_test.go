package admit

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/limit"
)

// limited gives a rig a limiter and its caller some limits.
func limited(t *testing.T, l penstock.Limits) *rig {
	t.Helper()
	r := newRig(t)
	r.Limits = limit.New(capacity.New(capacity.Config{Clock: r.Clock}), nil)
	l.Burst, l.Wait = 0.05, penstock.NoLimitWait
	r.caller.Tenant.Limits = l
	return r
}

// A submit counts as one request, whatever it contains; a synchronous call counts as one request and its tokens.
func TestSubmitsCountAsRequests(t *testing.T) {
	t.Parallel()
	r := limited(t, penstock.Limits{RequestsPerMinute: 60, InputTokensPerMinute: 20})
	r.admit(order())
	big := order()
	big.Inferences = []dialect.Inference{{Object: body.Object{Text: []byte(`{"messages":["` + strings.Repeat("x", 4000) + `"]}`)}}}
	r.admit(big)
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: big.Inferences[0]}); err != nil {
		t.Fatalf("jobs took tokens of calls: %v", err)
	}
	before := len(r.store.got)
	_, err := r.Job(t.Context(), r.caller, order())
	if e := penstock.AsError(err); e.Code != penstock.CodeRateLimited || !strings.Contains(e.Message, "60 requests a minute") || e.RetryAfter == 0 {
		t.Errorf("a fourth: %v", err)
	}
	if len(r.store.got) != before {
		t.Error("a refused job was written")
	}
}

// A call that runs as a job, so that it does not run twice, has the same limits as any other call.
func TestKeyedCallsAreCalls(t *testing.T) {
	t.Parallel()
	r := limited(t, penstock.Limits{InputTokensPerMinute: 20})
	o := order()
	o.Scope, o.Lane = penstock.ScopeInference, penstock.LaneRealtime
	r.admit(o)
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeRateLimited {
		t.Errorf("a second: %v", err)
	}
}

func TestFreeCallsTakeNoTokens(t *testing.T) {
	t.Parallel()
	r := limited(t, penstock.Limits{InputTokensPerMinute: 20, RequestsPerMinute: 1000})
	for range 20 {
		a, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: dialect.Inference{Object: body.Object{Text: make([]byte, 400)}}, Free: true})
		if err != nil || a.Bound != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
}

// A dry run counts as a request only: it takes no tokens, and an exhausted daily limit refuses the job, not the dry run.
func TestDryRunsCountAsRequests(t *testing.T) {
	t.Parallel()
	r := limited(t, penstock.Limits{RequestsPerMinute: 60, InputTokensPerMinute: 20, DailyTokens: 1000, Concurrency: 1})
	if trial, err := r.Try(t.Context(), r.caller, order()); err != nil || trial.Refusal != nil {
		t.Fatalf("the first: %+v, %v", trial, err)
	}
	limitHold, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: dialect.Inference{Object: body.Object{Text: make([]byte, 8000)}}})
	if err != nil {
		t.Fatalf("a call after a dry run: %v", err)
	}
	trial, err := r.Try(t.Context(), r.caller, order()) // while the tokens of the day and of the minute are exhausted
	if err != nil || penstock.ErrorCode(trial.Refusal) != penstock.CodeRateLimited || !strings.Contains(trial.Refusal.Error(), "tokens a day") {
		t.Errorf("one whose day is used up: %v, %v", trial.Refusal, err)
	}
	limitHold.LimitHold.Release()
	if _, err := r.Try(t.Context(), r.caller, order()); err != nil {
		t.Errorf("one for the request that was given back: %v", err)
	}
	_, err = r.Try(t.Context(), r.caller, order())
	if e := penstock.AsError(err); e == nil || e.Code != penstock.CodeRateLimited || !strings.Contains(e.Message, "60 requests a minute") || e.RetryAfter == 0 {
		t.Errorf("a fourth: %v", err)
	}
	if _, err := r.Job(t.Context(), r.caller, order()); penstock.ErrorCode(err) != penstock.CodeRateLimited {
		t.Errorf("a submit after three dry runs: %v", err)
	}
}

// The limits of a model apply to it under every name that resolves to it.
func TestFallbackIsNoWayAroundLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) { f.FallbackModel = "fast" })
	r.Limits = limit.New(capacity.New(capacity.Config{Clock: r.Clock}), nil)
	r.caller.Tenant.ModelLimits = map[string]penstock.Limits{"fast": {RequestsPerMinute: 60, Burst: 0.05, Wait: penstock.NoLimitWait}}
	other := order()
	other.Model = "anything"
	r.admit(other)
	if _, err := r.Try(t.Context(), r.caller, other); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "something"}); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"fast", "anything"} {
		_, err := r.Request(t.Context(), r.caller, RequestOrder{Model: model})
		if e := penstock.AsError(err); e == nil || e.Code != penstock.CodeRateLimited || !strings.Contains(e.Message, "Tenant search with model fast") {
			t.Errorf("a fourth, for %s: %v", model, err)
		}
		if all := r.AppendLimitStates(nil, &r.caller, model); len(all) != 1 || all[0].Kind != capacity.KindModel || all[0].Left != 0 {
			t.Errorf("asking for %s, the caller gets %+v", model, all)
		}
	}
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "smart"}); err != nil {
		t.Errorf("another model: %v", err)
	}
}

package admit

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

func TestWhatIsHeldBackRefusesCallsAndAcceptsJobs(t *testing.T) {
	t.Parallel()
	for kind, name := range map[store.ControlKind]string{
		store.ControlTenant: "search", store.ControlLane: "realtime", store.ControlModel: "fast", store.ControlTarget: "cheap",
	} {
		r := newRig(t)
		r.controls[kind] = name
		_, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast"})
		e := penstock.AsError(err)
		if e.Code != penstock.CodeOverloaded || e.RetryAfter <= 0 || !strings.Contains(e.Message, name+": maintenance") {
			t.Errorf("%s: a call got %+v, want overloaded with the operator's reason", kind, e)
		}
		o := order()
		o.Lane = penstock.LaneRealtime
		job := r.admit(o).Job
		job.Tenant, job.Counts.Queued = "search", 1
		if !r.Held(job) {
			t.Errorf("%s: the job is not reported as held", kind)
		}
		if job.Counts.Queued = 0; r.Held(job) {
			t.Errorf("%s: a job without queued items is reported as held", kind)
		}
	}
}

func TestWhatIsNotHeldBackRuns(t *testing.T) {
	t.Parallel()
	for kind, name := range map[store.ControlKind]string{
		store.ControlTenant: "other", store.ControlLane: "bulk", store.ControlModel: "smart", store.ControlTarget: "costly",
	} {
		r := newRig(t)
		r.controls[kind] = name
		if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast"}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		job := r.admit(order()).Job
		job.Tenant, job.Counts.Queued = "search", 1
		if r.Held(job) {
			t.Errorf("%s: the job is reported as held", kind)
		}
	}
}

// A model with an open target runs without its paused targets.
func TestAHeldTargetIsPassedOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.controls[store.ControlTarget] = "costly"
	for range 2 {
		admitted, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "smart"})
		if err != nil || len(admitted.Targets) != 1 || admitted.Targets[0] != "cheap" {
			t.Errorf("admitted to %v, %v; want cheap alone", admitted.Targets, err)
		}
	}
	delete(r.controls, store.ControlTarget)
	if admitted, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "smart"}); err != nil || len(admitted.Targets) != 2 {
		t.Errorf("admitted to %v, %v after it was resumed; want both", admitted.Targets, err)
	}
}

// A call with a key runs as a job, but its caller waits: it is refused, unless it was accepted before.
func TestAKeyedCallIsRefusedUnlessItRanBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.controls[store.ControlModel] = "fast"
	o := order()
	o.Scope, o.Lane, o.IdempotencyKey, o.BodyHash = penstock.ScopeInference, penstock.LaneRealtime, "k", []byte("h")
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeOverloaded || len(r.store.got) != 0 {
		t.Errorf("a new call got %v and stored %d jobs, want overloaded and none", err, len(r.store.got))
	}
	r.store.keyed = map[string]penstock.Job{"k/h": {ID: "job"}}
	if receipt, err := r.Job(t.Context(), r.caller, o); err != nil || !receipt.Replayed {
		t.Errorf("a call that ran before got %+v, %v; want its job", receipt, err)
	}
}

// A paused model is paused under every name that resolves to it.
func TestFallbackIsNoWayAroundAPause(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) { f.FallbackModel = "fast" })
	o := order()
	o.Model = "anything"
	for _, paused := range []string{"fast", "anything"} {
		r.controls[store.ControlModel] = paused
		if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "anything"}); penstock.ErrorCode(err) != penstock.CodeOverloaded {
			t.Errorf("with %s paused, a call got %v", paused, err)
		}
		job := r.admit(o).Job
		job.Tenant, job.Counts.Queued = "search", 1
		if !r.Held(job) {
			t.Errorf("with %s paused, a job is not said to be held back", paused)
		}
		if trial, err := r.Try(t.Context(), r.caller, o); err != nil || !trial.Held {
			t.Errorf("with %s paused, a dry run says %+v, %v", paused, trial, err)
		}
	}
	r.controls[store.ControlModel] = "smart"
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "anything"}); err != nil {
		t.Errorf("with another model paused: %v", err)
	}
}

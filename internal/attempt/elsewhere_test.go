package attempt

import (
	"context"
	"errors"
	"testing"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/provider"
)

// elsewhere plays what another process comes to, by target, and keeps where it was asked.
type elsewhere struct {
	by     map[string]Tried
	places []Place
}

func (e *elsewhere) run(_ context.Context, at Place) Tried {
	e.places = append(e.places, at)
	return e.by[at.Target.Name]
}

func (e *elsewhere) targets() (names []string) {
	for _, p := range e.places {
		names = append(names, p.Target.Name)
	}
	return names
}

// tried is one attempt that another process made.
func tried(target string, err error) Tried {
	out := &Outcome{
		Attempts: []penstock.Attempt{{ID: "id", Subject: "subject", Number: 1, Fence: 7, Target: target, StatusCode: 200}},
		Err:      err, Counted: 1, Target: target, StatusCode: 200, PriceVersion: "p",
	}
	if err == nil {
		out.Begun, out.Usage, out.Cost = true, knownUsage.Usage, 500
		out.Attempts[0].Usage, out.Attempts[0].UsageKnown, out.Attempts[0].Cost = knownUsage.Usage, true, 500
	}
	return Tried{Outcome: out, Result: capacity.Result{Usage: out.Usage, UsageKnown: err == nil, Kind: provider.AsError(cmpErr(err)).Kind}}
}

func cmpErr(err error) error {
	if err == nil {
		return &provider.Error{}
	}
	return err
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	server := &provider.Error{Kind: provider.KindServer, Message: "it broke"}
	rejected := &provider.Error{Kind: provider.KindRejected, Message: "no"}
	unable := Tried{Outcome: &Outcome{Err: penstock.Errorf(penstock.CodeInvalidRequest, "No vision.")}}
	busy := Tried{Err: &penstock.Error{Code: penstock.CodeOverloaded, Message: "No child."}}
	for _, tt := range []struct {
		name     string
		by       map[string]Tried
		targets  int // that were asked
		attempts int
		counted  int
		forfeit  penstock.NanoUSD
		err      string
	}{
		{"an answer", map[string]Tried{"a": tried("a", nil)}, 1, 1, 1, 0, ""},
		{"fallback", map[string]Tried{"a": tried("a", server), "b": tried("b", nil)}, 2, 2, 2, 0, ""},
		{"no fallback", map[string]Tried{"a": tried("a", rejected)}, 1, 1, 1, 0, "rejected"},
		{"a target that cannot be asked", map[string]Tried{"a": unable, "b": tried("b", nil)}, 2, 1, 1, 0, ""},
		{"none that can be asked", map[string]Tried{"a": unable, "b": unable, "c": unable}, 3, 0, 0, 0, "No vision."},
		{"a death", map[string]Tried{"a": {Died: true}}, 1, 1, 0, bound, penstock.AttemptDied},
		{"a stop", map[string]Tried{"a": {Stopped: true}}, 1, 1, 0, bound, "cancelled"},
		{"a death after a failure", map[string]Tried{"a": tried("a", server), "b": {Died: true}}, 2, 2, 1, bound, penstock.AttemptDied},
		{"no process", map[string]Tried{"a": busy}, 1, 0, 0, 0, "No child."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, upstream{})
			e := &elsewhere{by: tt.by}
			order := task("a", "b", "c")
			order.Body = nil
			out := r.AnswerElsewhere(t.Context(), &order, e.run)
			if len(e.places) != tt.targets || len(out.Attempts) != tt.attempts || out.Counted != tt.counted || out.Forfeit != tt.forfeit {
				t.Errorf("asked %v; %+v", e.targets(), out)
			}
			for i, a := range out.Attempts {
				if !a.Isolated || a.Number != i+1 || a.Target != e.targets()[len(e.targets())-len(out.Attempts)+i] || a.Target == "" || !a.ID.Valid() && a.ID != "id" {
					t.Errorf("attempt %d: %+v", i+1, a)
				}
			}
			switch failure, ok := errors.AsType[*provider.Error](out.Err); {
			case tt.err == "":
				if out.Err != nil || out.Usage != knownUsage.Usage || out.Cost != 500 {
					t.Errorf("%+v", out)
				}
			case ok:
				if last := out.Attempts[len(out.Attempts)-1]; string(failure.Kind) != tt.err && last.ErrorKind != tt.err {
					t.Errorf("%v, last %+v", out.Err, last)
				}
			case penstock.AsError(out.Err).Message != tt.err:
				t.Errorf("%v, want %q", out.Err, tt.err)
			}
			// Whatever happened, all capacity is back.
			if n := r.inUse(); n != 0 {
				t.Errorf("%d units of capacity are not given back", n)
			}
		})
	}
}

// inUse is how many calls hold capacity.
func (r rig) inUse() (n int) {
	for _, s := range r.tracker.Status() {
		n += s.Running
	}
	return n
}

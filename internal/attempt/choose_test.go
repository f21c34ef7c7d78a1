package attempt

import (
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// While a target is out of order nothing is called on it, and the items that are lent as probes lose no attempt.
func TestOutageUsesUpNoAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": fails(provider.KindConnect)})
		counted, tries := 0, 0
		for began := time.Now(); time.Since(began) < 5*time.Minute; {
			item := task("a")
			item.Tries, item.MaxAttempts = tries, 4-counted
			out := r.Run(t.Context(), item, &sink{})
			counted += out.Counted
			tries += len(out.Attempts)
			if wait := penstock.AsError(out.Err).RetryAfter; len(out.Attempts) == 0 {
				time.Sleep(wait)
			} else {
				time.Sleep(100 * time.Millisecond)
			}
		}
		if counted != 3 || tries < 10 || tries > 20 {
			t.Errorf("in five minutes %d attempts were made and %d counted; want the three that broke it, and a probe now and then", tries, counted)
		}
		r.Providers = upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage}}
		time.Sleep(30 * time.Second)
		if out := r.Run(t.Context(), task("a"), &sink{}); out.Err != nil {
			t.Errorf("when it is back: %v", out.Err)
		}
	})
}

// A claim does not know the body of an item: capacity of a target that cannot serve it is given back.
func TestChoiceThatCannotServe(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": {chunks: []string{"no"}}, "ub": {chunks: []string{"ok"}, meta: knownUsage}},
		editTarget("a", func(c *config.TargetConfig) {
			c.Capabilities, c.Limits.Concurrency = []penstock.Capability{penstock.CapabilityStreaming}, 1
		}))
	c, ok := reserveOne(r.Router, route.Query{Candidates: []*penstock.Target{r.Config.Current().Targets["a"]}})
	if !ok {
		t.Fatal("a has no capacity")
	}
	held := task("a", "b")
	held.Choice, held.Body = &c, []byte(`{"tools":[{"type":"function"}]}`)
	out := r.Run(t.Context(), held, &sink{})
	if out.Err != nil || out.Target != "b" || out.Attempts[0].Reason != "next in the model's order: a lacks tools" {
		t.Errorf("outcome %+v", out)
	}
	if _, ok := reserveOne(r.Router, route.Query{Candidates: []*penstock.Target{r.Config.Current().Targets["a"]}}); !ok {
		t.Error("the capacity of a was not given back")
	}
	held.Targets, held.Choice = []string{"a"}, nil
	if out := r.Run(t.Context(), held, &sink{}); penstock.ErrorCode(out.Err) != penstock.CodeInvalidRequest || len(out.Attempts) != 0 {
		t.Errorf("with no target that can: %+v", out)
	}
}

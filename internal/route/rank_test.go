package route

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/provider"
)

func priced(name string, perMillion int64) penstock.Target {
	rate := penstock.Rate(perMillion)
	return penstock.Target{Name: name, Quality: 0.5, Price: penstock.Price{Input: rate, CachedInput: rate, Output: rate}}
}

func scored(w penstock.ScoreWeights) penstock.Model {
	return penstock.Model{Name: "m", Policy: penstock.PolicyScored, Score: w}
}

func TestCheapestIsChosen(t *testing.T) {
	t.Parallel()
	r := newRouter()
	q := Query{Candidates: inOrder(priced("dear", 9_000_000), priced("cheap", 1_000_000)), InputTokens: 1000,
		Model: penstock.Model{Name: "m", Policy: penstock.PolicyCheapest, Score: penstock.ScoreWeights{Cost: 1}}}
	c := take(t, r, q)
	if c.Target.Name != "cheap" || c.Reason != "cheapest, with a score of 1.00 (cost 1.00)" {
		t.Errorf("chose %s: %s", c.Target.Name, c.Reason)
	}
	rest(t, r, "cheap", time.Hour)
	if c := take(t, r, q); c.Target.Name != "dear" || c.Reason != "cheapest, with a score of 0.11 (cost 0.11): cheap rests" {
		t.Errorf("chose %s: %s", c.Target.Name, c.Reason)
	}
	q.Tried = []string{"dear"}
	q.Needs = Needs{Capabilities: penstock.NewCapabilities("vision")}
	q.Candidates[1].Lacks = q.Needs.Capabilities
	refuse(t, r, q, penstock.CodeNoTargetAvailable)
}

// The fastest target is preferred, by the first token for streams and by the whole for plain answers; failures do not count.
func TestFastestIsChosen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		teach := func(name string, firstToken, took time.Duration) {
			for range sketchEnough + 1 {
				take(t, r, Query{Candidates: inOrder(target(name, 0))}).Done(capacity.Result{FirstToken: firstToken, Took: took})
			}
		}
		teach("talker", 100*time.Millisecond, 10*time.Second)
		teach("thinker", 2*time.Second, 3*time.Second)
		for range 4 {
			take(t, r, Query{Candidates: inOrder(target("thinker", 0))}).Done(capacity.Result{Kind: provider.KindServer, Took: time.Millisecond})
		}
		q := Query{Candidates: inOrder(target("talker", 0), target("thinker", 0)),
			Model: penstock.Model{Name: "m", Policy: penstock.PolicyFastest, Score: penstock.ScoreWeights{Latency: 1}}}
		if c := take(t, r, q); c.Target.Name != "thinker" || !strings.Contains(c.Reason, "latency 1.00") {
			t.Errorf("a plain call goes to %s: %s", c.Target.Name, c.Reason)
		}
		q.Stream = true
		if c := take(t, r, q); c.Target.Name != "talker" {
			t.Errorf("a stream goes to %s: %s", c.Target.Name, c.Reason)
		}
	})
}

// Near-equals share the load: none of two has more than a little over half of it.
func TestNearEqualsShareTheLoad(t *testing.T) {
	t.Parallel()
	r := newRouter()
	q := Query{Candidates: inOrder(priced("a", 1_000_000), priced("b", 1_000_000)), Model: scored(penstock.ScoreWeights{Cost: 1})}
	q.Candidates[0].Concurrency, q.Candidates[1].Concurrency = 50, 50
	given := map[string]int{}
	for range 60 {
		given[take(t, r, q).Target.Name]++
	}
	if given["a"] < 25 || given["a"] > 35 {
		t.Errorf("60 calls were spread as %v", given)
	}
}

func TestWeightedModel(t *testing.T) {
	t.Parallel()
	r := newRouter()
	q := Query{Candidates: inOrder(target("a", 0), target("b", 0), target("c", 0)),
		Model: penstock.Model{Name: "m", Policy: penstock.PolicyWeighted, Weights: map[string]int{"a": 2, "b": 1, "c": 1}}}
	var got strings.Builder
	for range 8 {
		got.WriteString(take(t, r, q).Target.Name)
	}
	if got.String() != "abcaabca" && got.String() != "abacabac" {
		t.Errorf("chose %s; want a twice as often, never thrice in a row", &got)
	}
	rest(t, r, "a", time.Hour)
	given := map[string]int{}
	for range 10 {
		given[take(t, r, q).Target.Name]++
	}
	if given["b"] != 5 || given["c"] != 5 {
		t.Errorf("without a, ten calls were spread as %v", given)
	}
}

// Calls with the same prefix go to one target, until it has no capacity.
func TestStickyTarget(t *testing.T) {
	t.Parallel()
	r := newRouter()
	a, b := priced("a", 1_000_000), priced("b", 1_000_000)
	a.PromptCache, b.PromptCache, a.Concurrency, b.Concurrency = true, true, 20, 20
	for _, model := range []penstock.Model{
		scored(penstock.ScoreWeights{Cost: 1}), {Name: "w", Policy: penstock.PolicyWeighted, Weights: map[string]int{"a": 1, "b": 1}},
	} {
		q := Query{Candidates: inOrder(a, b), Model: model, Prefix: Prefix(model.Name, make([]byte, MaxPrefixBytes))}
		first := take(t, r, q)
		held := []Choice{first}
		for range 19 {
			c := take(t, r, q)
			if held = append(held, c); c.Target.Name != first.Target.Name || c.Reason != "kept with calls that begin alike" {
				t.Fatalf("%s chose %s after %s: %s", model.Policy, c.Target.Name, first.Target.Name, c.Reason)
			}
		}
		if c := take(t, r, q); c.Target.Name == first.Target.Name || !strings.Contains(c.Reason, first.Target.Name+" is full") {
			t.Errorf("%s chose %s though it is full: %s", model.Policy, c.Target.Name, c.Reason)
		} else {
			c.Release()
		}
		for _, c := range held {
			c.Release()
		}
	}
}

// fail makes calls fail on a target until its breaker opens.
func breakDown(t *testing.T, r *Router, name string) {
	t.Helper()
	for range 3 {
		take(t, r, Query{Candidates: inOrder(target(name, 0))}).Done(capacity.Result{Kind: provider.KindConnect})
	}
}

// A call on a target with an open breaker is refused at once, with a RetryAfter; with another target it goes there.
func TestBrokenTargetsArePassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		breakDown(t, r, "a")
		if c := take(t, r, Query{Candidates: inOrder(target("a", 0), target("b", 0))}); c.Target.Name != "b" || c.Reason != "next in the model's order: a is out of order" {
			t.Errorf("chose %s: %s", c.Target.Name, c.Reason)
		}
		only := Query{Candidates: inOrder(target("a", 0)), Wait: 500 * time.Millisecond}
		began := time.Now()
		if e := refuse(t, r, only, penstock.CodeOverloaded); e.RetryAfter != time.Second || time.Since(began) != 0 {
			t.Errorf("refused after %v with %+v", time.Since(began), e)
		}
		only.Wait = 5 * time.Second // longer than it is left alone: it waits for the probe
		c := take(t, r, only)
		if !c.Probe() || time.Since(began) != time.Second {
			t.Errorf("after %v, probe %v", time.Since(began), c.Probe())
		}
		c.Done(capacity.Result{})
	})
}

// A target that fails takes few retries; the refusal is temporary, and counted.
func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		first, again := Query{Candidates: inOrder(target("a", 0))}, Query{Candidates: inOrder(target("a", 0)), Retry: true}
		for range 10 { // three of four are well, which is too few to be well and too many to be broken
			for _, kind := range []provider.Kind{"", "", provider.KindServer, ""} {
				take(t, r, first).Done(capacity.Result{Kind: kind, Took: time.Second})
			}
		}
		made := 0
		for ; made < 1000; made++ {
			c, err := r.Choose(t.Context(), again)
			if err != nil {
				if e := penstock.AsError(err); e.Code != penstock.CodeOverloaded || e.RetryAfter == 0 {
					t.Errorf("refused with %+v", e)
				}
				break
			}
			c.Done(capacity.Result{Kind: provider.KindRejected})
			if made%4 == 3 {
				take(t, r, first).Done(capacity.Result{Kind: provider.KindServer}) // it still fails
			}
		}
		if made < 30 || made > 40 || r.tracker.Status()[0].RetriesRefused != 1 {
			t.Errorf("%d retries were made at once, want 30 and a tenth of 40; status %+v", made, r.tracker.Status()[0])
		}
		time.Sleep(time.Minute)
		take(t, r, again).Release()
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		blind, broken := priced("blind", 1_000_000), priced("broken", 2_000_000)
		blind.Lacks = penstock.NewCapabilities("vision")
		breakDown(t, r, "broken")
		q := Query{Candidates: inOrder(blind, broken, priced("dear", 8_000_000)), Needs: Needs{Capabilities: blind.Lacks},
			Model: penstock.Model{Name: "m", Policy: penstock.PolicyCheapest, Score: penstock.ScoreWeights{Cost: 1}}}
		before := r.tracker.Status()
		e := r.Explain(q)
		if e.Chosen != "dear" || e.Reason != "cheapest, with a score of 0.25 (cost 0.25): broken is out of order, blind lacks vision" {
			t.Errorf("chose %s: %s", e.Chosen, e.Reason)
		}
		if x := e.Targets[0]; x.Excluded != "lacks vision" || x.Place != 0 || x.Score != nil {
			t.Errorf("blind is %+v", x)
		}
		if x := e.Targets[1]; x.NoCapacity != "is out of order" || x.Place != 1 || x.Score.Total != 1 {
			t.Errorf("broken is %+v", x)
		}
		if x := e.Targets[2]; x.Place != 2 || x.Score.Cost != 0.25 || x.Stats.Headroom != 1 {
			t.Errorf("dear is %+v", x)
		}
		if after := r.tracker.Status(); after[0].Running != before[0].Running {
			t.Error("explaining takes capacity")
		}
		c := take(t, r, q)
		if c.Target.Name != e.Chosen || c.Reason != e.Reason {
			t.Errorf("explained %s (%s), chose %s (%s)", e.Chosen, e.Reason, c.Target.Name, c.Reason)
		}
		q.Candidates = q.Candidates[:2]
		if e := r.Explain(q); e.Chosen != "" || e.Reason != "No target of this model has capacity: blind lacks vision, broken is out of order." {
			t.Errorf("with nothing to choose: %q", e.Reason)
		}
	})
}

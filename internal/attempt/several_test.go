package attempt

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
)

// choiceRig has target a at an upstream that gives one answer for each call.
func choiceRig(t *testing.T, r reply, edit ...func(*config.File)) rig {
	got := newRig(t, nil, append([]func(*config.File){func(f *config.File) { f.Providers["up"] = config.ProviderConfig{Kind: config.KindAnthropic} }}, edit...)...)
	got.Providers = speakers{"up": {upstream{"ua": r, "ub": r, "uc": r}, []penstock.Endpoint{penstock.EndpointChat}}}
	return got
}

const oneChoice = `{"id":"x","choices":[{"index":0,"message":{"content":"ok"}}],"usage":{"prompt_tokens":10,"completion_tokens":20}}`

// An attempt for several choices makes a call for each, holds the capacity of each, and is charged for all.
func TestSeveralChoices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		concurrency int
		most        int // calls at a time
	}{{"enough capacity", 0, 3}, {"one call at a time", 1, 1}, {"two calls at a time", 2, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var running, most, bodies atomic.Int64
			var r rig
			r = choiceRig(t, reply{chunks: []string{oneChoice}, meta: knownUsage, seen: func(c provider.Call) {
				if strings.Contains(string(c.Body), `"n":1`) && c.Waiting == nil {
					bodies.Add(1)
				}
				most.Store(max(most.Load(), running.Add(1)))
				for _, s := range r.tracker.Status() {
					if s.Target == "a" && tt.concurrency > 0 && s.Running > tt.concurrency {
						t.Errorf("%d calls run on a target of %d", s.Running, tt.concurrency)
					}
				}
				running.Add(-1)
			}}, editTarget("a", func(c *config.TargetConfig) { c.Limits.Concurrency, c.Price.PerRequest = tt.concurrency, "0.5" }))
			m, into := task("a"), &sink{}
			m.Body, m.Wait, m.Tenant = []byte(`{"messages":[],"n":3}`), 5*time.Second, "acme"
			out := r.Run(t.Context(), m, into)
			if out.Err != nil || len(out.Attempts) != 1 || bodies.Load() != 3 {
				t.Fatalf("%+v; %d calls", out, bodies.Load())
			}
			if got := into.text.String(); strings.Count(got, `"content":"ok"`) != 3 || !strings.Contains(got, `"index":2`) || !strings.Contains(got, `"prompt_tokens":30`) {
				t.Errorf("%s", got)
			}
			one := r.Run(t.Context(), task("a"), &sink{})
			if out.Usage.InputTokens != 30 || out.Usage.OutputTokens != 60 || out.Cost != 3*one.Cost || out.Forfeit != 0 {
				t.Errorf("usage %+v, cost %v; one call costs %v", out.Usage, out.Cost, one.Cost)
			}
			if reason := out.Attempts[0].Reason; !strings.Contains(reason, "3 calls, because the target gives one answer for each") {
				t.Errorf("%q", reason)
			}
			for _, s := range r.tracker.Status() {
				if s.Running != 0 {
					t.Errorf("capacity is left behind: %+v", s)
				}
			}
		})
	}
}

// A call that fails fails the attempt, and another target may be tried. Calls that were under way are charged for as unknown.
func TestOneOfSeveralFails(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	r := choiceRig(t, reply{})
	ok := reply{chunks: []string{oneChoice}, meta: knownUsage}
	r.Providers = speakers{"up": {upstream{"ua": fails(provider.KindOverloaded), "ub": ok}, []penstock.Endpoint{penstock.EndpointChat}}}
	m := task("a", "b")
	m.Body = []byte(`{"messages":[],"n":2}`)
	out := r.Run(t.Context(), m, &sink{})
	if out.Err != nil || len(out.Attempts) != 2 || out.Target != "b" || out.Cost == 0 || !strings.Contains(out.Attempts[0].Reason, "failed, so all did") {
		t.Errorf("%+v", out)
	}
	if out.Attempts[0].Cost != 0 || out.Forfeit != 0 {
		t.Errorf("calls that were refused are charged for: %+v", out)
	}
	broken := reply{chunks: []string{oneChoice}, broken: &provider.Error{Kind: provider.KindTruncated, Message: "cut"}, seen: func(provider.Call) { calls.Add(1) }}
	r.Providers = speakers{"up": {upstream{"ua": broken}, []penstock.Endpoint{penstock.EndpointChat}}}
	m = task("a")
	m.Body = []byte(`{"messages":[],"n":2}`)
	if out = r.Run(t.Context(), m, &sink{}); out.Err == nil || out.Cost+out.Forfeit != bound || out.Begun {
		t.Errorf("%+v", out)
	}
}

// A target that gives one answer cannot give more of them than are allowed, nor the best of several.
func TestTooManyChoices(t *testing.T) {
	t.Parallel()
	r := choiceRig(t, reply{chunks: []string{oneChoice}, meta: knownUsage}, editTarget("a", func(c *config.TargetConfig) { c.Provider = "local" }),
		func(f *config.File) { f.Providers["local"] = config.ProviderConfig{Kind: "ollama"} })
	r.Providers = speakers{"local": {upstream{"ua": {chunks: []string{oneChoice}, meta: knownUsage}}, []penstock.Endpoint{penstock.EndpointCompletions}}}
	prompts := strings.Repeat(`"p",`, 40)
	for body, param := range map[string]string{
		fmt.Sprintf(`{"prompt":[%s"p"],"n":5}`, prompts): "n",
		`{"prompt":"p","n":2,"best_of":3}`:               "best_of",
		`{"prompt":["p","q"],"n":2}`:                     "",
	} {
		m := task("a")
		m.Endpoint, m.Body = penstock.EndpointCompletions, []byte(body)
		out := r.Run(t.Context(), m, &sink{})
		if param == "" && (out.Err != nil || out.Usage.InputTokens != 40) || param != "" && penstock.AsError(out.Err).Param != param {
			t.Errorf("%.60s: %+v", body, out)
		}
	}
}

// byTurn is an upstream that plays its replies one after another, and then the last one again.
type byTurn struct {
	speaker
	replies []reply
	calls   *atomic.Int64
}

func (b byTurn) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	n := min(int(b.calls.Add(1)), len(b.replies))
	return upstream{call.UpstreamModel: b.replies[n-1]}.Call(ctx, call)
}

// Calls that the upstream refused, and calls that were not made after a failure, cost nothing. The price per request is paid for each of
// the others, and nothing is forfeit if all of them reported their usage.
func TestCallsThatCostNothing(t *testing.T) {
	t.Parallel()
	ok, refused := reply{chunks: []string{oneChoice}, meta: knownUsage}, fails(provider.KindOverloaded)
	cut := reply{chunks: []string{oneChoice}, meta: unknownUsage, broken: &provider.Error{Kind: provider.KindTruncated, Message: "cut"}}
	for _, tt := range []struct {
		name    string
		replies []reply
		paid    penstock.NanoUSD // calls
		forfeit bool
	}{
		{"all are refused", []reply{refused}, 0, false},
		{"the first is complete", []reply{ok, refused}, 1, false},
		{"two are complete", []reply{ok, ok, refused}, 2, false},
		{"the last is broken", []reply{ok, ok, ok, cut}, 4, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := choiceRig(t, ok, editTarget("a", func(c *config.TargetConfig) { c.Limits.Concurrency, c.Price.PerRequest = 1, "0.0001" }))
			m := task("a")
			m.Body, m.Wait, m.Bound = []byte(`{"messages":[],"n":1}`), time.Second, 1_000_000_000
			one := r.Run(t.Context(), m, &sink{})
			r.Providers = anyProvider{"up": byTurn{speaker{nil, []penstock.Endpoint{penstock.EndpointChat}}, tt.replies, new(atomic.Int64)}}
			m.Body = []byte(`{"messages":[],"n":4}`)
			out := r.Run(t.Context(), m, &sink{})
			want := tt.paid * one.Cost
			if tt.forfeit { // of the broken call only the price per request is known
				want = 3*one.Cost + 100_000
			}
			if one.Err != nil || out.Err == nil || out.Cost != want || (out.Forfeit > 0) != tt.forfeit || tt.forfeit && out.Cost+out.Forfeit != m.Bound {
				t.Errorf("cost %v, forfeit %v; one call costs %v: %+v", out.Cost, out.Forfeit, one.Cost, out)
			}
			if n := r.inUse(); n != 0 {
				t.Errorf("%d units of capacity are not given back", n)
			}
		})
	}
}

// Policy fastest learns the time to the first token of each streamed call.
func TestFirstTokensOfSeveralCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const event = `data: {"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
		r := choiceRig(t, reply{chunks: []string{event}, meta: knownUsage, during: func() { time.Sleep(2 * time.Second) }})
		m := task("a")
		m.Body, m.Stream = []byte(`{"messages":[],"n":8}`), true
		for range 4 {
			if out := r.Run(t.Context(), m, &sink{}); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		explained, err := r.Explain(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := explained.Targets[0].Stats.Latency; got < 1600*time.Millisecond || got > 2400*time.Millisecond {
			t.Errorf("the first token takes %v", got)
		}
	})
}

// Prompts differ in length: the usage of a long prompt after a short one is possible, and a multiple of all prompts is not.
func TestUsageOfPromptsOfDifferentLength(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		stream   bool
		input    int64 // of each of two calls
		believed bool
	}{{false, 900_000, true}, {true, 900_000, true}, {false, 4_000_000, false}, {true, 4_000_000, false}} {
		r := choiceRig(t, reply{}, editTarget("a", func(c *config.TargetConfig) { c.Provider = "local" }),
			func(f *config.File) { f.Providers["local"] = config.ProviderConfig{Kind: "ollama"} })
		text := oneChoice
		if tt.stream {
			text = "data: " + oneChoice + "\n\n"
		}
		r.Providers = speakers{"local": {upstream{"ua": {chunks: []string{text}, meta: usageOf(tt.input, 20)}}, []penstock.Endpoint{penstock.EndpointCompletions}}}
		m := task("a")
		m.Endpoint, m.Stream, m.Bound, m.Body = penstock.EndpointCompletions, tt.stream, 1_000_000_000_000, []byte(`{"prompt":["a","`+long+`"],"max_tokens":20}`)
		out := r.Run(t.Context(), m, &sink{})
		if out.Err != nil || (out.Forfeit == 0) != tt.believed {
			t.Errorf("%+v: usage %+v, forfeit %v, %v", tt, out.Usage, out.Forfeit, out.Err)
		}
	}
}

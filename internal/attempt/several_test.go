package attempt

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
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

package attempt

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/outbound"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// vendorRig has target a at an upstream of chats and b at one of messages, of another vendor.
func vendorRig(t *testing.T, edit ...func(*config.File)) rig {
	ok := func(model string) upstream { return upstream{model: {chunks: []string{"ok"}, meta: knownUsage}} }
	return requestRig(t, ok("ua"), ok("ub"), append(edit, func(f *config.File) {
		f.Providers["other"] = config.ProviderConfig{Kind: config.KindAnthropic}
	})...)
}

// A call changes its vendor for lack of a capability only if its model says so: plain and streamed calls, items of jobs, with and
// without an order, whichever target is healthy.
func TestNoChangeOfVendorWithoutConsent(t *testing.T) {
	t.Parallel()
	model := func(on penstock.OnIncapable, policy penstock.Policy) func(*config.File) {
		return editModel(func(m *config.ModelConfig) {
			m.Targets, m.OnIncapable, m.Policy = []string{"a", "b"}, on, policy
			if policy == penstock.PolicyWeighted {
				m.Weights = map[string]int{"a": 1, "b": 1}
			}
		})
	}
	for _, policy := range []penstock.Policy{penstock.PolicyOrdered, penstock.PolicyWeighted, penstock.PolicyCheapest} {
		for _, kind := range []string{"plain", "streamed", "item"} {
			t.Run(string(policy)+" "+kind, func(t *testing.T) {
				t.Parallel()
				refusing, skipping := vendorRig(t, model("", policy)), vendorRig(t, model(penstock.IncapableSkip, policy))
				refusing.Translator, skipping.Translator = shout{}, shout{}
				for range 8 { // no turn of the policy decides
					m := message("a", "b")
					m.Body, m.Stream = []byte(`{"messages":["unspeakable"]}`), kind == "streamed"
					if kind != "item" {
						m.Tenant = "acme"
					}
					out := refusing.Run(t.Context(), m, &sink{})
					e := penstock.AsError(out.Err)
					if e.Code != penstock.CodeInvalidRequest || e.Param != "messages" || len(out.Attempts) != 0 {
						t.Fatalf("outcome %+v, want a refusal", out)
					}
					for _, says := range []string{"messages holds the unspeakable", "Target a of this model cannot express messages", "on_incapable: skip"} {
						if !strings.Contains(e.Message, says) {
							t.Errorf("%q does not say %q", e.Message, says)
						}
					}
					into := &heading{}
					out = skipping.Run(t.Context(), m, into)
					named := into.meta.Skipped == "a (cannot express messages)" || policy == penstock.PolicyWeighted && into.meta.Skipped == "" // it was the turn of b
					if out.Err != nil || out.Target != "b" || !named {
						t.Fatalf("outcome %+v, skipped %q", out, into.meta.Skipped)
					}
				}
				explained, err := refusing.Explain(Task{Model: "fast", Targets: []string{"a", "b"}, Endpoint: penstock.EndpointMessages, Body: []byte(`{"messages":["unspeakable"]}`)})
				if err != nil || explained.Chosen != "" || !strings.Contains(explained.Reason, "on_incapable") || explained.Targets[0].Excluded != "cannot express messages" {
					t.Errorf("explained as %+v, %v", explained, err)
				}
			})
		}
	}
}

// counting counts the translations of a translator.
type counting struct {
	shout
	requests *int
}

func (c counting) For(from, to penstock.Endpoint) (outbound.Translation, bool) {
	_, ok := c.shout.For(from, to)
	return c, ok
}

func (c counting) Request(body []byte, to dialect.Upstream) ([]byte, []string, error) {
	*c.requests++
	return c.shout.Request(body, to)
}

// A call that goes to the first target is written once, and not for every vendor. If the first target has no capacity, its vendor must be
// able all the same.
func TestFirstTargetIsNotCheckedTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		targets  []string
		body     string
		full     bool // target a has no capacity
		held     bool // the capacity was taken beforehand
		target   string
		requests int
	}{
		{"to be translated", []string{"a", "b"}, "hi", false, false, "a", 1},
		{"to be translated by another vendor", []string{"b", "a"}, "hi", false, false, "b", 0},
		{"with capacity", []string{"a", "b"}, "hi", false, true, "a", 1},
		{"without capacity", []string{"a", "b"}, "hi", true, false, "b", 1},
		{"unable", []string{"a", "b"}, "unspeakable", false, false, "", 2},
		{"unable, with capacity", []string{"a", "b"}, "unspeakable", false, true, "", 2},
		{"unable, without capacity", []string{"a", "b"}, "unspeakable", true, false, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := vendorRig(t, editModel(func(m *config.ModelConfig) { m.Targets = tt.targets }), editTarget("a", concurrency(1)))
			requests := 0
			r.Translator = counting{requests: &requests}
			m := message(tt.targets...)
			m.Body = []byte(`{"messages":["` + tt.body + `"]}`)
			if tt.full {
				r.occupy("a")
			}
			if tt.held {
				choice, _ := reserveOne(r.Router, route.Query{Candidates: []*penstock.Target{r.Config.Current().Targets["a"]}})
				m.Choice = &choice
			}
			out := r.Run(t.Context(), m, &sink{})
			if out.Target != tt.target || (out.Err == nil) != (tt.target != "") || requests != tt.requests || len(out.Attempts) != min(1, len(tt.target)) {
				t.Errorf("%d requests were written: %+v", requests, out)
			}
			if e := penstock.AsError(out.Err); out.Err != nil && (e.Code != penstock.CodeInvalidRequest || !strings.Contains(e.Message, "on_incapable: skip")) {
				t.Errorf("%v", e)
			}
			if n := r.inUse(); n > 0 && !tt.full {
				t.Errorf("%d units of capacity are not given back", n)
			}
		})
	}
}

// An endpoint that the first vendor lacks is a capability too. Failures and calls that every vendor can serve are not affected.
func TestVendorsChangeForOtherReasons(t *testing.T) {
	t.Parallel()
	r := vendorRig(t)
	if out := r.Run(t.Context(), message("a", "b"), &sink{}); penstock.ErrorCode(out.Err) != penstock.CodeInvalidRequest || len(out.Attempts) != 0 {
		t.Errorf("without a translation: %+v", out)
	}
	counting := message("a", "b")
	counting.Endpoint = penstock.EndpointCountTokens
	if out := r.Run(t.Context(), counting, &sink{}); !errors.Is(out.Err, outbound.ErrNotServed) {
		t.Errorf("tokens are not counted by Penstock: %+v", out)
	}
	r.Translator = shout{}
	r.Providers.(speakers)["up"].upstream["ua"] = fails(provider.KindServer)
	if out := r.Run(t.Context(), message("a", "b"), &sink{}); out.Err != nil || out.Target != "b" {
		t.Errorf("after a failure: %+v", out)
	}
}

// An input that turns out to be too long for a target is a lack of capability.
func TestTooLongForOneVendor(t *testing.T) {
	t.Parallel()
	for on, want := range map[penstock.OnIncapable]string{"": "", penstock.IncapableSkip: "b"} {
		r := vendorRig(t, editModel(func(m *config.ModelConfig) { m.OnIncapable = on }))
		r.Translator = shout{}
		r.Providers.(speakers)["up"].upstream["ua"] = fails(provider.KindContextTooLong)
		into := &heading{}
		out := r.Run(t.Context(), message("a", "b"), into)
		switch {
		case want == "" && (out.Err == nil || len(out.Attempts) != 1 || !strings.Contains(out.Attempts[0].Reason, "on_incapable")):
			t.Errorf("%q: %+v", on, out)
		case want != "" && (out.Err != nil || out.Target != want || into.meta.Skipped != "a (takes fewer tokens)"):
			t.Errorf("%q: %+v, skipped %q", on, out, into.meta.Skipped)
		}
	}
}

// The same holds for an item whose body only another process reads.
func TestNoChangeOfVendorElsewhere(t *testing.T) {
	t.Parallel()
	unable := Tried{Outcome: &Outcome{Err: penstock.InvalidParam("tools", "No tools.")}}
	weighted := editModel(func(m *config.ModelConfig) {
		m.Targets, m.Policy, m.Weights = []string{"a", "b"}, penstock.PolicyWeighted, map[string]int{"b": 1000}
	})
	for range 4 {
		r := vendorRig(t, weighted)
		r.Translator = shout{}
		e := &elsewhere{by: map[string]Tried{"a": unable, "b": tried("b", nil)}}
		order := message("a", "b")
		order.Body = nil
		out := r.AnswerElsewhere(t.Context(), &order, e.run)
		if !slices.Equal(e.targets(), []string{"a"}) || !strings.Contains(penstock.AsError(out.Err).Message, "on_incapable: skip") {
			t.Fatalf("asked %v; %+v", e.targets(), out)
		}
	}
}

// picky is an upstream that does not support a member.
type picky struct{ speaker }

func (picky) Unsupported(call provider.Call) string {
	if strings.Contains(string(call.Body), "logit_bias") {
		return "logit_bias"
	}
	return ""
}

type anyProvider map[string]provider.Provider

func (a anyProvider) Provider(name string) (provider.Provider, bool) { p, ok := a[name]; return p, ok }

// A member that a vendor of the caller's own dialect does not honour makes its target unable, before any call.
func TestMembersThatAVendorDoesNotSupport(t *testing.T) {
	t.Parallel()
	for on, want := range map[penstock.OnIncapable]string{"": "", penstock.IncapableSkip: "b"} {
		r := vendorRig(t, editModel(func(m *config.ModelConfig) { m.OnIncapable = on }))
		chat := []penstock.Endpoint{penstock.EndpointChat}
		ok := reply{chunks: []string{"ok"}, meta: knownUsage}
		r.Providers = anyProvider{"up": picky{speaker{upstream{"ua": ok}, chat}}, "other": speaker{upstream{"ub": ok}, chat}}
		m, into := task("a", "b"), &heading{}
		m.Body = []byte(`{"messages":[],"logit_bias":{"1":1}}`)
		out := r.Run(t.Context(), m, into)
		switch {
		case want == "" && (penstock.AsError(out.Err).Param != "logit_bias" || len(out.Attempts) != 0):
			t.Errorf("%q: %+v", on, out)
		case want != "" && (out.Err != nil || out.Target != want || into.meta.Skipped != "a (cannot express logit_bias)"):
			t.Errorf("%q: %+v, skipped %q", on, out, into.meta.Skipped)
		}
	}
}

// The caller is told which members of its body a translation left out.
func TestDroppedMembersAreNamed(t *testing.T) {
	t.Parallel()
	r := vendorRig(t)
	r.Translator = shout{}
	into := &heading{}
	if out := r.Run(t.Context(), message("a"), into); out.Err != nil || into.meta.Dropped != "top_k, thinking" {
		t.Errorf("%+v, dropped %q", out, into.meta.Dropped)
	}
	into = &heading{}
	if out := r.Run(t.Context(), message("b"), into); out.Err != nil || into.meta.Dropped != "" {
		t.Errorf("%+v, dropped %q", out, into.meta.Dropped)
	}
}

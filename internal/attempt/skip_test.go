package attempt

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/outbound"
	"penstock/internal/provider"
)

// heading is a sink that notes how an answer is announced.
type heading struct {
	sink
	meta provider.Meta
}

func (h *heading) Begin(target string, meta provider.Meta) error {
	h.meta = meta
	return h.sink.Begin(target, meta)
}

func editModel(edit func(*config.ModelConfig)) func(*config.File) {
	return func(f *config.File) {
		model := f.Models["fast"]
		edit(&model)
		f.Models["fast"] = model
	}
}

// A call moves to another target for lack of a capability only if its model allows that, and then the answer
// says so.
func TestCallsThatATargetCannotServe(t *testing.T) {
	t.Parallel()
	const tools = `{"messages":["hi"],"tools":[{"name":"x"}]}`
	ok := reply{chunks: []string{"ok"}, meta: knownUsage}
	refuse := editModel(func(m *config.ModelConfig) { m.OnIncapable = penstock.IncapableRefuse })
	weighted := editModel(func(m *config.ModelConfig) {
		m.Policy, m.Weights = penstock.PolicyWeighted, map[string]int{"a": 1000, "b": 1, "c": 1}
	})
	plain := func(name string) func(*config.File) {
		return editTarget(name, func(c *config.TargetConfig) { c.Capabilities = []penstock.Capability{penstock.CapabilityStreaming} })
	}
	for _, tt := range []struct {
		name    string
		body    string
		edit    []func(*config.File)
		target  string // that answers, "" for none
		skipped string
		refused string // what the refusal says
	}{
		{"every target is able", tools, nil, "a", "", ""},
		{"nothing is asked for", `{"messages":["hi"]}`, []func(*config.File){plain("a"), refuse}, "a", "", ""},
		{"the first is not", tools, []func(*config.File){plain("a")}, "b", "a (lacks tools)", ""},
		{"the first two are not", tools, []func(*config.File){plain("a"), plain("b")}, "c", "a (lacks tools), b (lacks tools)", ""},
		{"a later one is not", tools, []func(*config.File){plain("c")}, "a", "", ""},
		{"the first is not, and that is refused", tools, []func(*config.File){plain("a"), refuse}, "", "", "Target a of this model lacks tools"},
		{"a later one is not, and that would be refused", tools, []func(*config.File){plain("b"), refuse}, "a", "", ""},
		{"one of several without an order", tools, []func(*config.File){plain("b"), weighted}, "a", "b (lacks tools)", ""},
		{"one of several without an order, and that is refused", tools, []func(*config.File){plain("b"), weighted, refuse}, "", "", "Target b of this model lacks tools"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, upstream{"ua": ok, "ub": ok, "uc": ok}, tt.edit...)
			m, into := task("a", "b", "c"), &heading{}
			m.Endpoint, m.Body = penstock.EndpointChat, []byte(tt.body)
			explained, err := r.Explain(m)
			if err != nil || explained.Chosen != tt.target || !strings.Contains(explained.Reason, tt.refused) || len(explained.Targets) != 3 {
				t.Errorf("explained as %+v, %v", explained, err)
			}
			out := r.Run(t.Context(), m, into)
			if tt.target == "" {
				if e := penstock.AsError(out.Err); e.Code != penstock.CodeInvalidRequest || !strings.Contains(e.Message, tt.refused) || len(out.Attempts) != 0 {
					t.Fatalf("outcome %+v", out)
				}
				return
			}
			if out.Err != nil || out.Target != tt.target || into.meta.Skipped != tt.skipped {
				t.Errorf("outcome %+v, skipped %q", out, into.meta.Skipped)
			}
		})
	}
}

// The same holds for a call that cannot be translated, and for an endpoint that a target does not have.
func TestCallsThatATargetCannotExpress(t *testing.T) {
	t.Parallel()
	refuse := editModel(func(m *config.ModelConfig) { m.OnIncapable = penstock.IncapableRefuse })
	for _, tt := range []struct {
		name       string
		translator outbound.Translator
		edit       []func(*config.File)
		target     string
		skipped    string
	}{
		{"untranslatable", shout{}, nil, "b", "a (cannot express messages)"},
		{"untranslatable, and that is refused", shout{}, []func(*config.File){refuse}, "", ""},
		{"another endpoint", nil, nil, "b", "a (does not serve /v1/messages)"},
		{"another endpoint, and that is refused", nil, []func(*config.File){refuse}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := requestRig(t, upstream{"ua": {chunks: []string{"no"}}}, upstream{"ub": {chunks: []string{"ok"}, meta: knownUsage}}, tt.edit...)
			r.Translator = tt.translator
			m, into := message("a", "b"), &heading{}
			m.Body = []byte(`{"messages":["unspeakable"]}`)
			out := r.Run(t.Context(), m, into)
			if tt.target == "" {
				if e := penstock.AsError(out.Err); e.Code != penstock.CodeInvalidRequest || len(out.Attempts) != 0 || len(into.begun) != 0 {
					t.Fatalf("outcome %+v", out)
				}
				return
			}
			if out.Err != nil || out.Target != tt.target || into.meta.Skipped != tt.skipped {
				t.Errorf("outcome %+v, skipped %q", out, into.meta.Skipped)
			}
		})
	}
}

package route

import (
	"testing"

	"penstock"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	lacks := penstock.Target{Name: "plain", Lacks: penstock.NewCapabilities("vision", "tools")}
	small := penstock.Target{Name: "small", ContextTokens: 100}
	full := penstock.Target{Name: "full"}
	for _, tt := range []struct {
		name  string
		needs Needs
		want  string // the reason, or the refusal
		codes penstock.Code
		among []*penstock.Target
	}{
		{"nothing needed", Needs{}, "first of the model's order", "", inOrder(lacks, small, full)},
		{"vision", Needs{Capabilities: penstock.NewCapabilities("vision", "streaming")}, "next in the model's order: plain lacks vision", "", inOrder(lacks, full)},
		{"too long", Needs{ContextTokens: 101}, "next in the model's order: small takes 100 tokens, not about 101", "", inOrder(small, full)},
		{"it fits", Needs{ContextTokens: 100}, "first of the model's order", "", inOrder(small, full)},
		{"no target can", Needs{Capabilities: penstock.NewCapabilities("tools"), ContextTokens: 101},
			"No target of this model can serve such a call: plain lacks tools; small takes 100 tokens, not about 101. Change the call, or ask for another model.", penstock.CodeInvalidRequest, inOrder(lacks, small)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRouter()
			q := Query{Candidates: tt.among, Needs: tt.needs}
			if tt.codes != "" {
				if e := refuse(t, r, q, tt.codes); e.Message != tt.want {
					t.Errorf("refused with %q, want %q", e.Message, tt.want)
				}
				return
			}
			if c := take(t, r, q); c.Reason != tt.want {
				t.Errorf("chose %s: %q, want %q", c.Target.Name, c.Reason, tt.want)
			}
		})
	}
}

// A refusal for a capability names the member of the call that asks for it, and so does one by the model's on_incapable.
func TestRefusalsForCapabilitiesNameTheMember(t *testing.T) {
	t.Parallel()
	plain := penstock.Target{Name: "plain", Vendor: "a", Lacks: penstock.NewCapabilities("vision")}
	full := penstock.Target{Name: "full", Vendor: "b"}
	needs := Needs{Capabilities: penstock.NewCapabilities("vision", "tools"), Member: func(c penstock.Capability) string { return "asks for " + string(c) }}
	if e := refuse(t, newRouter(), Query{Candidates: inOrder(plain), Needs: needs}, penstock.CodeInvalidRequest); e.Param != "asks for vision" {
		t.Errorf("the refusal of the only target names %q", e.Param)
	}
	listed := inOrder(plain, full)
	var skips Skips
	skips.Add(Skip{Target: "plain", Reason: needs.Lacks(&plain)})
	err := skips.Restrict(&Query{Candidates: inOrder(plain, full), Needs: needs}, listed)
	if err == nil || penstock.AsError(err).Param != "asks for vision" {
		t.Errorf("the refusal of another vendor: %+v", err)
	}
}

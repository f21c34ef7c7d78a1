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
			"No target of this model can serve such a call: plain lacks tools; small takes 100 tokens, not about 101.", penstock.CodeInvalidRequest, inOrder(lacks, small)},
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

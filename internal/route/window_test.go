package route

import (
	"math"
	"strings"
	"testing"

	"penstock"
)

// The largest input is that of a target which the model allows for such a call: the rules are those of calls that targets cannot serve.
func TestLargestInput(t *testing.T) {
	t.Parallel()
	const ordered, weighted = penstock.PolicyOrdered, penstock.PolicyWeighted
	for _, tt := range []struct {
		name    string
		targets string // vendor and context of each, in capitals where the target cannot serve the call at any length
		policy  penstock.Policy
		on      penstock.OnIncapable
		want    int64
	}{
		{"one", "a5", ordered, "", 5},
		{"the larger of a vendor", "a5 a9 a7", ordered, "", 9},
		{"another vendor is not reached for its context", "a5 b9", ordered, "", 5},
		{"another vendor, without an order", "a5 b9", weighted, "", 5},
		{"another vendor that is allowed", "a5 b9", ordered, penstock.IncapableSkip, 9},
		{"the first vendor has the larger context", "a9 b5", ordered, "", 9},
		{"the larger one cannot serve the call", "a5 A9", ordered, "", 5},
		{"none can", "A5 A9", ordered, "", 0},
		{"all must be able", "a5 a9", weighted, penstock.IncapableRefuse, 5},
		{"all before it must be able", "a9 a5", ordered, penstock.IncapableRefuse, 9},
		{"no bound is stated", "a5 a0", ordered, "", math.MaxInt64},
		{"no targets", "", ordered, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := Window{Model: &penstock.Model{Policy: tt.policy, OnIncapable: tt.on}, Able: func(t *penstock.Target) bool { return t.Lacks == 0 }}
			for i, f := range strings.Fields(tt.targets) {
				one := &penstock.Target{Name: string(rune('0' + i)), Vendor: strings.ToLower(f[:1]), ContextTokens: int64(f[1] - '0')}
				if one.Vendor != f[:1] {
					one.Lacks = 1
				}
				w.Targets = append(w.Targets, one)
			}
			if got := w.Largest(func(t *penstock.Target) int64 { return t.ContextTokens }); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

// The context of a counted input also has to hold the answer; that of an estimated one does not.
func TestCountedInputLeavesSpaceForTheAnswer(t *testing.T) {
	t.Parallel()
	target := &penstock.Target{Name: "a", ContextTokens: 1000}
	for _, tt := range []struct {
		needs Needs
		able  bool
	}{
		{Needs{ContextTokens: 1000}, true},
		{Needs{ContextTokens: 1001}, false},
		{Needs{ContextTokens: 1000, Counted: true}, true},
		{Needs{ContextTokens: 900, Counted: true, OutputTokens: 100}, true},
		{Needs{ContextTokens: 901, Counted: true, OutputTokens: 100}, false},
		{Needs{ContextTokens: 500, Counted: true, OutputTokens: 1 << 40}, true},
		{Needs{ContextTokens: 501, Counted: true, OutputTokens: 1 << 40}, false},
	} {
		if why := tt.needs.Lacks(target); (why == "") != tt.able {
			t.Errorf("%+v: %q", tt.needs, why)
		}
	}
}

package route

import (
	"strings"
	"testing"

	"penstock"
)

// The list of skipped targets is text for a header, whatever a caller wrote into the name of a field.
func TestSkippedTargetsAreAHeader(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b"}
	var s Skips
	if s.AddUnable("a", penstock.Internal(nil)) || s.Before(&penstock.Model{}, names, "b") != "" {
		t.Errorf("an error of our own skips a target: %+v", s)
	}
	if !s.AddUnable("a", penstock.InvalidParam("x\r\nset-cookie: \u00e9", "no")) {
		t.Error("an error about the call skips no target")
	}
	if got, want := s.Before(&penstock.Model{}, names, "b"), "a (cannot express x??set-cookie: ?)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s = nil
	s.AddUnable("a", penstock.InvalidParam(strings.Repeat("x", 10_000), "no"))
	if got := s.Before(&penstock.Model{}, names, "b"); len(got) > maxListBytes+len("...") {
		t.Errorf("%d bytes", len(got))
	}
}

// A target is allowed by the vendors that the model lists before its own, whatever the policy. No chance is involved.
func TestVendorsOfIncapableTargets(t *testing.T) {
	t.Parallel()
	const ordered, weighted = penstock.PolicyOrdered, penstock.PolicyWeighted
	for _, tt := range []struct {
		name    string
		targets string // the vendors, in capitals where the target cannot serve the call
		policy  penstock.Policy
		on      penstock.OnIncapable
		want    string // the able targets that are left, by their place
	}{
		{"all are able", "ab", ordered, "", "01"},
		{"the first vendor is not", "Ab", ordered, "", "refused"},
		{"the same without an order", "Ab", weighted, "", "refused"},
		{"the same, and the model allows it", "Ab", ordered, penstock.IncapableSkip, "1"},
		{"the same, and the model allows it without an order", "Ab", weighted, penstock.IncapableSkip, "1"},
		{"the same vendor", "Aa", ordered, "", "1"},
		{"the same vendor is refused", "Aa", ordered, penstock.IncapableRefuse, "refused"},
		{"the second vendor is not", "aB", ordered, "", "0"},
		{"the second vendor is not, without an order", "aB", weighted, "", "0"},
		{"a vendor after an unable one", "aBc", ordered, "", "0"},
		{"a vendor after an unable one, without an order", "aBc", weighted, "", "0"},
		{"back to the first vendor", "aBa", ordered, "", "02"},
		{"an able target of the vendor comes first", "Aab", ordered, "", "12"},
		{"another vendor stands before it", "Aba", ordered, "", "2"},
		{"it has no place without an order", "Aba", weighted, "", "12"},
		{"a later target of an able vendor", "aAb", ordered, "", "02"},
		{"none is able", "AB", ordered, "", ""},
		{"refused without an order", "aB", weighted, penstock.IncapableRefuse, "refused"},
		{"refused from there on", "aBa", ordered, penstock.IncapableRefuse, "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var skips Skips
			q := Query{Model: penstock.Model{Policy: tt.policy, OnIncapable: tt.on}}
			for i, vendor := range tt.targets {
				target := &penstock.Target{Name: string(rune('0' + i)), Vendor: strings.ToLower(string(vendor))}
				q.Candidates = append(q.Candidates, target)
				if vendor < 'a' {
					skips.Add(Skip{Target: target.Name, Reason: "lacks tools"})
				}
			}
			err := skips.Restrict(&q, append([]*penstock.Target(nil), q.Candidates...))
			got := ""
			for _, target := range q.Candidates {
				if skips.Find(target.Name) == "" {
					got += target.Name
				}
			}
			if err != nil {
				got = "refused"
				if e := penstock.AsError(err); e.Code != penstock.CodeInvalidRequest || !strings.Contains(e.Message, "lacks tools") || !strings.Contains(e.Message, "on_incapable: skip") {
					t.Errorf("%v", err)
				}
			}
			if got != tt.want {
				t.Errorf("%q are left, want %q", got, tt.want)
			}
		})
	}
}

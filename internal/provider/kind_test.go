package provider

import (
	"slices"
	"testing"

	"penstock"
)

func TestEveryKindHasAPolicy(t *testing.T) {
	t.Parallel()
	if len(policies) != len(Kinds) {
		t.Errorf("%d policies for %d kinds", len(policies), len(Kinds))
	}
	for _, k := range Kinds {
		if p := k.Policy(); !slices.Contains(penstock.Codes, p.Code) {
			t.Errorf("%s: %q is not a code", k, p.Code)
		}
	}
}

func TestPoliciesAreConsistent(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds {
		p := k.Policy()
		if p.Free && !p.Retry {
			t.Errorf("%s: free but never retried", k)
		}
		if p.Free && p.Billable {
			t.Errorf("%s: an attempt that may have cost money cannot be free of count", k)
		}
	}
}

package admit

import (
	"testing"

	"penstock"
	"penstock/internal/config"
)

// A budget for a model pays for every name that the model answers for, and one for a name pays for that alone.
func TestFallbackIsNoWayAroundABudget(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(f *config.File) { f.FallbackModel = "smart" })
	for _, tt := range []struct {
		budget, asked string
		paid          bool
	}{
		{"smart", "smart", true}, {"smart", "whatever", true}, {"whatever", "whatever", true}, {"whatever", "another", false}, {"smart", "fast", false},
	} {
		r.caller.Tenant.Budgets = []penstock.Budget{{Model: tt.budget, Period: penstock.PeriodTotal, Limit: 1_000_000_000, Hard: true}}
		o := order()
		o.Model = tt.asked
		if sub := r.admit(o); (len(sub.Accounts) == 1) != tt.paid || sub.Job.Resolved.Bounded != tt.paid {
			t.Errorf("a budget for %s, and %s is asked for: %d accounts, bounded %t", tt.budget, tt.asked, len(sub.Accounts), sub.Job.Resolved.Bounded)
		}
	}
}

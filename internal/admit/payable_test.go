package admit

import (
	"testing"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dialect"
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

// What nobody can tell the cost of is not paid by a hard budget, and by a soft one like anything else.
func TestHardBudgetsPayForWhatCanBeCounted(t *testing.T) {
	t.Parallel()
	document := dialect.Inference{Object: body.Object{Text: []byte(`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://x"}}]}]}`)}}
	for name, tt := range map[string]struct {
		hard bool
		want penstock.Code
	}{"hard": {true, penstock.CodeBudgetExceeded}, "soft": {false, ""}} {
		r := newRig(t)
		r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1_000_000_000, Hard: tt.hard}}
		o := order()
		o.Inferences = []dialect.Inference{document}
		_, jobErr := r.Job(t.Context(), r.caller, o)
		_, callErr := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: document})
		for _, err := range []error{jobErr, callErr} {
			if code := codeOf(err); code != tt.want {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		}
	}
}

func codeOf(err error) penstock.Code {
	if err == nil {
		return ""
	}
	return penstock.ErrorCode(err)
}

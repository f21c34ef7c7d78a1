package sqlite_test

import (
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// The audit finds a budget that does not come to what the ledger, the items and the holds say.
func TestAuditAddsUpBudgets(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct{ sql, problem string }{
		"money spent that nobody booked": {`UPDATE budgets SET settled_nano_usd = settled_nano_usd + 1`, "budget's settled differs"},
		"money held for nothing":         {`UPDATE budgets SET held_nano_usd = held_nano_usd + 1`, "budget's held differs"},
		"a hold that is gone":            {`DELETE FROM budget_allowances`, "budget's held differs"},
		"an entry that is gone":          {`DELETE FROM ledger WHERE kind = 'reserve'`, "budget's held differs"},
		"a budget that is gone":          {`DELETE FROM budgets`, "entries count against a budget that is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newRig(t)
			a := store.Account{Budget: penstock.Budget{Period: penstock.PeriodTotal, Limit: 1000, Hard: true}}
			_, err := h.SubmitJob(t.Context(), "acme", store.Submission{
				Job:   penstock.Job{ID: h.ids.New(time.Now()), Model: "m", Lane: penstock.LaneStandard, Deadline: time.Now().Add(time.Hour)},
				Items: []store.NewItem{{Body: []byte("{}"), Reserved: 100}}, Accounts: []store.Account{a},
			})
			if err != nil {
				t.Fatal(err)
			}
			lease, err := h.AcquireLease(t.Context(), "p", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Hold(t.Context(), "acme", store.BudgetDraw{Lease: lease, Wants: []store.BudgetWant{{Account: a, Need: 10, Want: 10}}}); err != nil {
				t.Fatal(err)
			}
			h.findsDamage(damage.sql, damage.problem)
		})
	}
}

package config

import (
	"maps"
	"slices"

	"penstock"
)

// maxBudgets bounds the budgets of one tenant: each one that covers a call costs it a look.
const maxBudgets = 100

// bounds are the amounts of a budget by period.
func (b Budget) bounds() []budgetBound {
	return []budgetBound{{penstock.PeriodDaily, b.Daily}, {penstock.PeriodMonthly, b.Monthly}, {penstock.PeriodTotal, b.Total}}
}

type budgetBound struct {
	period  penstock.Period
	dollars string
}

func (c *checker) budgets(at path, t TenantConfig) {
	c.budget(at+".budget", t.Budget)
	for i, k := range t.Keys {
		c.budget((at+".keys").index(i)+".budget", k.Budget)
	}
	for model, b := range t.ModelBudgets {
		c.budget((at + ".model_budgets").key(model), b)
	}
	if n := len(t.ModelBudgets) + len(t.Keys); n > maxBudgets && len(t.ModelBudgets) > 0 {
		c.fail(at+".model_budgets", "a tenant has at most %d keys and model budgets together", maxBudgets)
	}
}

func (c *checker) budget(at path, b Budget) {
	any := false
	for _, bound := range b.bounds() {
		any = any || bound.dollars != ""
		c.amount(at+path("."+string(bound.period)+"_usd"), bound.dollars)
	}
	if b.Hard && !any {
		c.fail(at+".hard", "there is nothing to hold: set daily_usd, monthly_usd or total_usd")
	}
}

// budgets are all budgets of a checked tenant.
func (t TenantConfig) budgets() []penstock.Budget {
	var all []penstock.Budget
	add := func(of penstock.Budget, b Budget) {
		for _, bound := range b.bounds() {
			if bound.dollars != "" {
				of.Period, of.Limit, of.Hard = bound.period, checkedAmount(bound.dollars), b.Hard
				all = append(all, of)
			}
		}
	}
	add(penstock.Budget{}, t.Budget)
	for _, k := range t.Keys {
		add(penstock.Budget{Key: k.Name}, k.Budget)
	}
	for _, model := range slices.Sorted(maps.Keys(t.ModelBudgets)) {
		add(penstock.Budget{Model: model}, t.ModelBudgets[model])
	}
	return all
}

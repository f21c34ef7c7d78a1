package config

import (
	"maps"
	"slices"

	"penstock"
)

// maxBudgets bounds the budgets of one tenant: each one that covers a call costs it a look.
const maxBudgets = 100

// maxTagBytes bounds the name of a tag budget: a tag has a key of 64 bytes and a value of 256.
const maxTagBytes = 64 + 1 + 256

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
	for tag, b := range t.TagBudgets {
		here := (at + ".tag_budgets").key(tag)
		key, value, ok := penstock.CutTag(tag)
		if !ok || value == "" || len(tag) > maxTagBytes {
			c.fail(here, "must be key:value, such as team:search, with at most %d bytes", maxTagBytes)
		} else if same := penstock.TagText(key, value); same != tag && hasKey(t.TagBudgets, same) {
			c.fail(here, "is the same tag as %s: remove one of the two", quote(same))
		}
		c.budget(here, b)
	}
	if n := len(t.ModelBudgets) + len(t.Keys); n > maxBudgets && len(t.ModelBudgets) > 0 {
		c.fail(at+".model_budgets", "a tenant has at most %d keys and model budgets together", maxBudgets)
	}
	if n := len(t.ModelBudgets) + len(t.TagBudgets) + len(t.Keys); n > maxBudgets && len(t.TagBudgets) > 0 {
		c.fail(at+".tag_budgets", "a tenant has at most %d keys, model budgets and tag budgets together", maxBudgets)
	}
}

func hasKey[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

func (c *checker) budget(at path, b Budget) {
	any := false
	for _, bound := range b.bounds() {
		any = any || bound.dollars != ""
		c.amount(at+path("."+string(bound.period)+"_usd"), bound.dollars)
	}
	if b.Hard && !any {
		c.fail(at+".hard", "has no amount: set daily_usd, monthly_usd or total_usd")
	}
}

// budgets are all budgets of a checked tenant.
func (t TenantConfig) budgets() []penstock.Budget {
	all := t.Budget.of(penstock.Budget{})
	for _, k := range t.Keys {
		all = append(all, k.Budget.of(penstock.Budget{Key: k.Name})...)
	}
	for _, model := range slices.Sorted(maps.Keys(t.ModelBudgets)) {
		all = append(all, t.ModelBudgets[model].of(penstock.Budget{Model: model})...)
	}
	for _, tag := range slices.Sorted(maps.Keys(t.TagBudgets)) {
		key, value, _ := penstock.CutTag(tag)
		all = append(all, t.TagBudgets[tag].of(penstock.Budget{Tag: penstock.TagText(key, value)})...)
	}
	return all
}

// of is a checked budget of a key, a model, a tag, or none of them: one for each period.
func (b Budget) of(what penstock.Budget) (all []penstock.Budget) {
	for _, bound := range b.bounds() {
		if bound.dollars != "" {
			what.Period, what.Limit, what.Hard = bound.period, checkedAmount(bound.dollars), b.Hard
			all = append(all, what)
		}
	}
	return all
}

// Of checks a budget that is kept elsewhere, and returns one for each period. Codes: invalid_request; param names
// the budget.
func (b Budget) Of(what penstock.Budget, param string) ([]penstock.Budget, error) {
	c := checker{broken: map[path]bool{}}
	if c.budget(path(param), b); len(c.problems) > 0 {
		return nil, c.problems[0].refusal("")
	}
	return b.of(what), nil
}

// BudgetOf is the budget of a key, a model, a tag, or none of them, in the words of the file.
func BudgetOf(all []penstock.Budget, of penstock.Budget) (b Budget) {
	for _, one := range all {
		if one.Key != of.Key || one.Model != of.Model || one.Tag != of.Tag {
			continue
		}
		b.Hard = one.Hard
		switch one.Period {
		case penstock.PeriodDaily:
			b.Daily = one.Limit.Short()
		case penstock.PeriodMonthly:
			b.Monthly = one.Limit.Short()
		case penstock.PeriodTotal:
			b.Total = one.Limit.Short()
		}
	}
	return b
}

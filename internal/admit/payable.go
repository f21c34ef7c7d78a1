package admit

import (
	"cmp"
	"slices"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// payable leaves out targets that have no price when a hard budget pays: nobody could say what they take from it.
// Codes: budget_exceeded.
func payable(caller *penstock.Caller, model string, resolved *penstock.Resolved, targets []*penstock.Target) ([]*penstock.Target, error) {
	resolved.Bounded = bounded(caller, penstock.ModelNames{Asked: model, Answers: resolved.Model})
	unpriced := func(t *penstock.Target) bool { return t.Unpriced }
	if !resolved.Bounded || !slices.ContainsFunc(targets, unpriced) {
		return targets, nil
	}
	targets = slices.DeleteFunc(slices.Clone(targets), unpriced)
	if len(targets) == 0 {
		return nil, penstock.Errorf(penstock.CodeBudgetExceeded,
			"No target of model %q has a price, and tenant %s has a hard budget; ask the operator to set one.", clip(model), caller.Tenant.ID)
	}
	priced := named(targets)
	resolved.Targets = slices.DeleteFunc(slices.Clone(resolved.Targets), func(name string) bool { return !slices.Contains(priced, name) })
	return targets, nil
}

// bounded says whether a hard budget pays for what a caller asks of a model.
func bounded(caller *penstock.Caller, model penstock.ModelNames) bool {
	for i := range caller.Tenant.Budgets {
		if b := &caller.Tenant.Budgets[i]; b.Hard && b.Covers(caller.Key, model) {
			return true
		}
	}
	return false
}

// lesser are the bounds of single targets below that of all of them, the highest first: a budget that is nearly used up still pays
// for the cheaper ones. They are computed when they are asked for, which is seldom.
func lesser(most penstock.NanoUSD, targets []*penstock.Target, weight dialect.Weight, terms Terms) func() []penstock.NanoUSD {
	return func() (all []penstock.NanoUSD) {
		for i := range targets {
			if one := bound(targets[i:i+1], weight, terms).Cost; one < most {
				all = append(all, one)
			}
		}
		slices.SortFunc(all, func(a, b penstock.NanoUSD) int { return cmp.Compare(b, a) })
		return slices.Compact(all)
	}
}

// countable refuses what a hard budget cannot pay for, because nobody can say beforehand what it may cost. Codes:
// budget_exceeded.
func countable(resolved penstock.Resolved, inf dialect.Inference) error {
	if !resolved.Bounded {
		return nil
	}
	if what := body.Opaque(inf.Object.Text); what != "" {
		return penstock.Errorf(penstock.CodeBudgetExceeded,
			"A hard budget pays for this, and what %q may cost cannot be told beforehand. Leave it out, or ask the operator for a key without a hard budget.", clip(what))
	}
	return nil
}

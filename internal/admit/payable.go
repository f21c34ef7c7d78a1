package admit

import (
	"cmp"
	"slices"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

// payable removes targets without a price when a hard budget pays: their cost could not be counted against it.
// Codes: budget_exceeded.
func payable(caller *penstock.Principal, asked work, resolved *penstock.Resolved, targets []*penstock.Target) ([]*penstock.Target, error) {
	resolved.Bounded = bounded(caller, asked.on(resolved))
	unpriced := func(t *penstock.Target) bool { return t.Unpriced }
	if !resolved.Bounded || !slices.ContainsFunc(targets, unpriced) {
		return targets, nil
	}
	targets = slices.DeleteFunc(slices.Clone(targets), unpriced)
	if len(targets) == 0 {
		return nil, penstock.Errorf(penstock.CodeBudgetExceeded,
			"No target of model %q has a price, and tenant %s has a hard budget; ask the operator to set a price.", clip(asked.model), caller.Tenant.ID)
	}
	priced := named(targets)
	resolved.Targets = slices.DeleteFunc(slices.Clone(resolved.Targets), func(name string) bool { return !slices.Contains(priced, name) })
	return targets, nil
}

// work is the model and the tags that an order names.
type work struct {
	model string
	tags  map[string]string
}

// on is the work as budgets see it, once its model is resolved.
func (w work) on(resolved *penstock.Resolved) store.Work {
	return store.Work{Model: penstock.ModelNames{Asked: w.model, Answers: resolved.Model}, Tags: w.tags}
}

// bounded says whether a hard budget pays for some work of a caller.
func bounded(caller *penstock.Principal, w store.Work) bool {
	for i := range caller.Tenant.Budgets {
		if b := &caller.Tenant.Budgets[i]; b.Hard && b.Covers(caller.Key, w.Model, w.Tags) {
			return true
		}
	}
	return false
}

// quote is what the cost of an inference depends on before its target is known.
type quote struct {
	weight   dialect.Weight
	features []string // that a target must have surcharges for
}

// quoteOf prices an inference. Where a hard budget pays, its price must be bounded on one of the targets: by the request alone, or by
// the surcharges of the target. Codes: budget_exceeded.
func quoteOf(resolved penstock.Resolved, targets []*penstock.Target, inf *dialect.Inference) (quote, error) {
	q := quote{weight: inf.Weigh()}
	if !resolved.Bounded {
		return q, nil
	}
	priced := inf.Price()
	q.weight = q.weight.WithDocuments(priced.Documents)
	if len(priced.Features) == 0 {
		return q, nil
	}
	var refusal *penstock.Error
	for _, t := range targets {
		e := unpayable(t, priced.Features)
		if e == nil {
			q.features = featureNames(priced.Features)
			return q, nil
		}
		if refusal == nil {
			refusal = e
		}
	}
	if refusal == nil {
		refusal = notPriced(priced.Features[0])
	}
	return q, refusal
}

// unpayable says why the price of a request is not bounded on a target, nil if it is.
func unpayable(t *penstock.Target, features []dialect.Feature) *penstock.Error {
	for _, f := range features {
		s, ok := t.Surcharges[f.Name]
		switch {
		case !ok:
			return notPriced(f)
		case s.MaxUses > 0 && f.UsesPath != "" && (f.Uses == 0 || f.Uses > s.MaxUses):
			e := penstock.Errorf(penstock.CodeBudgetExceeded, "%s: a hard budget pays for this call, and for at most %d uses of %s in it. Set %s to at most %d.",
				f.Path, s.MaxUses, f.Name, f.UsesPath, s.MaxUses)
			e.Param = f.UsesPath
			return e
		}
	}
	return nil
}

// notPriced refuses a feature that no target has a surcharge for.
func notPriced(f dialect.Feature) *penstock.Error {
	e := penstock.Errorf(penstock.CodeBudgetExceeded,
		"%s: a hard budget pays for this call, and the request sets no bound on the cost of %q. Leave it out, or ask the operator to allow it on a target by its surcharges, with a bound: surcharges: {%q: {factor: …, per_use: …, max_uses: …, input_tokens: …}}.",
		f.Path, f.Name, f.Name)
	e.Param = f.Path
	return e
}

func featureNames(features []dialect.Feature) []string {
	var names []string
	for _, f := range features {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// on is the target with the surcharges of the inference, nil if the inference may not run there.
func (q quote) on(t *penstock.Target) *penstock.Target {
	priced, _ := t.Surcharged(q.features)
	return priced
}

// bound is the most that one attempt can use on any of the targets that it may run on.
func (q quote) bound(targets []*penstock.Target, terms Terms) (most Most) {
	for _, t := range targets {
		if t = q.on(t); t == nil {
			continue
		}
		charge := q.weight.On(t)
		charge.Lane = terms.Lane
		most.Tokens = max(most.Tokens, charge.Usage.InputTokens+charge.Usage.OutputTokens)
		charge.Usage.InputTokens += q.weight.Attached(t)
		most.Cost = max(most.Cost, t.MostFrom(terms.From, charge))
	}
	most.Cost = min(most.Cost, MaxReservation)
	return most
}

// lesser returns a function that computes the bounds of single targets below that of all of them, in descending order: a budget
// that is nearly used up still pays for the cheaper targets. They are rarely needed, so they are computed on demand.
func (q quote) lesser(most penstock.NanoUSD, targets []*penstock.Target, terms Terms) func() []penstock.NanoUSD {
	weight, features := q.weight, q.features // q as a whole is too large for the function to hold a copy, and would be a second allocation
	return func() (all []penstock.NanoUSD) {
		q := quote{weight, features}
		for i := range targets {
			if q.on(targets[i]) == nil {
				continue
			}
			if one := q.bound(targets[i:i+1], terms).Cost; one < most {
				all = append(all, one)
			}
		}
		slices.SortFunc(all, func(a, b penstock.NanoUSD) int { return cmp.Compare(b, a) })
		return slices.Compact(all)
	}
}

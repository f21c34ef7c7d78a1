package admit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// pricing is what the cost bounds of a submission's items are computed from.
type pricing struct {
	tenant  penstock.TenantID
	quotes  []quote // none for the lines of a file, which are priced when they are read
	targets []*penstock.Target
	terms   Terms
}

// narrowed restricts a submission that its budgets refused to the targets that they can pay for: it leaves out the most
// expensive ones. The reservation covers the remaining targets only, so an item never runs elsewhere; the job lists the targets
// that were left out. narrowed returns false if the refusal has another reason, or if no target can be paid for.
func (s *Service) narrowed(ctx context.Context, p *pricing, sub *store.Submission, refusal error) bool {
	if penstock.ErrorCode(refusal) != penstock.CodeBudgetExceeded || !p.divisible(sub) {
		return false
	}
	balances, err := s.Balances.Balances(ctx, p.tenant, sub.Accounts)
	return err == nil && p.narrow(sub, leastLeft(balances)) // without balances the submission remains refused
}

// leastLeft is the amount that all of the hard budgets can reserve.
func leastLeft(balances []store.Balance) penstock.NanoUSD {
	least := penstock.NanoUSD(math.MaxInt64)
	for i := range balances {
		if b := &balances[i]; b.Hard {
			least = min(least, b.Left())
		}
	}
	return least
}

// divisible says whether a submission can run on fewer targets.
func (p *pricing) divisible(sub *store.Submission) bool {
	return sub.Job.Resolved.Bounded && len(p.targets) > 1 && len(p.quotes) > 0
}

// narrow removes the most expensive targets of a submission until its cost bound is at most what is left, and reports
// whether any targets remain.
func (p *pricing) narrow(sub *store.Submission, left penstock.NanoUSD) bool {
	if !p.divisible(sub) {
		return false
	}
	fit, reserved := p.within(left)
	if len(fit) == 0 {
		return false
	}
	resolved := &sub.Job.Resolved
	kept := named(fit)
	out := slices.DeleteFunc(named(p.targets), func(name string) bool { return slices.Contains(kept, name) })
	resolved.Targets = slices.DeleteFunc(slices.Clone(resolved.Targets), func(name string) bool { return slices.Contains(out, name) })
	resolved.Unpaid = slices.Concat(resolved.Unpaid, out)
	p.targets = fit
	for i := range sub.Items {
		sub.Items[i].Reserved = reserved[i]
	}
	return true
}

// within returns as many targets as the rest of the budget can pay for, cheapest first, and the most that an attempt at
// each inference can cost on any of them. A target that costs more for all inferences together may cost less for some.
func (p *pricing) within(left penstock.NanoUSD) (fit []*penstock.Target, reserved []penstock.NanoUSD) {
	type offer struct {
		target int
		each   []penstock.NanoUSD
		sum    penstock.NanoUSD
	}
	offers := make([]offer, len(p.targets))
	for t := range p.targets {
		q := offer{target: t, each: make([]penstock.NanoUSD, len(p.quotes))}
		for i := range p.quotes {
			q.each[i] = p.quotes[i].bound(p.targets[t:t+1], p.terms).Cost
			q.sum += q.each[i]
		}
		offers[t] = q
	}
	slices.SortStableFunc(offers, func(a, b offer) int { return cmp.Compare(a.sum, b.sum) })
	reserved = make([]penstock.NanoUSD, len(p.quotes))
	paid := make([]bool, len(p.targets))
	for _, q := range offers {
		var sum penstock.NanoUSD
		for i := range q.each {
			q.each[i] = max(q.each[i], reserved[i])
			sum += q.each[i]
		}
		if sum > left {
			break
		}
		reserved, paid[q.target] = q.each, true
	}
	for t := range p.targets {
		if paid[t] {
			fit = append(fit, p.targets[t])
		}
	}
	if len(fit) > 0 && slices.ContainsFunc(p.quotes, func(q quote) bool { return !q.runsOn(fit) }) {
		return nil, reserved // some inferences could run on none of the targets
	}
	return fit, reserved
}

// runsOn says whether at least one of the targets may run the inference.
func (q quote) runsOn(targets []*penstock.Target) bool {
	return slices.ContainsFunc(targets, func(t *penstock.Target) bool { return q.on(t) != nil })
}

// named are the names of targets.
func named(targets []*penstock.Target) []string {
	names := make([]string, len(targets))
	for i := range targets {
		names[i] = targets[i].Name
	}
	return names
}

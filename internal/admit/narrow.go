package admit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

// pricing is what the items of a submission are bounded by.
type pricing struct {
	tenant  penstock.TenantID
	infs    []dialect.Inference // none for lines of a file, which are priced when they are read
	targets []*penstock.Target
	terms   Terms
}

// narrowed has a submission that its budgets refused run on those of its targets alone that they can pay for: on all but the
// dearest ones. What is set aside covers those and no others, so an item can never run elsewhere; the job says which were
// left out. False if that is not why it was refused, or none of them can be paid for.
func (s *Service) narrowed(ctx context.Context, p *pricing, sub *store.Submission, refusal error) bool {
	if penstock.ErrorCode(refusal) != penstock.CodeBudgetExceeded || !p.divisible(sub) {
		return false
	}
	balances, err := s.Balances.Balances(ctx, p.tenant, sub.Accounts)
	return err == nil && p.narrow(sub, leastLeft(balances)) // without them the refusal stands
}

// leastLeft is what can be set aside in all of some budgets.
func leastLeft(balances []store.Balance) penstock.NanoUSD {
	least := penstock.NanoUSD(math.MaxInt64)
	for i := range balances {
		if b := &balances[i]; b.Hard {
			least = min(least, b.Left())
		}
	}
	return least
}

// divisible says whether a submission could do with fewer targets.
func (p *pricing) divisible(sub *store.Submission) bool {
	return sub.Job.Resolved.Bounded && len(p.targets) > 1 && len(p.infs) > 0
}

// narrow leaves the dearest targets out of a submission until it costs no more than what is left, and reports whether
// others remain.
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

// within are as many targets as can be paid for with what is left, from the cheapest on, and the most that an attempt at
// each inference can cost on any of them. One that is dearer for all of them together may be cheaper for some.
func (p *pricing) within(left penstock.NanoUSD) (fit []*penstock.Target, reserved []penstock.NanoUSD) {
	type quote struct {
		target int
		each   []penstock.NanoUSD
		sum    penstock.NanoUSD
	}
	quotes := make([]quote, len(p.targets))
	for t := range p.targets {
		q := quote{target: t, each: make([]penstock.NanoUSD, len(p.infs))}
		for i, inf := range p.infs {
			q.each[i] = Bound(p.targets[t:t+1], inf, p.terms).Cost
			q.sum += q.each[i]
		}
		quotes[t] = q
	}
	slices.SortStableFunc(quotes, func(a, b quote) int { return cmp.Compare(a.sum, b.sum) })
	reserved = make([]penstock.NanoUSD, len(p.infs))
	paid := make([]bool, len(p.targets))
	for _, q := range quotes {
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
	return fit, reserved
}

// named are the names of targets.
func named(targets []*penstock.Target) []string {
	names := make([]string, len(targets))
	for i := range targets {
		names[i] = targets[i].Name
	}
	return names
}

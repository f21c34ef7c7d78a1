package usage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

// Scope is the tenants of a report, which are reported one after the other.
type Scope struct {
	Tenants []penstock.TenantID
	// Merged adds the groups of all tenants up. Without it each tenant has groups of its own.
	Merged bool
	Query
}

var errTooLarge = penstock.Errorf(penstock.CodeTooLarge, "The report has more than %d groups; group by fewer dimensions, or add day to group_by: the bound then applies to each day.", MaxGroups)

// Report reads a report, passes its groups on in order, as they arrive, and returns the total. Codes: too_large, and
// those of the ledger.
func (r Reporter) Report(ctx context.Context, s Scope, emit func(Group) error) (total Sum, err error) {
	p := &part{Reporter: r, Scope: s, emit: emit}
	if s.Top > 0 {
		if p.top, err = r.leaders(ctx, s); err != nil {
			return total, err
		}
	}
	for _, span := range s.spans() {
		if err := p.report(ctx, span, &total); err != nil {
			return total, err
		}
	}
	return total, nil
}

// spans are the times that a report is made of: its days, or all of it.
func (q Query) spans() (spans []store.SpendingQuery) {
	if !slices.Contains(q.By, ByDay) {
		return []store.SpendingQuery{{From: q.From, To: q.To.Add(day)}}
	}
	for d := q.From; !d.After(q.To); d = d.Add(day) {
		spans = append(spans, store.SpendingQuery{From: d, To: d.Add(day)})
	}
	return spans
}

// leaders are the groups with the highest cost in the whole time of a report, whatever their day.
func (r Reporter) leaders(ctx context.Context, s Scope) (map[string]bool, error) {
	whole := s
	whole.Top, whole.By = 0, slices.DeleteFunc(slices.Clone(s.By), func(b By) bool { return b == ByDay })
	var groups []Group
	if _, err := r.Report(ctx, whole, func(g Group) error { groups = append(groups, g); return nil }); err != nil {
		return nil, err
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Requests, a.Requests)) })
	top := map[string]bool{}
	for _, g := range groups[:min(s.Top, len(groups))] {
		top[g.id()] = true
	}
	return top, nil
}

// part is a report while one of its spans is made.
type part struct {
	Reporter
	Scope
	top  map[string]bool // nil for all
	emit func(Group) error
}

// report reports one span.
func (p *part) report(ctx context.Context, span store.SpendingQuery, total *Sum) error {
	merged := map[string]*Group{}
	other := Group{Other: true, Values: make([]string, len(p.By))}
	for _, tenant := range p.Tenants {
		groups, err := p.groups(ctx, tenant, p.ask(span))
		if err != nil {
			return err
		}
		for _, g := range groups {
			total.plus(g.Sum)
			switch {
			case len(p.By) == 0: // a report without dimensions has only a total
			case p.top != nil && !p.top[p.leader(g)]:
				other.plus(g.Sum)
			case p.Merged:
				add(merged, g)
			default:
				if err := p.emit(g); err != nil {
					return err
				}
			}
		}
		if len(merged) > MaxGroups {
			return errTooLarge
		}
	}
	for _, id := range slices.Sorted(maps.Keys(merged)) {
		if err := p.emit(*merged[id]); err != nil {
			return err
		}
	}
	if other.Sum == (Sum{}) {
		return nil
	}
	if i := slices.Index(p.By, ByDay); i >= 0 {
		other.Values[i] = value(ByDay, "", span.From, store.Spending{})
	}
	return p.emit(other)
}

func add(to map[string]*Group, g Group) {
	id := g.id()
	if to[id] == nil {
		to[id] = &Group{Values: g.Values}
	}
	to[id].plus(g.Sum)
}

// leader is the id of a group without its day.
func (p *part) leader(g Group) string {
	if i := slices.Index(p.By, ByDay); i >= 0 {
		g.Values = slices.Delete(slices.Clone(g.Values), i, i+1)
	}
	return g.id()
}

// Span is the usage of tenants between two moments.
type Span struct {
	Tenants  []penstock.TenantID
	From, To time.Time
	By       []By
}

// Between reads the groups of a span, tenant by tenant. Codes: too_large, and those of the ledger.
func (r Reporter) Between(ctx context.Context, s Span) (all []Group, err error) {
	for _, tenant := range s.Tenants {
		groups, err := r.groups(ctx, tenant, Query{By: s.By}.ask(store.SpendingQuery{From: s.From, To: s.To}))
		if err != nil {
			return nil, err
		}
		if all = append(all, groups...); len(all) > MaxGroups {
			return nil, errTooLarge
		}
	}
	return all, nil
}

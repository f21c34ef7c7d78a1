// Package usage reports usage and cost from the ledger, which outlives jobs and records of calls.
//
// It owns the parameters, the content and the formats of a report. It does not own the ledger (package store), and does
// not decide who may read a report. A report is made tenant by tenant, and day by day if it is grouped by day. Each
// part is written at once, so memory is bounded by the largest part.
//
// A Reporter is safe for concurrent use.
package usage

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
)

const (
	// MaxDays is the largest number of days of a report.
	MaxDays = 366
	// MaxGroups bounds the groups of one day, or of the whole report if it is not grouped by day.
	MaxGroups = 10_000
	// maxBy bounds the dimensions of a report.
	maxBy = 8
	day   = 24 * time.Hour
)

// Ledger is the source of reports.
type Ledger interface {
	Spending(ctx context.Context, tenant penstock.TenantID, q store.SpendingQuery) ([]store.Spending, error)
}

// By is a dimension of a report.
type By string

// The dimensions, beside single tags.
const (
	ByTenant By = "tenant"
	ByKey    By = "key"
	ByModel  By = "model"
	ByLane   By = "lane"
	ByDay    By = "day"
	ByTags   By = "tag" // all tags of a job together; "tag:team" is one of them
)

const tagPrefix = "tag:"

// tag returns the name of the single tag of a dimension.
func (b By) tag() (string, bool) { return strings.CutPrefix(string(b), tagPrefix) }

// Query asks for a report.
type Query struct {
	From, To time.Time // days of UTC, both included
	By       []By
}

// Terms are the texts of a query; empty for the defaults.
type Terms struct{ From, To, GroupBy string }

// Read parses a query. The default is the whole current month. Codes: invalid_request.
func Read(t Terms, now time.Time) (Query, error) {
	now = now.UTC()
	q := Query{From: penstock.PeriodMonthly.Start(now), To: penstock.PeriodDaily.Start(now)}
	for name, at := range map[string]struct {
		text string
		into *time.Time
	}{"from": {t.From, &q.From}, "to": {t.To, &q.To}} {
		if at.text == "" {
			continue
		}
		d, err := time.Parse(time.DateOnly, at.text)
		if err != nil {
			return q, penstock.InvalidParam(name, "%s must be a day such as 2026-11-15.", name)
		}
		*at.into = d
	}
	if q.To.Before(q.From) || q.To.Sub(q.From) >= MaxDays*day {
		return q, penstock.InvalidParam("to", "to must not be before from, and a report covers at most %d days.", MaxDays)
	}
	for word := range strings.SplitSeq(t.GroupBy, ",") {
		by := By(strings.TrimSpace(word))
		tag, single := by.tag()
		switch known := slices.Contains([]By{ByTenant, ByKey, ByModel, ByLane, ByDay, ByTags}, by); {
		case by == "" && t.GroupBy == "":
		case !known && (!single || tag == ""), slices.Contains(q.By, by), len(q.By) == maxBy:
			return q, penstock.InvalidParam("group_by", "group_by must list some of tenant, key, model, lane, day, tag and tag:NAME, each once.")
		default:
			q.By = append(q.By, by)
		}
	}
	return q, nil
}

// Sum is an amount of usage and its cost.
type Sum struct {
	Requests int64 `json:"requests"` // calls, and items with an attempt
	penstock.Usage
	Cost    penstock.NanoUSD `json:"cost_usd"`
	Forfeit penstock.NanoUSD `json:"forfeit_usd"` // counted against budgets; the upstream may not have charged it
}

func (s *Sum) add(o store.Spending) {
	s.Requests += o.Outcomes
	s.Usage = s.Usage.Plus(o.Usage)
	s.Cost = s.Cost.Plus(o.Cost)
	s.Forfeit = s.Forfeit.Plus(o.Forfeit)
}

// Group is a line of a report: its value in each dimension, in the order of the query, and its sum.
type Group struct {
	Values []string
	Sum
}

// Reporter makes reports.
type Reporter struct{ ledger Ledger }

// New returns a reporter over a ledger.
func New(l Ledger) Reporter { return Reporter{l} }

// Scope is the tenants of a report, which are reported one after the other.
type Scope struct {
	Tenants []penstock.TenantID
	Query
}

// Report reads a report, passes its groups on in order, as they arrive, and returns the total. Codes: too_large, and
// those of the ledger.
func (r Reporter) Report(ctx context.Context, s Scope, emit func(Group) error) (total Sum, err error) {
	spans := []store.SpendingQuery{{From: s.From, To: s.To.Add(day)}}
	if slices.Contains(s.By, ByDay) {
		spans = nil
		for d := s.From; !d.After(s.To); d = d.Add(day) {
			spans = append(spans, store.SpendingQuery{From: d, To: d.Add(day)})
		}
	}
	for _, span := range spans {
		for _, tenant := range s.Tenants {
			groups, err := r.groups(ctx, tenant, s.ask(span))
			if err != nil {
				return total, err
			}
			for _, g := range groups {
				total.Requests += g.Requests
				total.Usage = total.Usage.Plus(g.Usage)
				total.Cost = total.Cost.Plus(g.Cost)
				total.Forfeit = total.Forfeit.Plus(g.Forfeit)
				if len(s.By) == 0 {
					continue // a report without dimensions has only a total
				}
				if err := emit(g); err != nil {
					return total, err
				}
			}
		}
	}
	return total, nil
}

// ask is the query to the ledger for a part of a report.
func (q Query) ask(span store.SpendingQuery) asked {
	single := func(b By) bool { _, ok := b.tag(); return ok }
	span.ByKey, span.ByModel, span.ByLane = slices.Contains(q.By, ByKey), slices.Contains(q.By, ByModel), slices.Contains(q.By, ByLane)
	span.ByTags = slices.Contains(q.By, ByTags) || slices.ContainsFunc(q.By, single)
	span.Limit = MaxGroups + 1
	return asked{span, q.By}
}

type asked struct {
	store.SpendingQuery
	by []By
}

// groups returns the lines of one tenant in one time span.
func (r Reporter) groups(ctx context.Context, tenant penstock.TenantID, a asked) ([]Group, error) {
	spent, err := r.ledger.Spending(ctx, tenant, a.SpendingQuery)
	if err != nil {
		return nil, err
	}
	if len(spent) > MaxGroups {
		return nil, penstock.Errorf(penstock.CodeTooLarge, "The report has more than %d groups; group by fewer dimensions, or add day to group_by: the bound then applies to each day.", MaxGroups)
	}
	byValues := map[string]*Group{}
	for _, s := range spent {
		values := make([]string, len(a.by))
		for i, by := range a.by {
			values[i] = value(by, tenant, a.From, s)
		}
		id := strings.Join(values, "\x00")
		if byValues[id] == nil {
			byValues[id] = &Group{Values: values}
		}
		byValues[id].add(s)
	}
	var groups []Group
	for _, id := range slices.Sorted(maps.Keys(byValues)) {
		groups = append(groups, *byValues[id])
	}
	return groups, nil
}

// value is the value of a spending in a dimension.
func value(by By, tenant penstock.TenantID, from time.Time, s store.Spending) string {
	if tag, ok := by.tag(); ok {
		return s.Tags[tag]
	}
	switch by {
	case ByTenant:
		return string(tenant)
	case ByKey:
		return s.Key
	case ByModel:
		return s.Model
	case ByLane:
		return string(s.Lane)
	case ByDay:
		return from.Format(time.DateOnly)
	case ByTags:
		return tagText(s.Tags)
	}
	return ""
}

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
	"net/url"
	"slices"
	"strconv"
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
	// MaxTop bounds the groups with the highest cost.
	MaxTop = 100
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
	Only     store.SpendingOf // the usage that counts; all of it by default
	Tag      string           // that the usage has, as key:value; "" for any
	// Top is how many groups are reported, those with the highest cost; the rest is one line. 0 for all.
	Top  int
	AsOf time.Time
}

// Terms are the texts of a query; empty for the defaults.
type Terms struct{ From, To, GroupBy, Key, Model, Lane, Tag, Top string }

// TermsOf are the texts of a query in the parameters of a call.
func TermsOf(v url.Values) Terms {
	return Terms{From: v.Get("from"), To: v.Get("to"), GroupBy: v.Get("group_by"), Key: v.Get("key"), Model: v.Get("model"), Lane: v.Get("lane"), Tag: v.Get("tag"), Top: v.Get("top")}
}

// Read parses a query. The default is the whole current month. Codes: invalid_request.
func Read(t Terms, now time.Time) (Query, error) {
	now = now.UTC()
	q := Query{From: penstock.PeriodMonthly.Start(now), To: penstock.PeriodDaily.Start(now), AsOf: now}
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
	return q, q.readFilters(t)
}

// readFilters reads the usage that counts, and the number of groups. Codes: invalid_request.
func (q *Query) readFilters(t Terms) error {
	q.Only = store.SpendingOf{Key: t.Key, Model: t.Model, Lane: penstock.Lane(t.Lane)}
	if t.Lane != "" && !q.Only.Lane.Valid() {
		return penstock.InvalidParam("lane", "lane must be realtime, standard or bulk.")
	}
	if t.Tag != "" {
		name, value, ok := penstock.CutTag(t.Tag)
		if !ok {
			return penstock.InvalidParam("tag", "tag must be written as key:value, such as team:search.")
		}
		q.Tag = penstock.TagText(name, value)
	}
	if t.Top == "" {
		return nil
	}
	n, err := strconv.Atoi(t.Top)
	if err != nil || n < 1 || n > MaxTop {
		return penstock.InvalidParam("top", "top must be from 1 to %d.", MaxTop)
	}
	q.Top = n
	return nil
}

// Sum is an amount of usage and its cost.
type Sum struct {
	Requests int64 `json:"requests"` // calls, and items with an attempt
	penstock.Usage
	Cost    penstock.NanoUSD `json:"cost_usd"`
	Forfeit penstock.NanoUSD `json:"forfeit_usd"` // counted against budgets; the upstream may not have charged it
}

func (s *Sum) add(o store.Spending) {
	s.plus(Sum{Requests: o.Outcomes, Usage: o.Usage, Cost: o.Cost, Forfeit: o.Forfeit})
}

// Plus is the sum of two.
func (s Sum) Plus(o Sum) Sum {
	s.plus(o)
	return s
}

func (s *Sum) plus(o Sum) {
	s.Requests += o.Requests
	s.Usage = s.Usage.Plus(o.Usage)
	s.Cost = s.Cost.Plus(o.Cost)
	s.Forfeit = s.Forfeit.Plus(o.Forfeit)
}

// Group is a line of a report: its value in each dimension, in the order of the query, and its sum.
type Group struct {
	Values []string
	// Other is true for the line of all groups that are not among the top; only its day has a value.
	Other bool
	Sum
}

// id identifies a group by its values.
func (g *Group) id() string { return strings.Join(g.Values, "\x00") }

// Reporter makes reports.
type Reporter struct{ ledger Ledger }

// New returns a reporter over a ledger.
func New(l Ledger) Reporter { return Reporter{l} }

// ask is the query to the ledger for a part of a report.
func (q Query) ask(span store.SpendingQuery) asked {
	single := func(b By) bool { _, ok := b.tag(); return ok }
	span.ByKey, span.ByModel, span.ByLane = slices.Contains(q.By, ByKey), slices.Contains(q.By, ByModel), slices.Contains(q.By, ByLane)
	span.ByTags = q.Tag != "" || slices.Contains(q.By, ByTags) || slices.ContainsFunc(q.By, single)
	span.Only, span.Limit = q.Only, MaxGroups+1
	return asked{span, q.By, q.Tag}
}

type asked struct {
	store.SpendingQuery
	by  []By
	tag string
}

// groups returns the lines of one tenant in one time span.
func (r Reporter) groups(ctx context.Context, tenant penstock.TenantID, a asked) ([]Group, error) {
	spent, err := r.ledger.Spending(ctx, tenant, a.SpendingQuery)
	if err != nil {
		return nil, err
	}
	if len(spent) > MaxGroups {
		return nil, errTooLarge
	}
	byValues := map[string]*Group{}
	tag, tagged, _ := penstock.CutTag(a.tag)
	for _, s := range spent {
		if got, ok := s.Tags[tag]; a.tag != "" && (!ok || got != tagged) {
			continue
		}
		values := make([]string, len(a.by))
		for i, by := range a.by {
			values[i] = value(by, tenant, a.From, s)
		}
		g := Group{Values: values}
		id := g.id()
		if byValues[id] == nil {
			byValues[id] = &g
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

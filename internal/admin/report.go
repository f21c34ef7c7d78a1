package admin

import (
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/usage"
)

// auditSize is the size of a page of the audit.
var auditSize = rest.PageSize{Most: 100, Usual: 20}

// auditEntryView is a change and its actor.
type auditEntryView struct {
	ID        string            `json:"id"`
	Tenant    penstock.TenantID `json:"tenant" about:"- for an entry that concerns no tenant."`
	Actor     string            `json:"actor"`
	Action    string            `json:"action"`
	Subject   string            `json:"subject"`
	Before    jsontext.Value    `json:"before"`
	After     jsontext.Value    `json:"after"`
	CreatedAt time.Time         `json:"created_at"`
}

// audit lists the changes that concern a tenant, or all tenants, newest first.
func (c reports) audit() error {
	f, err := c.auditFilter()
	if err != nil {
		return err
	}
	limit := f.Limit
	f.Limit++
	entries, err := c.Audit.Search(c.R.Context(), f)
	if err != nil {
		return err
	}
	page := rest.Page[auditEntryView]{Object: "list", Data: []auditEntryView{}, HasMore: len(entries) > limit}
	for _, e := range entries[:min(limit, len(entries))] {
		page.Data = append(page.Data, auditEntryView{ID: string(e.ID), Tenant: e.Tenant, Actor: e.Actor, Action: e.Action, Subject: e.Subject,
			Before: jsontext.Value(e.Before), After: jsontext.Value(e.After), CreatedAt: e.CreatedAt})
	}
	return c.JSON(http.StatusOK, page)
}

// auditFilter reads which entries to list. Codes: invalid_request.
func (c reports) auditFilter() (f audit.Filter, err error) {
	query := c.R.URL.Query()
	f = audit.Filter{Tenant: penstock.TenantID(query.Get("tenant")), Actor: query.Get("actor"), Action: query.Get("action"), Subject: query.Get("subject"), After: penstock.ID(query.Get("after"))}
	if f.Tenant == "" {
		return f, penstock.InvalidParam("tenant", "tenant is missing; name the tenant whose entries to list, or - for the entries that concern no tenant.")
	}
	if f.Limit, err = c.PageLimit(auditSize); err != nil {
		return f, err
	}
	if f.After != "" && !f.After.Valid() {
		return f, penstock.InvalidParam("after", "after must be the id of an entry.")
	}
	for name, into := range map[string]*time.Time{"created_after": &f.From, "created_before": &f.Until} {
		if text := query.Get(name); text != "" {
			if *into, err = time.Parse(time.RFC3339, text); err != nil {
				return f, penstock.InvalidParam(name, "%s must be a time such as 2026-11-15T06:00:00Z.", name)
			}
		}
	}
	return f, nil
}

// usage reports the usage and cost of one tenant or of all tenants.
func (c reports) usage() error {
	query := c.R.URL.Query()
	terms, err := usage.Read(usage.TermsOf(query), c.Clock())
	if err != nil {
		return err
	}
	format, ok := usage.FormatOf(query.Get("format"), c.R.Header.Get("Accept"))
	if !ok {
		return penstock.InvalidParam("format", "format must be json or csv.")
	}
	tenants, err := usage.Tenants(c.R.Context(), c.Tenants, penstock.TenantID(query.Get("tenant")))
	if err != nil {
		return err
	}
	merged, err := c.QueryBool("merge_tenants")
	if err != nil {
		return err
	}
	if !merged && !slices.Contains(terms.By, usage.ByTenant) {
		terms.By = slices.Insert(terms.By, 0, usage.ByTenant)
	}
	c.W.Header().Set("Content-Type", format.MediaType())
	begun, err := c.Usage.Write(c.R.Context(), usage.Scope{Tenants: tenants, Merged: merged, Query: terms}, format, c.W)
	if err != nil && begun {
		panic(http.ErrAbortHandler) // the only way to show that the report is not whole
	}
	if err != nil {
		c.W.Header().Del("Content-Type")
	}
	return err
}

// balanceView is a budget in its current period, with the amounts that are spent, reserved and left.
type balanceView struct {
	Object     string             `json:"object"`
	Tenant     penstock.TenantID  `json:"tenant"`
	Key        *string            `json:"key" about:"null for all keys."`
	Model      *string            `json:"model" about:"null for all models."`
	Tag        *string            `json:"tag" about:"As key:value; null for all work, tagged or not."`
	Source     store.TenantSource `json:"source"`
	Period     penstock.Period    `json:"period"`
	StartsAt   *time.Time         `json:"starts_at" about:"Of the current period; null for a period without a beginning."`
	EndsAt     *time.Time         `json:"ends_at" about:"When the next period begins; null for a period without an end."`
	Hard       bool               `json:"hard"`
	LimitUSD   penstock.NanoUSD   `json:"limit_usd"`
	SpentUSD   penstock.NanoUSD   `json:"spent_usd"`
	HeldUSD    penstock.NanoUSD   `json:"held_usd" about:"Reserved for work that runs or waits."`
	LeftUSD    penstock.NanoUSD   `json:"left_usd"`
	ExceededAt *time.Time         `json:"exceeded_at" about:"When a soft budget was used up."`
	UsedUpAt   *time.Time         `json:"used_up_at" about:"When the budget is used up if spending goes on as it did since the period began; null if that is not before the period ends, or if it is used up."`
}

// maxBudgets bounds a list of the budgets of all tenants.
const maxBudgets = 1000

// budgets lists the budgets of a tenant, or of all tenants.
func (c reports) budgets() error {
	ids := c.Directory.TenantIDs()
	if id := penstock.TenantID(c.R.URL.Query().Get("tenant")); id != "" {
		if _, ok := c.Directory.Tenant(id); !ok {
			return penstock.Errorf(penstock.CodeNotFound, "There is no enabled tenant %q.", id)
		}
		ids = []penstock.TenantID{id}
	}
	page := rest.Page[balanceView]{Object: "list", Data: []balanceView{}}
	slices.Sort(ids)
	for _, id := range ids {
		t, ok := c.Directory.Tenant(id)
		if !ok || len(t.Budgets) == 0 {
			continue
		}
		if page.HasMore = len(page.Data) >= maxBudgets; page.HasMore {
			break
		}
		views, err := c.balances(t)
		if err != nil {
			return err
		}
		page.Data = append(page.Data, views...)
	}
	return c.JSON(http.StatusOK, page)
}

// balances are the budgets of a tenant, each in its current period.
func (c reports) balances(t penstock.Tenant) ([]balanceView, error) {
	now := c.Clock()
	accounts := make([]store.Account, len(t.Budgets))
	for i, b := range t.Budgets {
		accounts[i] = store.Account{Budget: b, Start: b.Period.Start(now)}
	}
	balances, err := c.Balances.Balances(c.R.Context(), t.ID, accounts)
	if err != nil {
		return nil, err
	}
	declared := c.Config.Current().Tenants[t.ID].Budgets
	views := make([]balanceView, len(accounts))
	for i, account := range accounts {
		b := balances[i]
		views[i] = balanceView{
			Object: "budget", Tenant: t.ID, Key: named(account.Key), Model: named(account.Model), Tag: named(account.Tag), Source: store.SourceAPI, Period: account.Period,
			StartsAt: moment(account.Start), EndsAt: moment(account.Period.End(now)), Hard: account.Hard, LimitUSD: b.Limit, SpentUSD: b.Settled, HeldUSD: b.Held, LeftUSD: b.Left(),
			ExceededAt: moment(b.ExceededAt), UsedUpAt: moment(account.UsedUpAt(b, now)),
		}
		if slices.Contains(declared, account.Budget) {
			views[i].Source = store.SourceFile
		}
	}
	return views, nil
}

func (c reports) load() error { return c.JSON(http.StatusOK, c.Load()) }

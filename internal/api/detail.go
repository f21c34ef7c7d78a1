package api

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// detailRoutes are the details of items and budgets.
var detailRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/items/{id}/input", Scope: penstock.ScopeJobsRead, Payload: rest.PayloadAlways, Summary: "Read the body that an item was accepted with", Params: []rest.Param{itemParam},
		Answers: []rest.Answer{{Status: 200, About: "The body, byte by byte. 410 once it was removed.", Body: rest.AnyObject{}}}, Serve: on(items.readInput)},
	{Method: "GET", Path: "/v1/budgets", Scope: penstock.ScopeJobsRead, Summary: "List the budgets of your tenant, each with the amount left",
		Answers: []rest.Answer{{Status: 200, About: "All of them.", Body: rest.Page[budgetBalance]{}}}, Serve: on(reports.listBudgets)},
}

func (c items) readInput() error {
	id, err := c.PathID(penstock.ViewItem)
	if err != nil {
		return err
	}
	text, err := c.Inputs.ItemInput(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	c.W.Header().Set("Content-Type", rest.TypeJSON)
	_, _ = c.W.Write(text) // the caller may have left
	return nil
}

// budgetBalance is a budget in its current period, with the amounts that are spent, reserved and left.
type budgetBalance struct {
	Object     string           `json:"object"`
	Key        *string          `json:"key" about:"null for all keys."`
	Model      *string          `json:"model" about:"null for all models."`
	Tag        *string          `json:"tag" about:"As key:value; null for all work, tagged or not."`
	Period     penstock.Period  `json:"period"`
	StartsAt   *time.Time       `json:"starts_at" about:"Of the current period; null for a period without a beginning."`
	EndsAt     *time.Time       `json:"ends_at" about:"When the next period begins; null for a period without an end."`
	Hard       bool             `json:"hard"`
	LimitUSD   penstock.NanoUSD `json:"limit_usd"`
	SpentUSD   penstock.NanoUSD `json:"spent_usd"`
	HeldUSD    penstock.NanoUSD `json:"held_usd" about:"Reserved for work that runs or waits."`
	LeftUSD    penstock.NanoUSD `json:"left_usd"`
	ExceededAt *time.Time       `json:"exceeded_at" about:"When a soft budget was used up."`
	UsedUpAt   *time.Time       `json:"used_up_at" about:"When the budget is used up if spending goes on as it did since the period began; null if that is not before the period ends, or if it is used up."`
}

func (c reports) listBudgets() error {
	t, now := c.Principal.Tenant, c.Clock()
	accounts := make([]store.Account, len(t.Budgets))
	for i, b := range t.Budgets {
		accounts[i] = store.Account{Budget: b, Start: b.Period.Start(now)}
	}
	balances, err := c.Balances.Balances(c.R.Context(), t.ID, accounts)
	if err != nil {
		return err
	}
	page := rest.Page[budgetBalance]{Object: "list", Data: make([]budgetBalance, len(accounts))}
	for i, a := range accounts {
		b := balances[i]
		page.Data[i] = budgetBalance{
			Object: "budget", Key: text(a.Key), Model: text(a.Model), Tag: text(a.Tag), Period: a.Period, StartsAt: optional(a.Start), EndsAt: optional(a.Period.End(now)), Hard: a.Hard,
			LimitUSD: b.Limit, SpentUSD: b.Settled, HeldUSD: b.Held, LeftUSD: b.Left(), ExceededAt: optional(b.ExceededAt), UsedUpAt: optional(a.UsedUpAt(b, now)),
		}
	}
	return c.JSON(http.StatusOK, page)
}

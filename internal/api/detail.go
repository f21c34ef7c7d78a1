package api

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// detailRoutes are the details of items, batches and budgets.
var detailRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/items/{id}/input", Scope: penstock.ScopeJobsRead, Payload: rest.PayloadAlways, Summary: "Read the body that an item was accepted with", Params: []rest.Param{itemParam},
		Answers: []rest.Answer{{Status: 200, About: "The body, byte by byte. 410 once it was removed.", Body: rest.AnyObject{}}}, Serve: on(items.readInput)},
	{Method: "GET", Path: "/v1/batches/{id}/progress", Scope: penstock.ScopeJobsRead, Summary: "Read how far a batch is, of any dialect, with its rate, its estimated end and its cost", Params: []rest.Param{anyBatchParam},
		Answers: []rest.Answer{{Status: 200, About: "The progress of all jobs of the batch together.", Body: batchProgress{}}}, Serve: on(batches.readProgress)},
	{Method: "GET", Path: "/v1/budgets", Scope: penstock.ScopeJobsRead, Summary: "List the budgets of your tenant, each with the amount left",
		Answers: []rest.Answer{{Status: 200, About: "All of them.", Body: rest.Page[budgetBalance]{}}}, Serve: on(reports.listBudgets)},
}

var anyBatchParam = rest.Param{Name: "id", In: "path", About: "The id of a batch or of its job: batch_…, msgbatch_… or job_….", Required: true}

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

// batchProgress is how far a batch is.
type batchProgress struct {
	Object            string          `json:"object"`
	ID                string          `json:"id" about:"Of its first job."`
	Status            penstock.Status `json:"status"`
	Counts            penstock.Counts `json:"counts"`
	Usage             usageView       `json:"usage"`
	ItemsPerSecond    *float64        `json:"items_per_second" about:"Items that ended, since the first item started; null before."`
	StartedAt         *time.Time      `json:"started_at"`
	EstimatedFinishAt *time.Time      `json:"estimated_finish_at" about:"null if it is unknown."`
	FinishedAt        *time.Time      `json:"finished_at"`
	Jobs              []string        `json:"jobs" about:"The jobs of the batch: one for each model."`
}

func (c batches) readProgress() error {
	id, err := c.anyBatch()
	if err != nil {
		return err
	}
	b, err := c.Batches.Batch(c.R.Context(), c.Principal.Tenant.ID, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound { // a job with several items is no batch, and has the same progress
		b = store.Batch{ID: id}
		b.Job, err = c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
	}
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return noBatch(c.R.PathValue("id")) // under the name that the caller used
	}
	if err != nil {
		return err
	}
	view := jobs(c).jobView(b.Job)
	v := batchProgress{
		Object: "batch.progress", ID: penstock.ViewJob.Format(b.ID), Status: b.Job.Status(), Counts: b.Job.Counts, Usage: view.Usage,
		ItemsPerSecond: view.ItemsPerSecond, StartedAt: view.StartedAt, EstimatedFinishAt: view.EstimatedFinishAt, FinishedAt: view.FinishedAt,
	}
	for _, job := range b.Jobs() {
		v.Jobs = append(v.Jobs, penstock.ViewJob.Format(job))
	}
	return c.JSON(http.StatusOK, v)
}

// anyBatch reads the id of a batch, in any of its forms. Codes: not_found.
func (c batches) anyBatch() (penstock.ID, error) {
	text := c.R.PathValue("id")
	for _, view := range []penstock.View{penstock.ViewBatch, penstock.ViewMessageBatch, penstock.ViewJob} {
		if id, err := view.Parse(text); err == nil {
			return id, nil
		}
	}
	return "", noBatch(text)
}

func noBatch(text string) error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no batch %q.", rest.Clip(text))
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

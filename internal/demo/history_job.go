package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/store"
)

const (
	// claimed is how many items of a job run at a time.
	claimed = 128
	// maxOutput bounds the tokens of an answer, for the reservations of items.
	maxOutput = 600
	// attempts is how often an item is tried.
	attempts = 4
)

// plan is a job of the past.
type plan struct {
	*workload
	items int
	// deadline is how long the job may take, a day if it is zero.
	deadline time.Duration
	// most bounds the items that run before the rest is cancelled or expires, 0 for all.
	most int
	// cause is why all items fail; nil for the causes and the part of the workload.
	cause *cause
	flaws float64 // in the place of those of the workload, 0 for these
}

// cause is why items fail.
type cause struct {
	kind    provider.Kind
	status  int
	message string
	tries   int
}

// causes are the failures that happen now and then. Those of one cause are one group of dead letters.
var causes = []cause{
	{provider.KindContentBlocked, http.StatusBadRequest, "The prompt was blocked by the content filtering policy.", 1},
	{provider.KindContextTooLong, http.StatusBadRequest, "prompt is too long: it exceeds the model's maximum context length", 1},
	{provider.KindServer, http.StatusInternalServerError, "The server had an error while processing your request.", attempts},
	{provider.KindTimeout, 0, "no answer within 60 s", attempts},
	{provider.KindRejected, http.StatusBadRequest, "Invalid value for 'temperature': expected a number between 0 and 2.", 1},
}

// expiredKey is why all items of one job fail.
var expiredKey = cause{provider.KindAuth, http.StatusUnauthorized, "Incorrect API key provided.", 1}

// run writes a job from its submit to its end.
func (h *history) run(ctx context.Context, p plan) error {
	job, err := h.submit(ctx, p)
	if err != nil {
		return err
	}
	h.Clock.Walk(time.Duration(200+h.draw.IntN(4_000)) * time.Millisecond)
	_, err = h.work(ctx, p, job)
	return err
}

// submit accepts a job over inputs.
func (h *history) submit(ctx context.Context, p plan) (penstock.ID, error) {
	items, err := h.newItems(p, 0, p.items)
	if err != nil {
		return "", err
	}
	accounts, err := h.accounts(p)
	if err != nil {
		return "", err
	}
	job := h.job(p)
	_, err = h.Store.SubmitJob(ctx, p.tenant, store.Submission{
		Job: job, Items: items, DeadlineIn: cmp.Or(p.deadline, day), Accounts: accounts,
	})
	h.made.Jobs++
	h.figures.accepted(h.Clock.Now(), job)
	h.made.Items += p.items
	return job.ID, err
}

// job is a job as admission would resolve it.
func (h *history) job(p plan) penstock.Job {
	model := h.Config.Models[p.model]
	return penstock.Job{
		ID: h.ids.New(h.Clock.Now()), Tenant: p.tenant, Key: p.key, Endpoint: p.endpoint, Model: p.model, Lane: p.lane, Tags: p.tags,
		MaxAttempts: attempts, ItemTimeout: 5 * time.Minute,
		Resolved: penstock.Resolved{Config: h.Config.Hash, Model: p.model, Policy: string(model.Policy), Targets: model.Targets},
	}
}

// accounts are the budgets that pay for a job.
func (h *history) accounts(p plan) ([]store.Account, error) {
	work := store.Work{Model: penstock.ModelNames{Asked: p.model, Answers: p.model}, Tags: p.tags}
	caller, err := h.caller(p.workload)
	return store.AccountsOf(caller, work, h.Clock.Now()), err
}

// newItems are items of a job, from an index on.
func (h *history) newItems(p plan, from, n int) ([]store.NewItem, error) {
	items := make([]store.NewItem, n)
	for i := range items {
		body, err := json.Marshal(p.body(h.draw, itemContext))
		if err != nil {
			return nil, fmt.Errorf("encoding an input: %w", err)
		}
		items[i] = h.newItem(p, fmt.Sprintf("%s-%05d", p.feature.Name, from+i+1), body)
	}
	return items, nil
}

// newItem bounds an item as admission does.
func (h *history) newItem(p plan, custom string, body []byte) store.NewItem {
	usage := penstock.Usage{InputTokens: int64(len(body)), OutputTokens: maxOutput}
	item := store.NewItem{CustomID: custom, Body: body, EstimateTokens: usage.InputTokens + usage.OutputTokens}
	for _, name := range h.Config.Models[p.model].Targets {
		item.Reserved = max(item.Reserved, h.Config.Targets[name].MostFrom(h.Clock.Now(), penstock.Charge{Usage: usage, Calls: 1, Lane: p.lane}))
	}
	return item
}

// work runs the items of a job, a group at a time, and returns how many ended.
func (h *history) work(ctx context.Context, p plan, job penstock.ID) (ended int, err error) {
	for p.most == 0 || ended < p.most {
		limit := claimed
		if p.most > 0 {
			limit = min(limit, p.most-ended)
		}
		claims, err := h.Store.ClaimItems(ctx, h.lease, store.Want{Lanes: penstock.Lanes, Limit: limit})
		if err != nil || len(claims) == 0 {
			return ended, err
		}
		began, longest := h.Clock.Now(), time.Duration(0)
		group := make([]store.Finish, len(claims))
		for i, c := range claims {
			if c.Job != job {
				return ended, fmt.Errorf("claimed an item of %s while %s ran: the past runs one job at a time", c.Job, job)
			}
			if group[i], err = h.finish(p, c, began); err != nil {
				return ended, err
			}
			for _, a := range group[i].Attempts {
				longest = max(longest, a.FinishedAt.Sub(began))
			}
		}
		h.Clock.Walk(longest + time.Millisecond)
		if _, err := h.Store.FinishItems(ctx, group); err != nil {
			return ended, err
		}
		ended += len(group)
		h.figures.ended(began, p, group)
	}
	return ended, nil
}

// finish decides how an item ended.
func (h *history) finish(p plan, c *store.Claimed, began time.Time) (store.Finish, error) {
	f := store.Finish{Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Of: c}
	switch {
	case p.cause != nil:
		h.fail(&f, *p.cause, began)
		return f, nil
	case h.draw.Float64() < cmp.Or(p.flaws, p.workload.flaws):
		h.fail(&f, causes[h.draw.IntN(len(causes))], began)
		return f, nil
	}
	return f, h.succeed(&f, p, began)
}

// fail completes an item that failed for good.
func (h *history) fail(f *store.Finish, why cause, began time.Time) {
	targets := f.Of.Resolved.Targets
	f.Transition, f.ErrorKind, f.StatusCode = penstock.TransitionFail, string(why.kind), why.status
	at := began
	for n := range why.tries {
		a := h.try(at, targets[n%len(targets)])
		a.ID, a.Subject, a.Number, a.Fence = h.ids.New(at), f.Item, n+1, f.Fence
		a.ErrorKind, a.ErrorMessage, a.StatusCode = string(why.kind), why.message, why.status
		at = at.Add(time.Duration(200+h.draw.IntN(900)) * time.Millisecond)
		a.FinishedAt = at
		if n > 0 && len(targets) > 1 {
			a.Reason = "next in the model's order: " + targets[(n-1)%len(targets)] + " was tried"
		}
		f.Attempts = append(f.Attempts, a)
		f.Target, f.PriceVersion = a.Target, a.PriceVersion
	}
	f.Counted = len(f.Attempts)
	f.Error = &penstock.ItemError{Code: why.kind.Policy().Code, Message: why.message}
	if why.kind.Policy().Billable {
		f.Forfeit = f.Of.Reserved // what the upstream charged is not known
	}
	h.made.DeadLetters++
}

// succeed completes an item with the answer of the simulated model.
func (h *history) succeed(f *store.Finish, p plan, began time.Time) error {
	result, usage, err := h.ask(p.endpoint, f.Of.Body)
	if err != nil {
		return err
	}
	target := h.target(h.Config.Models[p.model])
	a := h.try(began, target)
	a.ID, a.Subject, a.Number, a.Fence = h.ids.New(began), f.Item, 1, f.Fence
	price, _ := h.Config.Targets[target].PriceAt(began)
	took := time.Duration(250+h.draw.IntN(700))*time.Millisecond + time.Duration(usage.OutputTokens)*time.Second/70
	a.StatusCode, a.Usage, a.UsageKnown, a.FirstTokenAt, a.FinishedAt = http.StatusOK, usage, true, began.Add(took), began.Add(took)
	a.Cost = price.Charge(penstock.Charge{Usage: usage, Calls: 1, Lane: p.lane})
	f.Transition, f.Attempts, f.Counted, f.Target, f.StatusCode = penstock.TransitionSucceed, []penstock.Attempt{a}, 1, target, http.StatusOK
	f.Result, f.Usage, f.Cost, f.PriceVersion = result, usage, a.Cost, a.PriceVersion
	return nil
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/batch"
	"penstock/internal/budget"
	"penstock/internal/config"
	"penstock/internal/demo/registry"
	"penstock/internal/demo/text"
	"penstock/internal/directory"
	"penstock/internal/file"
	"penstock/internal/identity"
	"penstock/internal/prompt"
	"penstock/internal/rollup"
	"penstock/internal/sim"
	"penstock/internal/store"
	"penstock/internal/telemetry"
	"penstock/internal/webhook"
)

const (
	// slot is the time between two records of calls.
	slot = time.Hour
	// quiet is the time before the present in which no job of the past begins, so that none ends in the future.
	quiet = 20 * time.Minute
	// holder is the name under which the past claims items.
	holder = "demo-past"
)

// Past is what the past is written with. Everything in it reads the same clock.
type Past struct {
	Store     store.Store
	Endpoints webhook.Endpoints
	Outbox    webhook.Outbox
	Figures   rollup.Store
	Files     *file.Service
	Members   identity.Members
	Prompts   *prompt.Service
	Results   batch.Writer
	Editor    *directory.Editor
	Directory *directory.Directory
	Config    *config.Snapshot
	Metrics   *telemetry.Metrics
	Log       *slog.Logger
	Clock     *Clock
	Until     time.Time // the present
	Receiver  string    // base URL of the receiver of webhooks
}

// Begin is when the clock of a past that ends at a time begins.
func Begin(until time.Time) time.Time { return until.Add(-Days * 24 * time.Hour) }

// history is the past while it is written.
type history struct {
	Past
	draw      *rand.Rand
	ids       penstock.IDs
	lease     store.Lease
	budgets   *budget.Reserver
	figures   *figures
	model     http.Handler // answers the items of jobs
	workloads load
	state     State
	hooks     map[penstock.ID]string // the path of each endpoint
	pending   int                    // deliveries that wait for their next attempt
	made      Summary
	due       []float64 // the part of the next job that each workload has come to
	events    []event   // that are still to come, in order
}

// event is something that happens once, at a time before the present.
type event struct {
	before time.Duration
	do     step
}

// step is a part of the story.
type step func(ctx context.Context) error

// Fill writes 30 days of the past. It is the only writer of its store.
func Fill(ctx context.Context, p Past) (*State, *Summary, error) {
	model, err := sim.New(sim.Config{Reply: text.Reply})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the simulated model: %w", err)
	}
	h := &history{
		Past: p, draw: rand.New(rand.NewPCG(seed, seed)), model: model, workloads: workloads(),
		hooks: map[penstock.ID]string{}, state: State{FilledAt: p.Until}, figures: newFigures(p.Figures, p.Until, p.Log),
	}
	h.due = make([]float64, len(h.workloads))
	h.lease, err = p.Store.AcquireLease(ctx, holder, 2*Days*24*time.Hour)
	if err != nil {
		return nil, nil, err
	}
	h.budgets = budget.New(budget.Deps{
		Store: p.Store, Lease: func() store.Lease { return h.lease }, Metrics: p.Metrics, Log: p.Log, Clock: p.Clock.Now,
	})
	if err := errors.Join(h.write(ctx), h.end(ctx), h.figures.write(ctx, p.Until)); err != nil {
		return nil, nil, err
	}
	return &h.state, &h.made, nil
}

// write writes the past from its beginning to its end.
func (h *history) write(ctx context.Context) error {
	staff := operators{h}
	if err := staff.found(ctx); err != nil {
		return err
	}
	h.events = slices.Concat(staff.changes(), h.incidents(), h.batches(), h.prompts())
	slices.SortStableFunc(h.events, func(a, b event) int { return int(b.before - a.before) })
	for at := Begin(h.Until).Truncate(slot).Add(slot); ; at = at.Add(slot) {
		if at.After(h.Until) {
			at = h.Until
		}
		if err := h.pass(ctx, at); err != nil {
			return fmt.Errorf("writing what happened until %s: %w", at.Format(time.RFC3339), err)
		}
		if at.Equal(h.Until) {
			return nil
		}
	}
}

// prompts are the changes of prompts.
func (h *history) prompts() (all []event) {
	models := registry.Models{Mini: modelMini, Small: modelSmall, Large: modelSonnet, Llama: modelLlama}
	for _, e := range registry.Events(registry.Deps{Prompts: h.Prompts, Clock: h.Clock, Models: models}) {
		all = append(all, event{e.Before, e.Do})
	}
	return all
}

// pass writes what happened until the end of a slot.
func (h *history) pass(ctx context.Context, end time.Time) error {
	begin := h.Clock.Now()
	for len(h.events) > 0 && !h.Until.Add(-h.events[0].before).After(end) {
		h.Clock.WalkTo(h.Until.Add(-h.events[0].before))
		if err := errors.Join(h.events[0].do(ctx), receivers{h}.deliverNow(ctx)); err != nil {
			return err
		}
		h.events = h.events[1:]
	}
	calls, err := h.drawCalls(ctx, begin, end)
	if err != nil {
		return err
	}
	for i := range h.workloads {
		if err := h.runDue(ctx, i, end); err != nil {
			return err
		}
	}
	h.Clock.WalkTo(end.Add(-time.Millisecond)) // within the hour and the day of the calls
	if len(calls) > 0 {
		if err := h.Store.RecordRequests(ctx, calls); err != nil {
			return err
		}
		h.made.Calls += len(calls)
		h.figures.calls(calls)
	}
	h.Clock.WalkTo(end)
	return receivers{h}.deliver(ctx)
}

// runDue runs the jobs of a workload that are due in a slot.
func (h *history) runDue(ctx context.Context, i int, end time.Time) error {
	w := &h.workloads[i]
	if w.jobs == 0 {
		return nil
	}
	h.due[i] += w.jobs * w.share(end, h.grown(end)) * slot.Hours()
	for h.due[i] >= 1 && h.Clock.Now().Before(h.Until.Add(-quiet)) {
		h.due[i]--
		h.Clock.Walk(time.Duration(h.draw.Float64() * float64(slot) / 4))
		n := max(1, int(float64(w.items)*(0.5+h.draw.Float64())))
		if err := errors.Join(h.run(ctx, plan{workload: w, items: n}), receivers{h}.deliverNow(ctx)); err != nil {
			return err
		}
		h.Clock.Walk(time.Duration(1+h.draw.IntN(90)) * time.Second)
	}
	return nil
}

// grown is how much of the month has passed, from 0 to 1.
func (h *history) grown(at time.Time) float64 {
	return at.Sub(Begin(h.Until)).Hours() / (Days * 24)
}

// end gives back what the past still holds.
func (h *history) end(ctx context.Context) error {
	var uses []store.KeyUse
	err := h.returnBudgets(ctx)
	keys, listErr := h.Store.ListKeys(ctx, store.KeyFilter{Limit: store.MaxKeysPerTenant})
	for _, k := range keys {
		if k.RevokedAt.IsZero() {
			uses = append(uses, store.KeyUse{Key: k.ID, At: h.Until.Add(-time.Duration(h.draw.IntN(50)) * time.Minute)})
		}
	}
	return errors.Join(err, listErr, h.Store.TouchKeys(ctx, uses), h.Store.ReleaseLease(ctx, h.lease))
}

// returnBudgets returns what was withdrawn from budgets and not spent: a reserver that is stopped returns all.
func (h *history) returnBudgets(ctx context.Context) error {
	stopped, stop := context.WithCancel(ctx)
	stop()
	return h.budgets.Run(stopped)
}

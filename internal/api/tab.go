package api

import (
	"context"
	"net/http"
	"strings"

	"penstock/internal/attempt"
	"penstock/internal/budget"
	"penstock/internal/room"
)

const (
	// headerBudget warns that a soft budget is used up.
	headerBudget = "x-penstock-budget-warning"
	// headerUnpriced marks an answer of a target that has no price: what it cost is not known.
	headerUnpriced = "x-penstock-unpriced"
)

func tellBudgets(h http.Header, warnings []string) {
	if len(warnings) > 0 {
		h.Set(headerBudget, strings.Join(warnings, "; "))
	}
}

// tab is what a call is charged to: the limits of its caller and, once it goes upstream, the budgets.
type tab struct {
	door   *door
	permit *room.Stay // its place under the concurrency of tenant and key, nil without limits
	stay   *room.Stay
	demand budget.Demand
	ticket budget.Ticket // none until it goes upstream: an answer that is kept costs nothing
}

// open sets the most aside that a call can cost. Codes: budget_exceeded, overloaded.
func (c *call) open(ctx context.Context, t *tab, task *attempt.Task) (err error) {
	if t.door.free {
		return nil
	}
	t.ticket, err = c.Budgets.Reserve(ctx, t.demand)
	if t.ticket.Hard {
		task.Bounded, task.Bound = true, t.ticket.Most
	}
	return err
}

// settle gives back what a call did not use.
func (t *tab) settle(out *attempt.Outcome) {
	t.permit.Leave()
	settleLimits(t.door, t.stay, out)
	t.ticket.Settle(out.Cost.Plus(out.Forfeit))
}

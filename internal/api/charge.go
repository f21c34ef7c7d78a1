package api

import (
	"context"
	"net/http"
	"strings"

	"penstock/internal/attempt"
	"penstock/internal/budget"
	"penstock/internal/capacity"
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

// charge is what a call is charged to: the limits of its caller and, once it goes upstream, the budgets.
type charge struct {
	inferenceEndpoint *inferenceEndpoint
	permit            *capacity.LimitHold // its place under the concurrency of tenant and key, nil without limits
	limitHold         *capacity.LimitHold
	demand            budget.Demand
	reservation       budget.Reservation // none until it goes upstream: an answer that is kept costs nothing
}

// open sets the most aside that a call can cost. Codes: budget_exceeded, overloaded.
func (c inferences) open(ctx context.Context, t *charge, task *attempt.Task) (err error) {
	if t.inferenceEndpoint.free {
		return nil
	}
	t.reservation, err = c.Budgets.Reserve(ctx, t.demand)
	if t.reservation.Hard {
		task.Bounded, task.Bound = true, t.reservation.Most
	}
	return err
}

// settle gives back what a call did not use.
func (t *charge) settle(out *attempt.Outcome) {
	t.permit.Leave()
	settleLimits(t.inferenceEndpoint, t.limitHold, out)
	t.reservation.Settle(out.Cost.Plus(out.Forfeit))
}

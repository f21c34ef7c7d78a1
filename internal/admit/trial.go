package admit

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/capacity"
	"penstock/internal/store"
)

// Balances reads what is left of budgets.
type Balances interface {
	// Balances returns the balances of a tenant's accounts, in the same order. It writes nothing.
	Balances(ctx context.Context, tenant penstock.TenantID, accounts []store.Account) ([]store.Balance, error)
}

// Trial is the predicted outcome of an order at this moment.
type Trial struct {
	Endpoint penstock.Endpoint
	Model    string
	Lane     penstock.Lane
	Deadline time.Time
	Items    int
	Bytes    int64              // of all bodies
	Most     Most               // that one attempt at each item can use together; of lines, those of usual length
	Targets  []*penstock.Target // that it may run on
	Unpaid   []string           // targets that it may not run on, because a hard budget has too little left for them
	// When it would start and finish; zero if that is unknown, or if it would not be admitted.
	When backlog.Estimate
	Held bool // an operator has paused it
	// Refusal is why it would not be admitted, nil if it would.
	Refusal error
	// Short is the hard budget that has too little left for the whole order, "" for none. A job over a file is
	// still admitted, and waits until the budget has money again.
	Short    string
	Warnings []string // of soft budgets that it would use up
}

// Try predicts the outcome of an order. It writes nothing, takes nothing from a budget, and uses no idempotency key. It
// counts as a request, because counting tokens takes work. An invalid order is an error; a refusal that depends on the
// moment, such as a full queue, is in the trial. Codes: invalid_request, model_not_found, scope_missing, rate_limited.
func (s *Service) Try(ctx context.Context, caller penstock.Principal, o JobOrder) (Trial, error) {
	if err := Require(caller, penstock.ScopeJobsWrite); err != nil {
		return Trial{}, err
	}
	d, err := s.draft(ctx, caller, &o)
	refused := penstock.ErrorCode(err) == penstock.CodeBudgetExceeded // no target with a price is left
	if err != nil && !refused {
		return Trial{}, err
	}
	t := Trial{
		Endpoint: o.Endpoint, Model: o.Model, Lane: o.Lane, Deadline: o.Deadline, Items: o.items(), Bytes: d.arrival.Bytes,
		Most: d.most(o, s.Clock()), Targets: d.targets, Refusal: err,
	}
	limited, err := s.limitTrial(ctx, caller, o)
	if err != nil {
		return Trial{}, err
	}
	if t.Deadline.IsZero() {
		t.Deadline = s.Clock().Add(DefaultDeadline).UTC().Truncate(time.Microsecond)
	}
	if o.Lines != nil {
		t.Bytes = o.Lines.File.Tokens + int64(t.Items*len(o.Lines.Each.Object.Text)) // without the JSON around the bodies
	}
	if refused {
		return t, nil
	}
	_, t.Held = s.held(demand{d.arrival.Tenant, d.arrival.Lane, d.sub.Job.ModelNames(), d.sub.Job.Resolved.Targets})
	if err := s.weigh(ctx, &d, &t); err != nil {
		return t, err
	}
	for _, check := range []func() error{
		func() error { return s.open(caller, o, d) },
		func() error { return s.queueTrial(&t, d) },
		func() error { return limited },
	} {
		if t.Refusal == nil {
			t.Refusal = check()
		}
	}
	if t.Refusal != nil {
		t.When = backlog.Estimate{}
	}
	return t, nil
}

// items is how many inferences are ordered.
func (o *JobOrder) items() int {
	if o.Lines != nil {
		return o.Lines.File.Lines
	}
	return len(o.Inferences)
}

// most is the most that the items of a draft can use together.
func (d *draft) most(o JobOrder, now time.Time) (all Most) {
	if o.Lines != nil {
		return o.Lines.most(d.targets, Terms{now, o.Lane})
	}
	for _, item := range d.sub.Items {
		all.Tokens += item.EstimateTokens
		all.Cost = all.Cost.Plus(item.Reserved)
	}
	return all
}

// weigh compares a draft with the budgets that would pay for it, without taking anything from them.
func (s *Service) weigh(ctx context.Context, d *draft, t *Trial) error {
	accounts := d.sub.Accounts
	if len(accounts) == 0 {
		return nil
	}
	balances, err := s.Balances.Balances(ctx, d.tenant, accounts)
	if err != nil {
		return err
	}
	if left := leastLeft(balances); t.Most.Cost > left && d.narrow(&d.sub, left) {
		t.Targets, t.Unpaid, t.Most.Cost = d.targets, d.sub.Job.Resolved.Unpaid, 0
		for _, item := range d.sub.Items {
			t.Most.Cost = t.Most.Cost.Plus(item.Reserved)
		}
	}
	for i, a := range accounts {
		b := balances[i]
		_, enough := b.Hold(t.Most.Cost, t.Most.Cost)
		switch {
		case !enough:
			short := a.Exceeded(b, t.Most.Cost)
			t.Short = penstock.AsError(short).Message
			if d.sub.Batch == nil {
				t.Refusal = short
			}
		case b.Over():
			t.Warnings = append(t.Warnings, a.Warning(b))
		}
	}
	return nil
}

// queueTrial takes a place in the queue and returns it. Codes: queue_full, overloaded, too_large.
func (s *Service) queueTrial(t *Trial, d draft) error {
	if err := s.Backlog.Admit(d.arrival); err != nil {
		return err
	}
	defer s.Backlog.Dropped(d.arrival)
	if t.Held {
		return nil // it would wait for an operator, for an unknown time
	}
	place := s.Backlog.Place(d.arrival, t.Deadline)
	t.When = backlog.Estimate{Start: place.Start, Finish: place.Finish}
	return nil
}

// limitTrial counts a trial as a request, and returns why the caller's limits would refuse the order itself. Codes:
// rate_limited, overloaded.
func (s *Service) limitTrial(ctx context.Context, caller penstock.Principal, o JobOrder) (refusal, err error) {
	names := s.Config.Current().Names(o.Model)
	limitHold, refusal := s.Limits.Admit(ctx, &caller, names, submitUse(o))
	if refusal != nil { // the limits may have too little left for the order, but enough for the trial
		limitHold, err = s.Limits.Admit(ctx, &caller, names, capacity.Use{Dry: true})
	}
	limitHold.Leave()
	return refusal, err
}

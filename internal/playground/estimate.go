package playground

import (
	"context"
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/prompt/content"
	"penstock/internal/store"
)

// Estimate is what a setup would use.
type Estimate struct {
	Columns   []ColumnEstimate
	Calls     int
	AtMost    penstock.NanoUSD
	Remaining *penstock.NanoUSD // of the daily budget of the caller; nil without one
}

// ColumnEstimate is what the calls of a column would use together, or why they cannot run.
type ColumnEstimate struct {
	Model       string
	InputTokens int64
	AtMost      penstock.NanoUSD
	Err         *penstock.Error
	Messages    []content.Message // of the first row
	Config      content.Config
}

// maxCountedBytes bounds the bodies that the tokenizer reads for an estimate; the tokens of the others follow from their length.
const maxCountedBytes = 1 << 20

// Estimate renders a setup without a call. A mistake of one column does not hide the figures of the others. Codes:
// invalid_request, too_large.
func (s *Service) Estimate(ctx context.Context, caller penstock.Principal, setup Setup) (Estimate, error) {
	if err := setup.check(); err != nil {
		return Estimate{}, err
	}
	if _, err := setup.encode(); err != nil {
		return Estimate{}, err
	}
	e := Estimate{Calls: setup.Size()}
	columns, mistakes := s.compileAll(ctx, caller.Tenant.ID, setup.Columns)
	for i, c := range columns {
		one := ColumnEstimate{}
		if c != nil {
			one = s.estimate(caller, &setup, c)
		} else {
			one.Err = penstock.AsError(mistakes[i])
		}
		e.AtMost = e.AtMost.Plus(one.AtMost)
		e.Columns = append(e.Columns, one)
	}
	var err error
	e.Remaining, err = s.remaining(ctx, caller)
	return e, err
}

func (s *Service) estimate(caller penstock.Principal, setup *Setup, c *column) (e ColumnEstimate) {
	e.Model, e.Config = c.config.Model(), c.config
	counted, all, tokens := 0, 0, int64(0)
	for row := range setup.Rows {
		r, err := c.render(setup.Rows[row])
		var q Quote
		if err == nil {
			q, err = s.Quote(caller.Tenant, r.read)
		}
		if err != nil {
			e.Err = penstock.AsError(c.mistake(row, err))
			return e
		}
		if row == 0 {
			e.Messages = r.messages
		}
		if all += len(r.body); all > MaxInputBytes {
			e.Err = penstock.AsError(tooMuchInput())
			return e
		}
		if counted == 0 || counted+len(r.body) <= maxCountedBytes {
			counted += len(r.body)
			tokens += s.Tokens(r.body)
		}
		e.AtMost = e.AtMost.Plus(q.Cost * penstock.NanoUSD(setup.Trials))
	}
	e.InputTokens = int64(float64(tokens)*float64(all)/float64(counted)) * int64(setup.Trials)
	return e
}

// daily is the budget of a person in the playground; ok is false without one.
func (s *runner) daily(tenant penstock.TenantID, author penstock.Author) (b penstock.Budget, ok bool) {
	limit := s.Limits(tenant).Daily
	return penstock.Budget{
		Name: fmt.Sprintf("daily playground budget of %s", author.Name), Tag: penstock.TagText(TagPerson, author.ID), Period: penstock.PeriodDaily, Limit: limit, Hard: true,
	}, limit > 0
}

// payer is the principal of a call of a run. Its tenant has the daily budget of the author among its own budgets, so that the same
// reservation holds all of them. A model without any price cannot be paid from a hard budget, and costs nothing that is known.
// Codes: invalid_request, model_not_found.
func (s *runner) payer(r *live, inf *dialect.Inference) (penstock.Principal, error) {
	p := r.principal
	q, err := s.Quote(p.Tenant, *inf)
	if err != nil {
		return p, err
	}
	if b, ok := s.daily(r.tenant, p.Author()); ok && q.Priced {
		p.Tenant.Budgets = append(slices.Clip(p.Tenant.Budgets), b)
	}
	return p, nil
}

// remaining is what is left of the daily budget of a caller today; nil without one.
func (s *Service) remaining(ctx context.Context, caller penstock.Principal) (*penstock.NanoUSD, error) {
	author := caller.Author()
	b, ok := s.daily(caller.Tenant.ID, author)
	if !ok {
		return nil, nil
	}
	only := caller
	only.Tenant.Budgets = []penstock.Budget{b}
	accounts := store.AccountsOf(only, store.Work{Tags: map[string]string{TagPerson: author.ID}}, s.Clock())
	balances, err := s.Balances.Balances(ctx, caller.Tenant.ID, accounts)
	if err != nil || len(balances) == 0 {
		return nil, err
	}
	left := balances[0].Left()
	return &left, nil
}

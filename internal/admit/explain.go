package admit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

// Considered are the targets of a model as a caller may use them.
type Considered struct {
	Model penstock.Model
	Open  []string          // targets that the caller's work may run on
	Out   map[string]string // why the work may not run on the others, by target
	// Prompted is the call with the messages of the prompt that it names; nil if it names none.
	Prompted *dialect.Inference
	// Short is the call as it would be sent, if turns of it would be dropped; nil otherwise.
	Short *dialect.Inference
	// Refusal is why the call is too long for every target, nil if it is not.
	Refusal error
}

// Consider says which targets of a model a caller's call may run on, and why not on the others. It admits
// nothing. Codes: scope_missing, model_not_found, and those of promptcall.Service.Put.
func (s *Service) Consider(ctx context.Context, caller penstock.Principal, o RequestOrder) (Considered, error) {
	name := o.Model
	if err := Require(caller, penstock.ScopeInference); err != nil {
		return Considered{}, err
	}
	prompted, err := o.prompt(ctx, s, caller.Tenant.ID)
	if err != nil {
		return Considered{}, err
	}
	if err := CheckModel(name); err != nil {
		return Considered{}, err
	}
	snapshot := s.Config.Current()
	_, _, err = resolve(snapshot, name, penstock.Tenant{Models: caller.Tenant.Models}) // without its regions, which the loop below reports by target
	if err != nil {
		return Considered{}, err
	}
	model, _ := snapshot.Model(name)
	c := Considered{Model: model, Out: map[string]string{}, Prompted: prompted}
	c.shorten(s, caller, &o)
	broke, err := s.unpaid(ctx, caller, o, model)
	if err != nil {
		return Considered{}, err
	}
	for _, target := range model.Targets {
		if region := snapshot.Targets[target].Region; !allows(caller.Tenant.Regions, region) {
			c.Out[target] = outOfRegion(region)
		} else if _, paused := s.Controls.Paused(store.ControlTarget, target); paused {
			c.Out[target] = "was paused by an operator"
		} else if why := broke(snapshot.Targets[target]); why != "" {
			c.Out[target] = why
		} else {
			c.Open = append(c.Open, target)
		}
	}
	return c, nil
}

// shorten shortens a call as Request would.
func (c *Considered) shorten(s *Service, caller penstock.Principal, o *RequestOrder) {
	snapshot := s.Config.Current()
	resolved, targets, err := resolve(snapshot, o.Model, caller.Tenant)
	if err == nil && !o.Free {
		targets, err = payable(&caller, work{o.Model, o.Tags}, &resolved, targets)
	}
	if err != nil {
		return // the reasons of the targets say so
	}
	c.Short, c.Refusal = s.Overflow.request(o, shortenOrder(o.Model, snapshot, &resolved, targets), s.Controls)
	if c.Short != nil && c.Short.Truncated == nil {
		c.Short = nil // it was counted, and is short enough
	}
}

// Quote is the most that one synchronous attempt at an inference can use, on any target of its model that serves the tenant. It
// admits nothing. Codes: invalid_request, model_not_found.
func Quote(snapshot *config.Snapshot, tenant penstock.Tenant, inf dialect.Inference, now time.Time) (Most, error) {
	if err := CheckModel(inf.Model); err != nil {
		return Most{}, err
	}
	_, targets, err := resolve(snapshot, inf.Model, tenant)
	if err != nil {
		return Most{}, err
	}
	return Bound(targets, inf, Terms{now, penstock.LaneRealtime}), nil
}

// unpaid returns a function that says why the hard budgets of a caller cannot pay for a target, "" if they can. The allowance
// that this process has withdrawn in advance counts as spent; it is a thousandth of a budget at the most.
func (s *Service) unpaid(ctx context.Context, caller penstock.Principal, o RequestOrder, model penstock.Model) (func(*penstock.Target) string, error) {
	paid := func(*penstock.Target) string { return "" }
	asked := work{o.Model, o.Tags}.on(&penstock.Resolved{Model: model.Name})
	if o.Free || !bounded(&caller, asked) {
		return paid, nil
	}
	now := s.Clock()
	accounts := slices.DeleteFunc(store.AccountsOf(caller, asked, now), func(a store.Account) bool { return !a.Hard })
	balances, err := s.Balances.Balances(ctx, caller.Tenant.ID, accounts)
	if err != nil {
		return nil, err
	}
	bounded := penstock.Resolved{Bounded: true}
	return func(t *penstock.Target) string {
		if t.Unpriced {
			return "has no price, and a hard budget pays"
		}
		q, err := quoteOf(bounded, []*penstock.Target{t}, &o.Inference)
		if err != nil {
			return penstock.AsError(err).Message
		}
		most := q.bound([]*penstock.Target{t}, Terms{now, penstock.LaneRealtime}).Cost
		for i := range balances {
			if left := balances[i].Left(); most > left {
				return fmt.Sprintf("may cost $%s, and the %s has $%s left", most.Short(), accounts[i].String(), left.Short())
			}
		}
		return ""
	}, nil
}

// inRegions are the targets of a model that may be used in some regions, nil for any. Codes: invalid_request.
func inRegions(model penstock.Model, targets map[string]*penstock.Target, regions []string) ([]string, error) {
	allowed := slices.DeleteFunc(slices.Clone(model.Targets), func(name string) bool {
		t, known := targets[name]
		return known && !allows(regions, t.Region)
	})
	if len(allowed) == 0 {
		e := penstock.Errorf(penstock.CodeInvalidRequest, "No target of model %q runs where your work may run: %s.", clip(model.Name), join(regions))
		e.Param = "model"
		return nil, e
	}
	return allowed, nil
}

// allows says whether work may run in a region. A target without a region may be anywhere.
func allows(regions []string, region string) bool {
	return len(regions) == 0 || slices.Contains(regions, region)
}

func outOfRegion(region string) string {
	if region == "" {
		return "does not say in which region it runs"
	}
	return "runs in region " + region
}

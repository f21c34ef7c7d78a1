package attempt

import (
	"math"
	"slices"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
)

// What a hard budget pays for may not cost more than was set aside for it, whatever changed since: prices and
// targets are live, and a caller need not say how long an answer may be.

// affordable leaves out targets on which a bounded task could cost more than was set aside.
func (r *Runner) affordable(task *Task, candidates []*penstock.Target, left *remarks) []*penstock.Target {
	if !task.Bounded {
		return candidates
	}
	now := r.Clock()
	dear := func(t *penstock.Target) bool {
		price, _ := t.PriceAt(now)
		if !t.Unpriced && price.Dearest().Charge(task.worst(t)) <= task.Bound {
			return false
		}
		left.add("%s may cost more than was set aside", t.Name)
		return true
	}
	return slices.DeleteFunc(candidates, dear)
}

// unaffordable is the error of a task that every target is too dear for by now.
func unaffordable(task *Task) error {
	return penstock.Errorf(penstock.CodeBudgetExceeded,
		"Every target of model %q may cost more by now than was set aside when this was accepted; submit it again.", task.Model)
}

// read parses the body of the task, unless somebody did. A body that cannot be read any more is nil: admission refuses it.
func (task *Task) read() *dialect.Inference {
	if task.Inference == nil {
		if inf, err := catalog.Read(task.Endpoint, task.Body); err == nil {
			task.Inference = &inf
		}
	}
	return task.Inference
}

// worst is the most that a target can charge for a task.
func (task *Task) worst(t *penstock.Target) penstock.Charge {
	if task.Endpoint == penstock.EndpointCountTokens {
		return penstock.Charge{} // upstreams do not charge for it
	}
	inf := task.read()
	if inf == nil || body.Opaque(task.Body) != "" {
		return penstock.Charge{Usage: penstock.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, Calls: 1, Lane: task.Lane}
	}
	most := inf.Weigh().On(t)
	most.Usage.InputTokens -= int64(task.Added)
	most.Lane = task.Lane
	return most
}

// capped is a bounded task whose body bounds the answer: by the caller's own bound, else by the bound that was reserved for it.
func (task *Task) capped(t *penstock.Target) *Task {
	if !task.Bounded {
		return task
	}
	inf := task.read()
	if inf == nil || inf.Silent || inf.MaxOutputTokens > 0 {
		return task
	}
	bounded := *task
	bounded.Body, bounded.Inference = dialect.LimitOutput(task.Endpoint, task.Body, t.MaxOutputTokens), nil
	return &bounded
}

// clamp keeps a translation from allowing a longer answer than the body that it translates.
func (task *Task) clamp(l *upstreamRequest) {
	if !task.Bounded || l.translation == nil {
		return
	}
	if inf := task.read(); inf != nil && inf.MaxOutputTokens > 0 {
		l.body = dialect.LimitOutput(l.endpoint, l.body, inf.MaxOutputTokens)
	}
}

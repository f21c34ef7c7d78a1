package attempt

import (
	"math"
	"slices"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/outbound"
)

// A task under a hard budget may not cost more than its reservation, even after prices and targets changed. A caller need not
// bound the length of the answer.

// affordable leaves out targets on which a bounded task could cost more than its reservation.
func (r *Runner) affordable(task *Task, candidates []*penstock.Target, left *remarks) []*penstock.Target {
	if !task.Bounded {
		return candidates
	}
	now := r.Clock()
	dear := func(t *penstock.Target) bool {
		priced, missing := task.priced(t)
		if priced == nil {
			left.add("%s has no surcharge for %s, and a hard budget pays", t.Name, missing)
			return true
		}
		price, _ := priced.PriceAt(now)
		if !t.Unpriced && price.Dearest().Charge(task.worst(priced)) <= task.Bound {
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

// read parses the body of the task once. A body that cannot be read any more is nil: admission refuses it.
func (task *Task) read() *dialect.Inference {
	if task.Inference == nil {
		if inf, err := catalog.Read(task.Endpoint, task.Body); err == nil {
			task.Inference = &inf
		}
	}
	return task.Inference
}

// taskPrice is the part of a body that decides whether a hard budget can pay for the task.
type taskPrice struct {
	features  []string
	documents int64
}

// features are the parts of a bounded task that only a target with surcharges for them may run, and the documents in it.
func (task *Task) features() (names []string, documents int64) {
	if !task.Bounded || task.Endpoint == penstock.EndpointCountTokens {
		return nil, 0
	}
	if task.price == nil {
		task.price = &taskPrice{}
		if inf := task.read(); inf != nil {
			priced := inf.Price()
			task.price.documents = priced.Documents
			for _, f := range priced.Features {
				task.price.features = append(task.price.features, f.Name)
			}
			slices.Sort(task.price.features)
			task.price.features = slices.Compact(task.price.features)
		}
	}
	return task.price.features, task.price.documents
}

// priced is a target with the surcharges of a bounded task, and the target itself for any other task. It is nil where the target has
// no surcharge for a feature of the task, which is then named.
func (task *Task) priced(t *penstock.Target) (priced *penstock.Target, missing string) {
	names, _ := task.features()
	return t.Surcharged(names)
}

// worst is the most that a target can charge for a task.
func (task *Task) worst(t *penstock.Target) penstock.Charge {
	if task.Endpoint == penstock.EndpointCountTokens {
		return penstock.Charge{} // upstreams do not charge for it
	}
	inf := task.read()
	if inf == nil {
		return penstock.Charge{Usage: penstock.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, Calls: 1, Lane: task.Lane}
	}
	_, documents := task.features()
	weight := inf.Weigh().WithDocuments(documents)
	most := weight.On(t)
	most.Usage.InputTokens += weight.Attached(t) - int64(task.Added)
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
func (task *Task) clamp(q *outbound.Request) {
	if !task.Bounded || !q.Translated() {
		return
	}
	if inf := task.read(); inf != nil && inf.MaxOutputTokens > 0 {
		q.LimitOutput(inf.MaxOutputTokens)
	}
}

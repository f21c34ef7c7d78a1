package route

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

// ranking is the order of a query's candidates by the model's policy.
type ranking struct {
	ordered  bool          // the model's own order: the fields below are empty
	eligible []int         // indices of the candidates that are not excluded
	stats    []TargetStats // of those
	scores   []Score       // of those; nil unless the policy scores
	order    []int         // of those
	pick     pick          // why the first one is first
}

// places is how many there are.
func (k *ranking) places(q *Query) int {
	if k.ordered {
		return len(q.Candidates)
	}
	return len(k.order)
}

// at is the index of the candidate in the n-th place.
func (k *ranking) at(q *Query, n int) *penstock.Target {
	if k.ordered {
		return q.Candidates[n]
	}
	return q.Candidates[k.eligible[k.order[n]]]
}

// rank puts the candidates of a query into the order of its policy.
func (r *Router) rank(q *Query) ranking {
	switch q.Model.Policy {
	case penstock.PolicyWeighted:
		k := r.stats(q)
		k.order, k.pick = byWeight(k.stats)
		return k
	case penstock.PolicyScored, penstock.PolicyCheapest:
		k := r.stats(q)
		k.scores = scores(k.stats, q.Model.Score)
		k.order, k.pick = byScore(k.stats, k.scores, nearEqual, r.draw)
		return k
	case penstock.PolicyFastest:
		k := r.stats(q)
		k.scores = scores(k.stats, q.Model.Score)
		k.order, k.pick = byScore(k.stats, k.scores, nearlyAsFast, r.draw)
		r.explore(q, &k)
		return k
	}
	return ranking{ordered: true}
}

// nominalOutput is the assumed length of an answer for the comparison of costs, unless the call sets a lower bound.
const nominalOutput = 256

// stats returns the state of the candidates that are not excluded.
func (r *Router) stats(q *Query) ranking {
	now := r.tracker.Clock()
	usage := penstock.Usage{InputTokens: max(q.InputTokens, 1), OutputTokens: nominalOutput}
	if q.MaxOutputTokens > 0 {
		usage.OutputTokens = min(usage.OutputTokens, q.MaxOutputTokens)
	}
	var k ranking
	for i := range q.Candidates {
		t := q.Candidates[i]
		if _, out := q.excluded(t); out {
			continue
		}
		weight := max(q.Model.Weights[t.Name], 1)
		k.eligible = append(k.eligible, i)
		k.stats = append(k.stats, TargetStats{
			Cost: t.Price.Charge(penstock.Charge{Usage: usage, Searches: q.Searches}), Latency: r.latency(t.Name, now, q), Quality: t.Quality, Headroom: r.tracker.Headroom(t),
			Weight: weight, Credit: r.credits[q.Model.Name][t.Name], PromptCache: t.PromptCache, Pull: pull(q.Prefix, t.Name, weight),
		})
	}
	return k
}

func (r *Router) latency(target string, now time.Time, q *Query) time.Duration {
	if p, ok := r.paces[target]; ok {
		return p.latency(now, q)
	}
	return 0
}

// timed records the latency of an answer. Failures do not count: a target that refuses at once is not fast. The lock is held.
func (r *Router) timed(target string, now time.Time, res capacity.Result) {
	if res.Kind != "" || res.Took <= 0 {
		return
	}
	p := r.paceOf(target)
	p.total.add(now, res.Took)
	if res.FirstToken > 0 && res.FirstToken < res.Took { // else it was not streamed
		p.firstToken.add(now, res.FirstToken)
	}
}

// paceOf returns the pace of a target, and creates a missing one.
func (r *Router) paceOf(target string) *pace {
	p, ok := r.paces[target]
	if !ok {
		p = &pace{}
		r.paces[target] = p
	}
	return p
}

// explore puts a target first that was not measured for long, so that a target that became fast is found.
func (r *Router) explore(q *Query, k *ranking) {
	if len(k.order) < 2 || k.pick == byPrefix {
		return
	}
	now := r.tracker.Clock()
	for place, n := range k.order[1:] {
		p, ok := r.paces[q.Candidates[k.eligible[n]].Name]
		if ok && p.unexplored(now, q) {
			k.order, k.pick = toFront(k.order, place+1), byExploring
			return
		}
	}
}

// choseFast records the choice of a model with the policy fastest.
func (r *Router) choseFast(q *Query, k ranking, chosen int) {
	for place, n := range k.order {
		p, ok := r.paces[q.Candidates[k.eligible[n]].Name]
		switch {
		case !ok:
		case place == chosen:
			p.askedAt, p.passed = r.tracker.Clock(), 0
		default:
			p.passed++
		}
	}
}

// settle records a choice of a model.
func (r *Router) settle(q *Query, k ranking, chosen int) {
	if q.Model.Policy == penstock.PolicyFastest {
		r.choseFast(q, k, chosen)
	}
	if q.Model.Policy != penstock.PolicyWeighted || k.pick == byPrefix {
		return // prefixes keep to the shares without credits
	}
	settle(k.stats, k.order, chosen)
	credits := make(map[string]float64, len(k.eligible)) // targets that were removed from the model are dropped
	for n, i := range k.eligible {
		credits[q.Candidates[i].Name] = k.stats[n].Credit
	}
	r.credits[q.Model.Name] = credits
}

// undo returns a function that reverts what settle will record for a choice; nil when it records nothing.
func (r *Router) undo(q *Query, k ranking, chosen int) func() {
	switch {
	case q.Model.Policy == penstock.PolicyFastest:
		return r.undoFast(q, k, chosen)
	case q.Model.Policy != penstock.PolicyWeighted || k.pick == byPrefix:
		return nil
	}
	model := q.Model.Name
	booked := slices.Clone(k.stats)
	settle(booked, k.order, chosen)
	change := make(map[string]float64, len(k.eligible))
	for n, i := range k.eligible {
		change[q.Candidates[i].Name] = booked[n].Credit - k.stats[n].Credit
	}
	return func() {
		for target, credit := range change {
			if _, known := r.credits[model][target]; known {
				r.credits[model][target] -= credit
			}
		}
	}
}

// undoFast returns a function that reverts what choseFast will record.
func (r *Router) undoFast(q *Query, k ranking, chosen int) func() {
	var before pace
	name := k.at(q, chosen).Name
	if p, ok := r.paces[name]; ok {
		before = *p
	}
	var passed []string
	for place, n := range k.order {
		if place != chosen {
			passed = append(passed, q.Candidates[k.eligible[n]].Name)
		}
	}
	return func() {
		if p, ok := r.paces[name]; ok {
			p.askedAt, p.passed = before.askedAt, before.passed
		}
		for _, other := range passed {
			if p, ok := r.paces[other]; ok {
				p.passed = max(0, p.passed-1)
			}
		}
	}
}

// reason says why the candidate in the n-th place was chosen and those before it were not.
func (r *Router) reason(q *Query, k ranking, n int) string {
	var passed []string
	for m := range n {
		t := k.at(q, m)
		why, out := q.excluded(t)
		if !out {
			why = string(r.tracker.Look(t).Reason)
		}
		passed = append(passed, t.Name+" "+why)
	}
	if !k.ordered { // excluded candidates have no place
		for _, e := range q.exclusions {
			passed = append(passed, e.target+" "+e.reason)
		}
	}
	why := k.reason(q, n)
	if len(passed) > 0 {
		why += ": " + strings.Join(passed, ", ")
	}
	return why
}

// reason says what put a candidate into the n-th place.
func (k *ranking) reason(q *Query, n int) string {
	switch {
	case k.ordered && n == 0:
		return "first of the model's order"
	case k.ordered:
		return "next in the model's order"
	case k.pick == byPrefix && n == 0:
		return "kept with calls that begin alike"
	case k.pick == byExploring && n == 0:
		return "to find out how fast it is now, with a score of " + k.scores[k.order[n]].explain(q.Model.Score)
	case k.scores == nil:
		return fmt.Sprintf("weighted, with a weight of %d", k.stats[k.order[n]].Weight)
	}
	return fmt.Sprintf("%s, with a score of %s", q.Model.Policy, k.scores[k.order[n]].explain(q.Model.Score))
}

// explain formats a score with the parts that have a weight.
func (s Score) explain(w penstock.ScoreWeights) string {
	var parts []string
	for _, p := range []struct {
		name          string
		weight, value float64
	}{{"cost", w.Cost, s.Cost}, {"latency", w.Latency, s.Latency}, {"quality", w.Quality, s.Quality}, {"headroom", w.Headroom, s.Headroom}} {
		if p.weight > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", p.name, p.value))
		}
	}
	return fmt.Sprintf("%.2f (%s)", s.Total, strings.Join(parts, ", "))
}

package route

import "penstock"

// Explanation is the choice that a query would get, and why.
type Explanation struct {
	Chosen  string // the target that would be called, "" for none
	Reason  string // why it would, or why none would
	Targets []Explained
}

// Explained is the state of one candidate.
type Explained struct {
	Target     string
	Place      int    // in the order of the policy, from 1; 0 for an excluded candidate
	Excluded   string // why it is excluded, "" if it is not
	NoCapacity string // why it cannot be called now, "" when it can
	Stats      TargetStats
	Output     int64  // the average length of its answers in tokens
	Score      *Score // nil unless the policy scores
}

// Explain says what Choose would do with a query, without taking capacity, waiting or calling. Where chance decides
// between near-equals, it shows one draw.
func (r *Router) Explain(q Query) Explanation {
	q.Retry = false
	r.exclude(&q)
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.rank(&q)
	full := k
	if k.ordered { // this policy does not use the statistics, but the explanation shows them
		full = r.stats(&q)
		full.order = indices(len(full.eligible))
	}
	e := Explanation{Targets: make([]Explained, len(q.Candidates))}
	for i := range q.Candidates {
		t := q.Candidates[i]
		e.Targets[i] = Explained{Target: t.Name, NoCapacity: string(r.tracker.Look(t).Reason), Output: r.tracker.UsualOutput(t)}
		e.Targets[i].Excluded, _ = q.excluded(t)
	}
	for place, n := range full.order {
		one := &e.Targets[full.eligible[n]]
		one.Place, one.Stats = place+1, full.stats[n]
		if k.scores != nil {
			one.Score = &k.scores[n]
		}
	}
	e.choose(r, &q, k)
	return e
}

func (e *Explanation) choose(r *Router, q *Query, k ranking) {
	for n := range k.places(q) {
		t := k.at(q, n)
		if _, out := q.excluded(t); !out && r.tracker.Look(t).Reason == "" {
			e.Chosen, e.Reason = t.Name, r.reason(q, k, n)
			return
		}
	}
	if v := r.view(q); v.left > 0 {
		e.Reason = penstock.AsError(v.noCapacity(nil)).Message
	} else {
		e.Reason = penstock.AsError(q.nothingLeft()).Message
	}
}

package attempt

import (
	"math"
	"slices"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/overflow"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// free reports whether a failed try does not count against the maximum of the task: the target rejected it, or the try was a probe.
func (t *try) free(kind provider.Kind) bool {
	return kind.Policy().Free || (t.probe && capacity.FreeProbe(kind, t.task.Tries+t.record.Number))
}

// queryOf is the query for a target of a task. The strategy of the model, health and limits are live; the candidates were resolved
// before.
func (r *Runner) queryOf(task *Task, s *config.Snapshot, candidates []*penstock.Target) route.Query {
	model, _ := s.Model(task.Model)
	ranking := task.ranking()
	q := route.Query{
		Candidates: candidates, Model: model, Lane: task.Lane, Tenant: task.Tenant, Wait: task.Wait, Stream: task.Stream, Retry: task.Tries > 0,
		InputTokens: penstock.InputTokens(int64(len(task.Body)) + ranking.Repeated()), Searches: ranking.Searches(), MaxOutputTokens: task.MaxOutputTokens,
	}
	switch {
	case task.needs != nil:
		q.Needs = *task.needs
	case route.Picky(candidates):
		q.Needs = task.asksFor()
		r.countInput(task, &q)
	}
	if slices.ContainsFunc(candidates, func(t *penstock.Target) bool { return t.PromptCache }) {
		q.Prefix = route.Prefix(model.Name, task.Body)
	}
	return q
}

// ranking is the amount that an upstream reads for a task of reranking, zero for any other task.
func (task *Task) ranking() dialect.Ranking {
	if task.Endpoint == penstock.EndpointRerank {
		if inf := task.read(); inf != nil {
			return inf.Ranking
		}
	}
	return dialect.Ranking{}
}

// asksFor is the needs of the body of a task. A body that is no JSON object has none: the error of the upstream explains more.
func (task *Task) asksFor() route.Needs {
	inf := task.read()
	if inf == nil { // no endpoint is named, or the endpoint cannot read the body
		object, err := body.Scan(task.Body)
		if err != nil {
			return route.Needs{}
		}
		inf = &dialect.Inference{Object: object}
	}
	return route.Needs{Capabilities: inf.Needs(), ContextTokens: inf.ContextTokens(), Member: inf.NeedMember}
}

// countInput counts the input of a task that admission may have shortened, so that both agree on the targets whose context is large
// enough. An input that is surely short enough for all of them is not counted, nor one that admission counted.
func (r *Runner) countInput(task *Task, q *route.Query) {
	inf := task.read()
	if inf == nil || r.Overflow == nil || !task.OnOverflow.Truncates() || !overflow.Applies(task.Endpoint) {
		return
	}
	n := &q.Needs
	n.Counted, n.OutputTokens = true, inf.OutputTokens()
	if n.ContextTokens = inf.Counted; n.ContextTokens > 0 {
		return
	}
	least := int64(math.MaxInt64)
	for _, t := range q.Candidates {
		if t.ContextTokens > 0 {
			least = min(least, t.InputLimit(n.OutputTokens))
		}
	}
	n.ContextTokens = r.Overflow.Input(inf.Object, least)
}

// Explanation is the choice of a target for a task, with the reasons.
type Explanation = route.Explanation

// Explain returns the choice that Answer would make for a task, without a call. Without an endpoint, all targets are taken to serve it.
// Codes: no_target_available.
func (r *Runner) Explain(task Task) (Explanation, error) {
	s := r.Config.Current()
	candidates, err := route.Candidates(task.Targets, s.Targets)
	if err != nil {
		return Explanation{}, err
	}
	if task.Endpoint == "" {
		return r.Router.Explain(r.queryOf(&task, s, candidates)), nil
	}
	able, _ := r.served(&task, slices.Clone(candidates))
	if len(able) > 0 {
		return r.explainAble(&Run{runner: r, task: &task, snapshot: s, query: r.queryOf(&task, s, slices.Clone(able))}), nil
	}
	explained := Explanation{Reason: penstock.AsError(notServed(&task)).Message}
	for _, t := range candidates {
		explained.Targets = append(explained.Targets, route.Explained{Target: t.Name, Excluded: unserved(task.Endpoint)})
	}
	return explained, nil
}

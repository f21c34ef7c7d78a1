package attempt

import (
	"slices"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// free reports whether a failed try does not count against the maximum of the task: the target rejected it, or the try was a probe.
func (t *try) free(kind provider.Kind) bool {
	return kind.Policy().Free || (t.probe && capacity.FreeProbe(kind, t.task.Tries+t.record.Number))
}

// queryOf is the query for a target of a task. The strategy of the model, health and limits are live; the candidates were resolved
// before.
func queryOf(task *Task, s *config.Snapshot, candidates []*penstock.Target) route.Query {
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
		return r.Router.Explain(queryOf(&task, s, candidates)), nil
	}
	able, _ := r.served(&task, slices.Clone(candidates))
	if len(able) > 0 {
		return r.explainAble(&Run{runner: r, task: &task, snapshot: s, query: queryOf(&task, s, slices.Clone(able))}), nil
	}
	explained := Explanation{Reason: penstock.AsError(notServed(&task)).Message}
	for _, t := range candidates {
		explained.Targets = append(explained.Targets, route.Explained{Target: t.Name, Excluded: unserved(task.Endpoint)})
	}
	return explained, nil
}

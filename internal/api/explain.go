package api

import (
	"net/http"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/request"
)

// explainView explains how a model would route a call.
type explainView struct {
	Object  string              `json:"object"`
	Model   string              `json:"model"`
	Policy  penstock.Policy     `json:"policy"`
	Chosen  *string             `json:"chosen"` // null when no target can be called now
	Reason  string              `json:"reason"`
	Targets []explainTargetView `json:"targets"`
	// Truncated is what would be dropped of the call, null for nothing.
	Truncated *truncationView `json:"truncated"`
	// Prompt is the prompt that the body names.
	Prompt *promptUseView `json:"prompt,omitzero"`
}

// explainTargetView is the state of one target of the model.
type explainTargetView struct {
	Target     string            `json:"target"`
	Place      *int              `json:"place"`       // in the order of the policy; null for an excluded target
	Excluded   *string           `json:"excluded"`    // why it is excluded
	NoCapacity *string           `json:"no_capacity"` // why it cannot be called now
	CostUSD    *string           `json:"cost_usd"`    // of a call like this one
	LatencyMS  *int64            `json:"latency_ms"`
	Quality    *float64          `json:"quality"`
	Headroom   *float64          `json:"headroom"`
	Score      *explainScoreView `json:"score"` // null unless the policy scores
}

// explainScoreView is a score from 0 to 1, and its parts.
type explainScoreView struct {
	Total    float64 `json:"total"`
	Cost     float64 `json:"cost"`
	Latency  float64 `json:"latency"`
	Quality  float64 `json:"quality"`
	Headroom float64 `json:"headroom"`
}

// explainModel explains how a call would be routed, without making it.
func (c models) explainModel() error {
	sent := []byte("{}")
	if c.R.ContentLength != 0 {
		var err error
		if sent, err = c.readBody(); err == nil {
			sent, err = c.Admit.Filled(c.R.Context(), c.Principal, sent, &c.memory)
		}
		if err != nil {
			return err
		}
	}
	object, err := body.Scan(sent)
	if err != nil {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The body is not a JSON object: %v.", err)
	}
	stream, err := object.Bool("stream")
	if err != nil {
		return penstock.InvalidParam("stream", "stream must be true or false.")
	}
	endpoint := penstock.Endpoint(c.R.URL.Query().Get("endpoint"))
	if _, known := inferenceEndpoints[endpoint]; endpoint != "" && !known {
		return penstock.InvalidParam("endpoint", "endpoint must be an inference endpoint, such as %s.", penstock.EndpointChat)
	}
	if raw := object.Raw(dialect.PromptMember); endpoint == "" && len(raw) > 0 && raw[0] == '{' {
		endpoint = penstock.EndpointChat // a prompt belongs to a dialect
	}
	name := c.R.PathValue("model")
	inf := dialect.Estimate(endpoint, object)
	if entry, known := catalog.Of(endpoint); known {
		inf.Format = entry.Format
		if read, err := entry.Read(sent); err == nil {
			inf = read // it needs a complete body
		}
	}
	considered, err := c.Admit.Consider(c.R.Context(), c.Principal, admit.RequestOrder{
		Endpoint: endpoint, Model: name, Inference: inf, Free: inferenceEndpoints[endpoint].free,
	})
	if err != nil {
		return err
	}
	view := explainView{Object: "model.explanation", Model: name, Policy: considered.Model.Policy, Targets: []explainTargetView{}}
	explained := map[string]explainTargetView{}
	view.Reason = "No target of this model may serve your calls."
	if prompted := considered.Prompted; prompted != nil {
		sent, view.Prompt = prompted.Body(), newPromptUseView(&prompted.Prompted.PromptUse)
	}
	if short := considered.Short; short != nil {
		sent, view.Truncated = short.Body(), newTruncationView(short.Truncated)
	}
	if len(considered.Open) > 0 {
		q := request.Question{
			Model: name, Lane: penstock.LaneRealtime, Targets: considered.Open, Endpoint: endpoint, Body: sent, Stream: stream,
			OnOverflow: considered.Model.OnOverflow,
		}
		if err := c.explain(q, &view, explained); err != nil {
			return err
		}
	}
	if considered.Refusal != nil {
		view.Chosen, view.Reason = nil, penstock.AsError(considered.Refusal).Message
	}
	for _, target := range considered.Model.Targets {
		one, ok := explained[target]
		if !ok {
			one = explainTargetView{Target: target, Excluded: text(considered.Out[target])}
		}
		view.Targets = append(view.Targets, one)
	}
	return c.JSON(http.StatusOK, view)
}

// explain fills in the router's explanation of the targets that may be called.
func (c models) explain(q request.Question, view *explainView, explained map[string]explainTargetView) error {
	e, err := c.Requests.Explain(q)
	if err != nil {
		return err
	}
	view.Chosen, view.Reason = text(e.Chosen), e.Reason
	for _, t := range e.Targets {
		one := explainTargetView{Target: t.Target, Excluded: text(t.Excluded), NoCapacity: text(t.NoCapacity)}
		if t.Place > 0 {
			cost := t.Stats.Cost.String()
			one.Place, one.CostUSD, one.Quality, one.Headroom = &t.Place, &cost, &t.Stats.Quality, &t.Stats.Headroom
			if ms := t.Stats.Latency.Milliseconds(); t.Stats.Latency > 0 {
				one.LatencyMS = &ms
			}
		}
		if t.Score != nil {
			one.Score = &explainScoreView{t.Score.Total, t.Score.Cost, t.Score.Latency, t.Score.Quality, t.Score.Headroom}
		}
		explained[t.Target] = one
	}
	return nil
}

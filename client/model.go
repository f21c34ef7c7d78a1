package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Model is a name that jobs and calls can ask for.
type Model struct {
	ID      string `json:"id"`
	OwnedBy string `json:"owned_by"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (m *Model) UnmarshalJSON(text []byte) error {
	type plain Model
	return keepRaw(text, (*plain)(m), &m.Raw)
}

// Models lists the models that the key may ask for.
func (c *Client) Models(ctx context.Context) ([]*Model, error) {
	p, _, err := fetch[page[Model]](ctx, c, call{method: http.MethodGet, path: "/v1/models"})
	if err != nil {
		return nil, err
	}
	return p.Data, nil
}

// Explanation is what a model would do with a call.
type Explanation struct {
	Model   string            `json:"model"`
	Policy  string            `json:"policy"`
	Chosen  string            `json:"chosen"` // "" when no target can be called at this moment
	Reason  string            `json:"reason"`
	Targets []ExplainedTarget `json:"targets"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// ExplainedTarget is how one target of a model stands.
type ExplainedTarget struct {
	Target     string  `json:"target"`
	Place      int     `json:"place"`       // in the order of the policy, 0 for one that does not come into question
	Excluded   string  `json:"excluded"`    // why it does not
	NoCapacity string  `json:"no_capacity"` // why it cannot be called at this moment
	CostUSD    string  `json:"cost_usd"`
	LatencyMS  int64   `json:"latency_ms"` // 0 while too little is known
	Quality    float64 `json:"quality"`
	Headroom   float64 `json:"headroom"`
	Score      *Score  `json:"score"` // nil unless the policy scores
}

// Score is how good a target is, from 0 to 1, and the parts of it.
type Score struct {
	Total    float64 `json:"total"`
	Cost     float64 `json:"cost"`
	Latency  float64 `json:"latency"`
	Quality  float64 `json:"quality"`
	Headroom float64 `json:"headroom"`
}

// UnmarshalJSON keeps the text in Raw.
func (e *Explanation) UnmarshalJSON(text []byte) error {
	type plain Explanation
	return keepRaw(text, (*plain)(e), &e.Raw)
}

// ExplainModel asks what a model would do with a call of this body, nil for any, without making it. Codes:
// model_not_found.
func (c *Client) ExplainModel(ctx context.Context, model string, body json.RawMessage) (*Explanation, error) {
	if len(body) == 0 {
		body = json.RawMessage("{}")
	}
	e, _, err := fetch[Explanation](ctx, c, call{method: http.MethodPost, path: "/v1/models/" + url.PathEscape(model) + "/explain", body: body})
	return e, err
}

// Health is how a server is.
type Health struct {
	Status string `json:"status"` // ready
}

// Health asks once whether the server can take work: whether what it stores is written and read. It
// needs no key, and is not retried, because the answer wanted is the one of this moment. Codes:
// overloaded (it cannot).
func (c *Client) Health(ctx context.Context) (*Health, error) {
	call := call{method: http.MethodGet, path: "/readyz"}
	got, err := c.try(ctx, call)
	if err != nil {
		return nil, err
	}
	return decode[Health](call, got.body)
}

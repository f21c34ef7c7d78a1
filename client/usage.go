package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"penstock"
)

// ReportQuery asks what was spent. All of it may be left out: then it is the total of this month.
type ReportQuery struct {
	From, To string   // days, such as 2026-11-01, both included
	GroupBy  []string // tenant, key, model, lane, day, tag, tag:NAME
}

// Report is what was spent.
type Report struct {
	From    string         `json:"from"`
	To      string         `json:"to"`
	GroupBy []string       `json:"group_by"`
	Data    []*ReportGroup `json:"data"`
	Total   ReportSum      `json:"total"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// ReportGroup is the usage of one group of the report.
type ReportGroup struct {
	Tenant string            `json:"tenant"`
	Key    string            `json:"key"`
	Model  string            `json:"model"`
	Lane   string            `json:"lane"`
	Day    string            `json:"day"`
	Tags   map[string]string `json:"tags"`
	ReportSum
}

// ReportSum is what was spent.
type ReportSum struct {
	Requests int64 `json:"requests"`
	Usage
	Forfeit penstock.NanoUSD `json:"forfeit_usd"`
}

// UnmarshalJSON keeps the text in Raw.
func (r *Report) UnmarshalJSON(text []byte) error {
	type plain Report
	return keepRaw(text, (*plain)(r), &r.Raw)
}

// Values are the parameters of the query.
func (q ReportQuery) Values() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"from": q.From, "to": q.To, "group_by": strings.Join(q.GroupBy, ",")} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// Usage reports what was spent.
func (c *Client) Usage(ctx context.Context, q ReportQuery) (*Report, error) {
	r, _, err := fetch[Report](ctx, c, call{method: http.MethodGet, path: "/v1/usage", query: q.Values()})
	return r, err
}

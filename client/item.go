package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"

	"penstock"
)

// Item is one inference of a job, with all that was tried for it.
type Item struct {
	Result
	JobID   string    `json:"job_id"`
	History []Attempt `json:"history"` // in order
}

// UnmarshalJSON keeps the text in Raw.
func (i *Item) UnmarshalJSON(text []byte) error {
	var rest struct {
		JobID   string    `json:"job_id"`
		History []Attempt `json:"history"`
	}
	if err := json.Unmarshal(text, &rest); err != nil {
		return err
	}
	i.JobID, i.History = rest.JobID, rest.History
	return i.Result.UnmarshalJSON(text)
}

// Attempt is one try at one item or request on one target.
type Attempt struct {
	ID           string    `json:"id"` // att_…
	Number       int       `json:"number"`
	Target       string    `json:"target"`
	Reason       string    `json:"reason"`     // why this target was chosen
	Config       string    `json:"config"`     // hash of the configuration it ran under
	Isolated     bool      `json:"isolated"`   // it ran in a child process of the worker: several workers died with its item
	ErrorKind    string    `json:"error_kind"` // "" when it succeeded
	ErrorMessage string    `json:"error_message"`
	StatusCode   int       `json:"status_code"` // what the upstream answered with, 0 when it did not
	Usage        Usage     `json:"usage"`
	UsageKnown   bool      `json:"usage_known"` // false when the upstream did not report it
	StartedAt    time.Time `json:"started_at"`
	FirstTokenAt time.Time `json:"first_token_at"`
	FinishedAt   time.Time `json:"finished_at"`
}

// Item reads an item. Codes: not_found.
func (c *Client) Item(ctx context.Context, id string) (*Item, error) {
	i, _, err := fetch[Item](ctx, c, call{method: http.MethodGet, path: "/v1/items/" + url.PathEscape(id)})
	return i, err
}

// ItemFilter selects items of a job. Zero fields select everything.
type ItemFilter struct {
	Status   penstock.Status
	After    string // only items behind this one
	PageSize int    // items read at a time. Zero: MaxPageSize
}

// Items yields the items of a job in the order of its inputs, whatever became of them, without their responses and
// what was tried for them. Codes: not_found.
func (c *Client) Items(ctx context.Context, jobID string, f ItemFilter) iter.Seq2[*Item, error] {
	l := list[Item]{
		path: jobPath(jobID) + "/items", size: f.PageSize, after: f.After, id: func(i *Item) string { return i.ItemID },
		query: url.Values{"status": {string(f.Status)}},
	}
	return l.all(ctx, c)
}

// Request is one synchronous call, with all that was tried for it.
type Request struct {
	ID           string              `json:"id"` // req_…
	Endpoint     penstock.Endpoint   `json:"endpoint"`
	Model        string              `json:"model"`
	Stream       bool                `json:"stream"`
	Status       penstock.Status     `json:"status"`
	Key          string              `json:"key"` // the name of the key that made it
	Tags         map[string]string   `json:"tags"`
	Subject      string              `json:"subject"`     // the end user that it is about
	StatusCode   int                 `json:"status_code"` // what the caller saw; 499 when it left
	Error        *penstock.ItemError `json:"error"`       // nil if it succeeded
	Target       string              `json:"target"`
	Usage        Usage               `json:"usage"`
	StartedAt    time.Time           `json:"started_at"`
	FirstTokenAt time.Time           `json:"first_token_at"`
	FinishedAt   time.Time           `json:"finished_at"`
	History      []Attempt           `json:"history"` // in order
	Prompt       *PromptUse          `json:"prompt"`  // nil for none

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (r *Request) UnmarshalJSON(text []byte) error {
	type plain Request
	return keepRaw(text, (*plain)(r), &r.Raw)
}

// RequestFilter selects synchronous calls. Zero fields select all.
type RequestFilter struct {
	Status                      penstock.Status // succeeded, failed or cancelled
	Model, Target, Key, Subject string
	Prompt                      string // NAME or NAME@VERSION
	TagKey, TagValue            string
	MinCost                     penstock.NanoUSD
	CreatedAfter, CreatedBefore time.Time
	PageSize                    int // calls read at a time. Zero: MaxPageSize
}

// ListRequests yields synchronous calls, newest first, without their attempts. Codes: invalid_request.
func (c *Client) ListRequests(ctx context.Context, f RequestFilter) iter.Seq2[*Request, error] {
	query := url.Values{
		"status": {string(f.Status)}, "model": {f.Model}, "target": {f.Target}, "key": {f.Key}, "subject": {f.Subject},
		"created_after": {timeText(f.CreatedAfter)}, "created_before": {timeText(f.CreatedBefore)},
	}
	if f.TagKey != "" {
		query.Set("tag", f.TagKey+":"+f.TagValue)
	}
	if f.Prompt != "" {
		query.Set("prompt", f.Prompt)
	}
	if f.MinCost > 0 {
		query.Set("min_cost", f.MinCost.String())
	}
	return list[Request]{path: "/v1/requests", query: query, size: f.PageSize, id: func(r *Request) string { return r.ID }}.all(ctx, c)
}

// Request explains a synchronous call by the x-request-id of its answer. Codes: not_found.
func (c *Client) Request(ctx context.Context, id string) (*Request, error) {
	r, _, err := fetch[Request](ctx, c, call{method: http.MethodGet, path: "/v1/requests/" + url.PathEscape(id)})
	return r, err
}

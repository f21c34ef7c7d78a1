package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Playground makes calls about runs of the playground.
type Playground struct{ Client *Client }

// PlaygroundActor is a person or a key.
type PlaygroundActor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// PlaygroundCounts are how many cells of a run are in each state.
type PlaygroundCounts struct {
	Queued      int `json:"queued"`
	Running     int `json:"running"`
	Succeeded   int `json:"succeeded"`
	Failed      int `json:"failed"`
	Stopped     int `json:"stopped"`
	Interrupted int `json:"interrupted"`
}

// PlaygroundRun is a run. In lists it has neither a setup nor cells.
type PlaygroundRun struct {
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	State      string           `json:"state"` // running, completed, stopped or interrupted
	CreatedAt  time.Time        `json:"created_at"`
	FinishedAt time.Time        `json:"finished_at"`
	Author     PlaygroundActor  `json:"author"`
	Mine       bool             `json:"mine"`
	ETag       string           `json:"etag"`
	Shared     string           `json:"shared"`
	Models     []string         `json:"models"`
	Prompts    []string         `json:"prompts"`
	Counts     PlaygroundCounts `json:"counts"`
	CostUSD    string           `json:"cost_usd"`
	Setup      json.RawMessage  `json:"setup"`
	Cells      []PlaygroundCell `json:"cells"`
	Cursor     string           `json:"cursor"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (r *PlaygroundRun) UnmarshalJSON(text []byte) error {
	type plain PlaygroundRun
	return keepRaw(text, (*plain)(r), &r.Raw)
}

// PlaygroundCell is one combination of a column, a row and a trial.
type PlaygroundCell struct {
	N          int      `json:"n"`
	Column     int      `json:"column"`
	Row        int      `json:"row"`
	Trial      int      `json:"trial"`
	State      string   `json:"state"`
	Attempt    int64    `json:"attempt"`
	RequestIDs []string `json:"request_ids"`
	Model      string   `json:"model"`
	Target     string   `json:"target"`
	Output     struct {
		Text      string          `json:"text"`
		Reasoning string          `json:"reasoning"`
		ToolCalls json.RawMessage `json:"tool_calls"`
	} `json:"output"`
	FinishReason string `json:"finish_reason"`
	SchemaValid  *bool  `json:"schema_valid"`
	Error        *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (c *PlaygroundCell) UnmarshalJSON(text []byte) error {
	type plain PlaygroundCell
	return keepRaw(text, (*plain)(c), &c.Raw)
}

// PlaygroundShare lets others see a run.
type PlaygroundShare struct {
	ID        string    `json:"id"`
	RunID     string    `json:"run_id"`
	Kind      string    `json:"kind"`
	Role      string    `json:"role"`
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (s *PlaygroundShare) UnmarshalJSON(text []byte) error {
	type plain PlaygroundShare
	return keepRaw(text, (*plain)(s), &s.Raw)
}

// PlaygroundFilter selects runs.
type PlaygroundFilter struct {
	Query  string // a part of the name, of a prompt or of a model
	Author string // me or others; "" for both
}

// PlaygroundMark judges a cell.
type PlaygroundMark struct {
	Rating     *int   `json:"rating"` // 1, -1 or nil
	Comment    string `json:"comment,omitempty"`
	Correction string `json:"correction,omitempty"`
}

// PlaygroundShareOrder shares a run with a role, or as a snapshot.
type PlaygroundShareOrder struct {
	RunID     string `json:"run_id"`
	Kind      string `json:"kind"`                 // role or snapshot
	Role      string `json:"role,omitempty"`       // of kind role
	ExpiresIn string `json:"expires_in,omitempty"` // of kind snapshot, such as 168h
}

// runPath is the path of a run, or of a part of it.
func runPath(id string, rest ...string) string {
	path := "/v1/playground/runs/" + url.PathEscape(id)
	for _, segment := range rest {
		path += "/" + url.PathEscape(segment)
	}
	return path
}

// Estimate renders a setup without a call. Codes: invalid_request, too_large.
func (p Playground) Estimate(ctx context.Context, setup json.RawMessage) (json.RawMessage, error) {
	body, err := encode(map[string]json.RawMessage{"setup": setup})
	if err != nil {
		return nil, err
	}
	got, err := p.Client.do(ctx, call{method: http.MethodPost, path: "/v1/playground/estimates", body: body})
	return got.body, err
}

// Create starts a run. Codes: invalid_request, too_large, conflict, rate_limited, quota_exceeded.
func (p Playground) Create(ctx context.Context, name string, setup json.RawMessage) (*PlaygroundRun, error) {
	order := map[string]any{"setup": setup}
	if name != "" {
		order["name"] = name
	}
	return act[PlaygroundRun](ctx, p.Client, "/v1/playground/runs", order)
}

// List yields runs, newest first.
func (p Playground) List(ctx context.Context, f PlaygroundFilter) iter.Seq2[*PlaygroundRun, error] {
	query := url.Values{"query": {f.Query}, "author": {f.Author}}
	return list[PlaygroundRun]{path: "/v1/playground/runs", query: query, id: func(r *PlaygroundRun) string { return r.ID }}.all(ctx, p.Client)
}

// Read reads a run with its setup and its cells. Codes: not_found.
func (p Playground) Read(ctx context.Context, id string) (*PlaygroundRun, error) {
	r, _, err := fetch[PlaygroundRun](ctx, p.Client, call{method: http.MethodGet, path: runPath(id)})
	return r, err
}

// Rename changes the name of a run. Codes: not_found, conflict.
func (p Playground) Rename(ctx context.Context, id, name string, options ...ChangeOption) (*PlaygroundRun, error) {
	body, err := encode(map[string]string{"name": name})
	if err != nil {
		return nil, err
	}
	r, _, err := fetch[PlaygroundRun](ctx, p.Client, call{method: http.MethodPatch, path: runPath(id), body: body, header: changeHeader(options)})
	return r, err
}

// Delete deletes a run with all that belongs to it. Codes: not_found.
func (p Playground) Delete(ctx context.Context, id string) error {
	_, err := p.Client.do(ctx, call{method: http.MethodDelete, path: runPath(id)})
	return err
}

// Stop stops the cells of a column, or with a negative number all cells. Codes: not_found.
func (p Playground) Stop(ctx context.Context, id string, column int) (*PlaygroundRun, error) {
	order := map[string]any{}
	if column >= 0 {
		order["column"] = column
	}
	return act[PlaygroundRun](ctx, p.Client, runPath(id, "stop"), order)
}

// Resume runs the cells again that were interrupted or stopped, or failed. Codes: not_found, conflict.
func (p Playground) Resume(ctx context.Context, id string) (*PlaygroundRun, error) {
	r, _, err := fetch[PlaygroundRun](ctx, p.Client, call{method: http.MethodPost, path: runPath(id, "resume")})
	return r, err
}

// Mark judges a cell. Codes: not_found, invalid_request.
func (p Playground) Mark(ctx context.Context, id string, cell int, m PlaygroundMark) error {
	body, err := encode(m)
	if err != nil {
		return err
	}
	_, err = p.Client.do(ctx, call{method: http.MethodPut, path: runPath(id, "cells", strconv.Itoa(cell), "mark"), body: body})
	return err
}

// Export reads the cells of a run with their inputs, one line of JSON for each. Codes: not_found.
func (p Playground) Export(ctx context.Context, id string) ([]byte, error) {
	got, err := p.Client.do(ctx, call{method: http.MethodGet, path: runPath(id, "export")})
	return got.body, err
}

// Share shares a run. Codes: not_found, invalid_request, too_large.
func (p Playground) Share(ctx context.Context, o PlaygroundShareOrder) (*PlaygroundShare, error) {
	return act[PlaygroundShare](ctx, p.Client, "/v1/playground/shares", o)
}

// Unshare ends a share. Codes: not_found.
func (p Playground) Unshare(ctx context.Context, id string) error {
	_, err := p.Client.do(ctx, call{method: http.MethodDelete, path: "/v1/playground/shares/" + url.PathEscape(id)})
	return err
}

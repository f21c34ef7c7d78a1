package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	"penstock"
)

// DeadLetter is a failed item that was neither retried nor dismissed yet.
type DeadLetter struct {
	ItemID      string        `json:"item_id"`
	JobID       string        `json:"job_id"`
	Model       string        `json:"model"`
	Code        penstock.Code `json:"code"`
	ErrorKind   string        `json:"error_kind"` // kind of the last upstream error, or ""
	Message     string        `json:"message"`
	Fingerprint string        `json:"fingerprint"` // failures with the same cause share it
	CreatedAt   time.Time     `json:"created_at"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (d *DeadLetter) UnmarshalJSON(text []byte) error {
	type plain DeadLetter
	return keepRaw(text, (*plain)(d), &d.Raw)
}

// DeadLetterGroup is the dead letters that share a fingerprint.
type DeadLetterGroup struct {
	Fingerprint string        `json:"fingerprint"`
	Count       int           `json:"count"`
	Model       string        `json:"model"` // "" when they are of several
	Code        penstock.Code `json:"code"`
	ErrorKind   string        `json:"error_kind"`
	FirstAt     time.Time     `json:"first_at"`
	LastAt      time.Time     `json:"last_at"`
	Sample      DeadLetter    `json:"sample"` // one of them

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (g *DeadLetterGroup) UnmarshalJSON(text []byte) error {
	type plain DeadLetterGroup
	return keepRaw(text, (*plain)(g), &g.Raw)
}

// DeadLetterFilter selects dead letters. In lists, zero fields select everything; where something is
// done with dead letters, that takes All.
type DeadLetterFilter struct {
	All           bool          `json:"all,omitempty"` // every dead letter; nothing else may be set then
	JobID         string        `json:"job_id,omitempty"`
	Model         string        `json:"model,omitempty"`
	Code          penstock.Code `json:"code,omitempty"`
	ErrorKind     string        `json:"error_kind,omitempty"`
	Fingerprint   string        `json:"fingerprint,omitempty"`
	CreatedAfter  time.Time     `json:"created_after,omitzero"`
	CreatedBefore time.Time     `json:"created_before,omitzero"`
}

func (f DeadLetterFilter) query() url.Values {
	return url.Values{
		"job_id": {f.JobID}, "model": {f.Model}, "code": {string(f.Code)}, "error_kind": {f.ErrorKind}, "fingerprint": {f.Fingerprint},
		"created_after": {timeText(f.CreatedAfter)}, "created_before": {timeText(f.CreatedBefore)},
	}
}

// DeadLetterList is a list of dead letters to read.
type DeadLetterList struct {
	Filter   DeadLetterFilter
	After    string // only those behind this item or, for groups, behind this fingerprint
	PageSize int    // entries read at a time. Zero: MaxPageSize
}

// DeadLetters yields dead letters, oldest first.
func (c *Client) DeadLetters(ctx context.Context, d DeadLetterList) iter.Seq2[*DeadLetter, error] {
	l := list[DeadLetter]{
		path: "/v1/dead_letters/items", query: d.Filter.query(), size: d.PageSize, after: d.After,
		id: func(d *DeadLetter) string { return d.ItemID },
	}
	return l.all(ctx, c)
}

// DeadLetterGroups yields dead letters by fingerprint, in the order of the fingerprints.
func (c *Client) DeadLetterGroups(ctx context.Context, d DeadLetterList) iter.Seq2[*DeadLetterGroup, error] {
	l := list[DeadLetterGroup]{
		path: "/v1/dead_letters", query: d.Filter.query(), size: d.PageSize, after: d.After,
		id: func(g *DeadLetterGroup) string { return g.Fingerprint },
	}
	return l.all(ctx, c)
}

// DeadLetterRetry says which dead letters to retry, and how.
type DeadLetterRetry struct {
	Filter DeadLetterFilter `json:"filter"`

	// Resolve is what they run on. Zero: what their jobs were resolved to.
	Resolve penstock.Resolve `json:"resolve,omitempty"`

	// Rate is how many of them may start in a second at the most. Zero: no such cap.
	Rate float64 `json:"rate,omitempty"`

	// DryRun only reports what would be done.
	DryRun bool `json:"dry_run,omitempty"`
}

// DeadLettersRetried is what became of dead letters that were to be retried.
type DeadLettersRetried struct {
	DryRun    bool         `json:"dry_run"`
	Jobs      []RetriedJob `json:"jobs"`
	Items     int          `json:"items"`     // in Jobs
	Remaining int          `json:"remaining"` // dead letters of the filter that are left
	Skipped   []SkippedJob `json:"skipped"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (d *DeadLettersRetried) UnmarshalJSON(text []byte) error {
	type plain DeadLettersRetried
	return keepRaw(text, (*plain)(d), &d.Raw)
}

// RetriedJob is a job over the dead letters of another.
type RetriedJob struct {
	JobID   string `json:"job_id"` // "" in a dry run
	RetryOf string `json:"retry_of"`
	Items   int    `json:"items"`
}

// SkippedJob is a job whose dead letters could not be retried.
type SkippedJob struct {
	JobID string             `json:"job_id"`
	Items int                `json:"items"`
	Error penstock.ItemError `json:"error"`
}

// RetryDeadLetters retries dead letters, the oldest first, in a new job for each job that they are of. One
// call retries a bounded number and says how many are left. A dead letter is retried once, so a call that
// was made again, because its answer got lost, takes only what is left. Codes: invalid_request,
// scope_missing, budget_exceeded.
func (c *Client) RetryDeadLetters(ctx context.Context, r DeadLetterRetry) (*DeadLettersRetried, error) {
	return act[DeadLettersRetried](ctx, c, "/v1/dead_letters/retry", r)
}

// DeadLettersDismissed is what became of dead letters that were to be dismissed.
type DeadLettersDismissed struct {
	DryRun    bool `json:"dry_run"`
	Items     int  `json:"items"`
	Remaining int  `json:"remaining"` // dead letters of the filter that are left

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (d *DeadLettersDismissed) UnmarshalJSON(text []byte) error {
	type plain DeadLettersDismissed
	return keepRaw(text, (*plain)(d), &d.Raw)
}

// DeadLetterDismissal says which dead letters to dismiss.
type DeadLetterDismissal struct {
	Filter DeadLetterFilter `json:"filter"`
	// DryRun only reports what would be done.
	DryRun bool `json:"dry_run,omitempty"`
}

// DismissDeadLetters marks dead letters as dealt with, the oldest first. One call dismisses a bounded
// number and says how many are left. Codes: invalid_request, scope_missing.
func (c *Client) DismissDeadLetters(ctx context.Context, d DeadLetterDismissal) (*DeadLettersDismissed, error) {
	return act[DeadLettersDismissed](ctx, c, "/v1/dead_letters/dismiss", d)
}

// act posts what is to be done and reads what was.
func act[T any](ctx context.Context, c *Client, path string, order any) (*T, error) {
	body, err := encode(order)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	done, _, err := fetch[T](ctx, c, call{method: http.MethodPost, path: path, body: body})
	return done, err
}

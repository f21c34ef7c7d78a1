// Package native is Penstock's own format of results: an item with its answer, as the job API, event streams and result files show
// it. It only writes bytes.
package native

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

// Result is a line of results: an item and its outcome.
type Result struct {
	Seq        int64               `json:"seq" about:"The number of the event by which it ended; resume behind it."`
	Index      int                 `json:"index"`
	CustomID   *string             `json:"custom_id"`
	ItemID     string              `json:"item_id"`
	Status     penstock.Status     `json:"status"`
	Target     *string             `json:"target"`
	Attempts   int                 `json:"attempts" about:"Attempts that counted; being rate-limited upstream does not."`
	Response   *Response           `json:"response"`
	Error      *penstock.ItemError `json:"error"`
	Usage      Usage               `json:"usage"`
	FinishedAt *time.Time          `json:"finished_at"`
}

// Response is the answer of an upstream.
type Response struct {
	StatusCode int            `json:"status_code"`
	Body       jsontext.Value `json:"body"`
}

// Usage is what an item or a call used, with its cost.
type Usage struct {
	penstock.Usage
	Cost penstock.NanoUSD `json:"cost_usd"`
}

// NewResult shows an item.
func NewResult(i penstock.Item) Result {
	r := Result{
		Seq: i.Seq, Index: i.Index, CustomID: optional(i.CustomID), ItemID: penstock.ViewItem.Format(i.ID), Status: i.Status,
		Target: optional(i.Target), Attempts: i.Attempts, Error: i.Error, Usage: Usage{i.Usage, i.Cost},
	}
	if !i.FinishedAt.IsZero() {
		at := Stamp(i.FinishedAt)
		r.FinishedAt = &at
	}
	if i.Status == penstock.StatusSucceeded {
		r.Response = &Response{StatusCode: i.StatusCode, Body: i.Result}
	}
	return r
}

// Stamp is a time as exactly as the store keeps it, so that it reads the same before and after.
func Stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// optional is a text that may be missing.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"penstock"
)

// Result is an item and its outcome.
type Result struct {
	Seq        int64               `json:"seq"` // number of the event by which it ended
	Index      int                 `json:"index"`
	CustomID   string              `json:"custom_id"` // "" when the caller gave none
	ItemID     string              `json:"item_id"`   // item_…
	Status     penstock.Status     `json:"status"`
	Target     string              `json:"target"`   // target of the deciding attempt, or ""
	Attempts   int                 `json:"attempts"` // those that counted
	Response   *Response           `json:"response"` // nil unless it succeeded
	Error      *penstock.ItemError `json:"error"`    // nil if it succeeded
	Usage      Usage               `json:"usage"`
	FinishedAt time.Time           `json:"finished_at"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (r *Result) UnmarshalJSON(text []byte) error {
	type plain Result
	return keepRaw(text, (*plain)(r), &r.Raw)
}

// Response is what the upstream answered.
type Response struct {
	StatusCode int             `json:"status_code"`
	Body       json.RawMessage `json:"body"`
}

// Order is the order of results.
type Order string

// The orders of results.
const (
	OrderCompletion Order = "completion" // as items ended
	OrderInput      Order = "input"      // as they were submitted; while the job runs, up to its first open item
)

// ResultFilter selects results. Zero fields select everything.
type ResultFilter struct {
	// Order is the order in which they come. Zero: OrderCompletion.
	Order Order
	// Status is the only terminal status wanted. Zero: all of them.
	Status penstock.Status
	// After resumes behind a result: behind its Seq in order of completion, behind its Index in order of
	// input. Zero: from the start.
	After *int64
}

// Results yields what is finished by now and ends; it does not wait for the rest. Called again with After it yields what
// was not yielded before, in either order: with OrderInput it stops before the first item that is still open. A broken connection is
// taken up where it broke. Codes: not_found.
func (c *Client) Results(ctx context.Context, jobID string, f ResultFilter) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		wanted := true
		for failed := 1; ; failed++ {
			before := f.After
			err := c.readResults(ctx, jobID, &f, func(r *Result) bool {
				wanted = yield(r, nil)
				return wanted
			})
			if err == nil || !wanted {
				return
			}
			if f.After != before {
				failed = 1
			}
			if err := c.pause(ctx, failed, err); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// readResults reads one answer to its end and moves f behind what it handed over.
func (c *Client) readResults(ctx context.Context, jobID string, f *ResultFilter, take func(*Result) bool) error {
	call := call{method: http.MethodGet, path: jobPath(jobID) + "/results", query: f.query()}
	s, err := c.open(ctx, call)
	if err != nil {
		return err
	}
	defer s.close()
	for {
		line, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := decode[Result](call, line)
		if err != nil {
			return err
		}
		f.After = new(r.Seq)
		if f.Order == OrderInput {
			f.After = new(int64(r.Index))
		}
		if !take(r) {
			return nil
		}
	}
}

func (f *ResultFilter) query() url.Values {
	q := url.Values{}
	if f.Order != "" {
		q.Set("order", string(f.Order))
	}
	if f.Status != "" {
		q.Set("status", string(f.Status))
	}
	if f.After != nil {
		q.Set("after", strconv.FormatInt(*f.After, 10))
	}
	return q
}

package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"

	"penstock"
)

// JobRetry says how a job is retried. The zero value will do.
type JobRetry struct {
	// Resolve is what it runs on. Zero: what the first job was resolved to.
	Resolve penstock.Resolve `json:"resolve,omitempty"`

	// Rate is how many items may start in a second at the most. Zero: no such cap.
	Rate float64 `json:"rate,omitempty"`
}

// RetryTrial is the effect that the retry of a job would have.
type RetryTrial struct {
	RetryOf string `json:"retry_of"`
	Items   int    `json:"items"`   // of the new job
	AtMost  Most   `json:"at_most"` // what would be reserved

	// Raw is the object as the server sent it.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (t *RetryTrial) UnmarshalJSON(text []byte) error {
	type plain RetryTrial
	return keepRaw(text, (*plain)(t), &t.Raw)
}

// Try says what RetryJob would do with a job, and changes nothing. Codes: conflict (nothing is left to retry), not_found, gone.
func (r JobRetry) Try(ctx context.Context, c *Client, id string) (*RetryTrial, error) {
	return act[RetryTrial](ctx, c, jobPath(id)+"/retry", struct {
		JobRetry
		DryRun bool `json:"dry_run"`
	}{r, true})
}

// RetryJob makes a new job over the items of another that failed, expired or were cancelled, and returns
// it; its RetryOf names the other. An item is retried once: to go on, retry the new job. The options and
// what an error says are those of SubmitJob. Codes: conflict (nothing is left to retry), not_found, gone,
// and those of SubmitJob.
func (c *Client) RetryJob(ctx context.Context, id string, r JobRetry, options ...SubmitOption) (*Job, error) {
	s := submission{key: rand.Text()}
	for _, set := range options {
		set(&s)
	}
	body, err := encode(r)
	if err != nil {
		return nil, fmt.Errorf("encoding the retry: %w", err)
	}
	j, header, err := fetch[Job](ctx, c, call{
		method: http.MethodPost, path: jobPath(id) + "/retry", body: body, wait: s.wait,
		header: http.Header{"Idempotency-Key": {s.key}},
	})
	if err != nil {
		return nil, err
	}
	j.Replayed = header.Get("Idempotency-Replayed") == "true"
	return j, nil
}

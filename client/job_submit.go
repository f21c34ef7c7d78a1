package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"penstock"
)

// MaxWait is the longest that the server waits for a job in one call.
const MaxWait = 60 * time.Second

// SubmitOption changes how a job is submitted.
type SubmitOption func(*submission)

type submission struct {
	key  string
	wait time.Duration
}

// IdempotencyKey names the submit, so that sending it again, even from another process, finds the same
// job instead of making a second one. Without this option every SubmitJob draws a key of its own.
func IdempotencyKey(key string) SubmitOption { return func(s *submission) { s.key = key } }

// Wait lets the submit wait for the job to finish, up to d and at most MaxWait. The job is returned as
// it is then, finished or not; [Client.WaitJob] waits for longer.
func Wait(d time.Duration) SubmitOption {
	return func(s *submission) { s.wait = min(d, MaxWait).Truncate(time.Second) }
}

// SubmitJob submits a job. When it returns one, the job is on stable storage and will be run, whatever
// happens to anyone. When it returns an error that is not an [*Error], the job may or may not have been
// accepted: submit it again with the same IdempotencyKey to find out. Codes: invalid_request,
// model_not_found, scope_missing, budget_exceeded, too_large, rate_limited, queue_full,
// idempotency_mismatch, idempotency_in_flight, gone.
func (c *Client) SubmitJob(ctx context.Context, spec JobSpec, options ...SubmitOption) (*Job, error) {
	s := submission{key: rand.Text()}
	for _, set := range options {
		set(&s)
	}
	body, err := encode(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the job: %w", err)
	}
	j, header, err := fetch[Job](ctx, c, call{
		method: http.MethodPost, path: "/v1/jobs", body: body, wait: s.wait,
		header: http.Header{"Idempotency-Key": {s.key}},
	})
	if err != nil {
		return nil, err
	}
	j.Replayed = header.Get("Idempotency-Replayed") == "true"
	return j, nil
}

// Most is the most that one attempt at each item of a job can use.
type Most struct {
	Tokens int64            `json:"tokens"`
	Cost   penstock.NanoUSD `json:"cost_usd"`
}

// Trial is what would become of a job.
type Trial struct {
	Admitted bool                `json:"admitted"` // whether it would be accepted
	Refusal  *penstock.ItemError `json:"refusal"`  // what SubmitJob would answer, nil if it would be accepted
	Items    int                 `json:"items"`
	Target   string              `json:"target"` // that the estimate is made for
	Estimate struct {
		InputTokens  int64             `json:"input_tokens"`
		OutputTokens int64             `json:"output_tokens"`
		Cost         *penstock.NanoUSD `json:"cost_usd"` // nil when the target has no price
	} `json:"estimate"`
	AtMost            Most      `json:"at_most"`             // what would be reserved
	EstimatedFinishAt time.Time `json:"estimated_finish_at"` // zero when it is not known
	WaitingOn         string    `json:"waiting_on"`          // what would keep it from going on, or ""
	Warnings          []string  `json:"warnings"`
	// Raw is the object as the server sent it.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (t *Trial) UnmarshalJSON(text []byte) error {
	type plain Trial
	return keepRaw(text, (*plain)(t), &t.Raw)
}

// TryJob predicts a job: tokens, cost and finish. Nothing is stored. Codes:
// invalid_request, model_not_found, scope_missing, too_large.
func (c *Client) TryJob(ctx context.Context, spec JobSpec) (*Trial, error) {
	spec.dryRun = true
	body, err := encode(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the job: %w", err)
	}
	t, _, err := fetch[Trial](ctx, c, call{method: http.MethodPost, path: "/v1/jobs", body: body})
	return t, err
}

// WaitJob returns the job once it is finished, or an error when ctx ends before that. Codes: not_found.
func (c *Client) WaitJob(ctx context.Context, id string) (*Job, error) {
	for {
		j, header, err := fetch[Job](ctx, c, call{method: http.MethodGet, path: jobPath(id), wait: MaxWait})
		if err != nil || j.Finished() {
			return j, err
		}
		// A server that does not wait must not be asked in a tight loop either.
		if !sleep(ctx, max(retryAfter(header), firstBackoff)) {
			return nil, fmt.Errorf("waiting for %s: %w", id, context.Cause(ctx))
		}
	}
}

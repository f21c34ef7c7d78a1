package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"penstock"
)

// Bounds of a call.
const (
	// MaxAnswerBytes is the largest answer that is read into memory.
	MaxAnswerBytes = 128 << 20
	// MaxRetryAfter is the longest wait between two tries. A server that asks for more gets no second
	// try: its error is returned, for the caller to decide.
	MaxRetryAfter = 30 * time.Second

	// tryTimeout bounds one try of a call that asks for no wait.
	tryTimeout = 30 * time.Second
	// The waits between tries are drawn from 0 to firstBackoff, then twice that, and so on.
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 8 * time.Second
)

// call is one thing asked of the server. It can be sent any number of times.
type call struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   []byte
	wait   time.Duration // how long the server is asked to wait before it answers
}

// answer is a whole answer.
type answer struct {
	header http.Header
	body   []byte
}

// do makes a call until it succeeds, fails for good or runs out of tries.
func (c *Client) do(ctx context.Context, call call) (answer, error) {
	for failed := 1; ; failed++ {
		got, err := c.try(ctx, call)
		if err == nil {
			return got, nil
		}
		if err := c.pause(ctx, failed, err); err != nil {
			return answer{}, err
		}
	}
}

// try makes a call once.
func (c *Client) try(ctx context.Context, call call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout+call.wait)
	defer cancel()
	resp, err := c.send(ctx, call)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswerBytes+1))
	if err != nil {
		return answer{}, c.unreachable("reading the answer of", err)
	}
	if len(body) > MaxAnswerBytes {
		return answer{}, fmt.Errorf("the answer to %s %s is larger than %d bytes", call.method, call.path, MaxAnswerBytes)
	}
	return answer{resp.Header, body}, nil
}

// send makes a call once and returns the answer with its body still to be read. An error status is an
// error.
func (c *Client) send(ctx context.Context, call call) (*http.Response, error) {
	at := c.base.JoinPath(call.path)
	at.RawQuery = call.query.Encode()
	req, err := http.NewRequestWithContext(ctx, call.method, at.String(), bytes.NewReader(call.body))
	if err != nil {
		return nil, fmt.Errorf("preparing %s %s: %w", call.method, call.path, err)
	}
	for name, values := range call.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "penstock-go/"+penstock.Version)
	req.Header.Set("penstock-version", APIVersion)
	if c.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	if call.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if call.wait > 0 {
		req.Header.Set("Prefer", fmt.Sprintf("wait=%d", int(call.wait.Seconds())))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable("reaching", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, readError(resp)
	}
	return resp, nil
}

// pause waits before a call is made again that has failed so often in a row. It returns an error when
// the call must not be made again: err itself, or that ctx ended.
func (c *Client) pause(ctx context.Context, failed int, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("calling Penstock: %w", context.Cause(ctx))
	}
	wait, ok := retryIn(failed, err)
	if !ok || failed >= c.maxTries {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return err // it says more than the timeout that would follow
	}
	if !sleep(ctx, wait) {
		return fmt.Errorf("calling Penstock: %w; before that: %w", context.Cause(ctx), err)
	}
	return nil
}

// retryIn says how long to wait after an error, and false for one that no wait can mend.
func retryIn(failed int, err error) (time.Duration, bool) {
	jitter := rand.N(min(firstBackoff<<(min(failed, 10)-1), maxBackoff) + 1)
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter + jitter, e.Retryable() && e.RetryAfter <= MaxRetryAfter
	}
	_, lost := errors.AsType[*ConnectionError](err)
	return jitter, lost
}

// sleep waits, and reports whether it did so to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fetch makes a call and reads its answer as a T.
func fetch[T any](ctx context.Context, c *Client, call call) (*T, http.Header, error) {
	got, err := c.do(ctx, call)
	if err != nil {
		return nil, nil, err
	}
	v, err := decode[T](call, got.body)
	return v, got.header, err
}

func decode[T any](call call, text []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(text, v); err != nil {
		return nil, fmt.Errorf("reading the answer to %s %s: %w", call.method, call.path, err)
	}
	return v, nil
}

// keepRaw reads an object and keeps the text that it was read from.
func keepRaw(text []byte, into any, raw *json.RawMessage) error {
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	*raw = bytes.Clone(text)
	return nil
}

// encode writes JSON as it is meant for a server: without the escapes that protect HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

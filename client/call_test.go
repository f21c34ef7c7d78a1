package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/client"
)

func TestNewRefusesWhatCannotBeCalled(t *testing.T) {
	t.Parallel()
	for _, cfg := range []client.Config{
		{URL: "127.0.0.1:8080"}, {URL: "ftp://host"}, {URL: "http://"}, {URL: "http://%zz"}, {MaxTries: -1},
	} {
		if _, err := client.New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestURLMayHaveAPath(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{says(200, jobJSON)}}
	c := newClient(t, client.Config{URL: "http://gateway.example/penstock/", HTTPClient: &http.Client{Transport: inMemory{s}}})
	if _, err := c.Job(t.Context(), "job_01"); err != nil {
		t.Fatal(err)
	}
	if got := s.calls[0].URL.String(); got != "http://gateway.example/penstock/v1/jobs/job_01" {
		t.Errorf("called %s", got)
	}
}

// retryCases are what servers answer, and whether and when a call is made again.
var retryCases = []struct {
	name     string
	steps    []http.HandlerFunc
	wantCode penstock.Code // "" for success
	least    time.Duration // bounds of the time it takes
	most     time.Duration
}{
	{name: "success", steps: times(1, says(202, jobJSON))},
	{name: "our fault, then success", most: 1500 * time.Millisecond,
		steps: append(times(2, fails(500, "internal")), says(202, jobJSON))},
	{name: "Retry-After in seconds", least: 3 * time.Second, most: 3500 * time.Millisecond,
		steps: []http.HandlerFunc{fails(429, "rate_limited", "Retry-After: 3"), says(202, jobJSON)}},
	{name: "retry-after-ms is more exact", least: 1200 * time.Millisecond, most: 1700 * time.Millisecond,
		steps: []http.HandlerFunc{fails(429, "queue_full", "Retry-After: 2", "retry-after-ms: 1200"), says(202, jobJSON)}},
	{name: "Retry-After as a date", least: 9 * time.Second, most: 10500 * time.Millisecond,
		// Bubbles begin at midnight UTC of 2000-01-01.
		steps: []http.HandlerFunc{fails(503, "overloaded", "Retry-After: Sat, 01 Jan 2000 00:00:10 GMT"), says(202, jobJSON)}},
	{name: "longer than anyone waits", wantCode: penstock.CodeRateLimited,
		steps: times(1, fails(429, "rate_limited", "Retry-After: 31"))},
	{name: "not retryable", wantCode: penstock.CodeIdempotencyMismatch,
		steps: times(1, fails(422, "idempotency_mismatch", "Retry-After: 1"))},
	{name: "a proxy's 502, then success", most: 500 * time.Millisecond,
		steps: []http.HandlerFunc{says(502, "<html>bad gateway"), says(202, jobJSON)}},
	{name: "a connection that breaks", most: 1500 * time.Millisecond,
		steps: append(times(2, breaks(jobJSON[:20])), says(202, jobJSON))},
	{name: "never any better", wantCode: penstock.CodeOverloaded, least: 5 * time.Second, most: 5*time.Second + 15500*time.Millisecond,
		steps: times(client.DefaultMaxTries, fails(503, "overloaded", "Retry-After: 1"))},
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for _, tc := range retryCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, steps: tc.steps}
				c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
				began := time.Now()
				_, err := c.SubmitJob(t.Context(), client.JobSpec{Model: "fast", Input: "Hi"})
				took := time.Since(began)
				if e, ok := errors.AsType[*client.Error](err); (err != nil || tc.wantCode != "") && (!ok || e.Code != tc.wantCode) {
					t.Errorf("error %v, want code %q", err, tc.wantCode)
				}
				if took < tc.least || took > tc.most {
					t.Errorf("took %v, want %v to %v", took, tc.least, tc.most)
				}
				if len(s.calls) != len(tc.steps) {
					t.Errorf("%d calls, want %d", len(s.calls), len(tc.steps))
				}
				for i, r := range s.calls {
					if key := r.Header.Get("Idempotency-Key"); key == "" || key != s.calls[0].Header.Get("Idempotency-Key") {
						t.Errorf("call %d carries the key %q", i+1, key)
					}
					if s.bodies[i] != `{"model":"fast","input":"Hi"}` {
						t.Errorf("call %d carries the body %s", i+1, s.bodies[i])
					}
				}
			})
		})
	}
}

func TestEverySubmitDrawsItsOwnKey(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: times(2, says(202, jobJSON))}
	c := dial(t, s)
	for range 2 {
		if _, err := c.SubmitJob(t.Context(), client.JobSpec{Model: "fast", Input: "Hi"}); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := s.calls[0].Header.Get("Idempotency-Key"), s.calls[1].Header.Get("Idempotency-Key"); a == b {
		t.Errorf("both submits carry the key %q", a)
	}
}

func TestMaxTriesOneNeverRetries(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: times(1, fails(500, "internal"))}
	c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}, MaxTries: 1})
	if _, err := c.Job(t.Context(), "job_01"); err == nil {
		t.Error("no error")
	}
}

// A caller with little time learns what is wrong at once, not that its time ran out.
func TestNoWaitPastTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, steps: times(1, fails(429, "rate_limited", "Retry-After: 10"))}
		c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.Job(ctx, "job_01")
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != penstock.CodeRateLimited {
			t.Errorf("error %v", err)
		}
		if ctx.Err() != nil {
			t.Error("it waited for the deadline")
		}
	})
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, steps: times(1, fails(429, "rate_limited", "Retry-After: 10"))}
		c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := c.Job(ctx, "job_01")
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "rate_limited") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A server that takes the call and then says nothing costs one try, not the whole call.
func TestSilentServerIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		s := &script{t: t, steps: []http.HandlerFunc{hangs, says(200, jobJSON)}}
		c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
		if _, err := c.Job(t.Context(), "job_01"); err != nil {
			t.Error(err)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	const envelope = `{"error":{"code":"invalid_request","type":"invalid_request_error","param":"inputs[3].body","retryable":false,
 "message":"inputs[3].body is missing.","retry_after_ms":null,"request_id":"req_01"}}`
	for _, tc := range []struct {
		name      string
		answer    http.HandlerFunc
		want      client.Error
		text      string
		retryable bool
	}{
		{name: "Penstock's own", answer: says(400, envelope, "x-request-id: req_01"),
			want: client.Error{Code: penstock.CodeInvalidRequest, Message: "inputs[3].body is missing.", Param: "inputs[3].body",
				Status: 400, RequestID: "req_01"},
			text: "invalid_request: inputs[3].body is missing. (req_01)"},
		{name: "with a time to wait", answer: fails(429, "rate_limited", "retry-after-ms: 40000"),
			want: client.Error{Code: penstock.CodeRateLimited, Message: "No.", Status: 429, RetryAfter: 40 * time.Second},
			text: "rate_limited: No.", retryable: true},
		{name: "a proxy's page", answer: says(413, "<h1>Too large\xff</h1>"),
			want: client.Error{Message: `the server answered 413 Request Entity Too Large: "<h1>Too large</h1>"`, Status: 413},
			text: `the server answered 413 Request Entity Too Large: "<h1>Too large</h1>"`},
		{name: "nothing at all", answer: says(503, "", "Retry-After: 60"),
			want: client.Error{Message: "the server answered 503 Service Unavailable", Status: 503, RetryAfter: time.Minute},
			text: "the server answered 503 Service Unavailable", retryable: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := dial(t, &script{t: t, steps: times(1, tc.answer)}).Job(t.Context(), "job_01")
			got, ok := errors.AsType[*client.Error](err)
			if !ok || *got != tc.want {
				t.Fatalf("error %+v\nwant  %+v", err, &tc.want)
			}
			if got.Error() != tc.text || got.Retryable() != tc.retryable {
				t.Errorf("%q, retryable %v", got.Error(), got.Retryable())
			}
		})
	}
}

func TestUnreachableServerIsNamed(t *testing.T) {
	t.Parallel()
	refused := roundTrip(func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED })
	c := newClient(t, client.Config{URL: "http://user:secret@host:1", HTTPClient: &http.Client{Transport: refused}, MaxTries: 1})
	_, err := c.Job(t.Context(), "job_01")
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v hides its cause", err)
	}
	if want := "reaching http://user:xxxxx@host:1: connection refused"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"penstock"
	"penstock/client"
)

const jobJSON = `{"id":"job_01","object":"job","status":"succeeded","outcome":"mixed",
 "endpoint":"/v1/chat/completions","model":"fast","lane":"bulk","tags":{"team":"search"},
 "counts":{"total":2,"queued":0,"running":0,"succeeded":1,"failed":1,"cancelled":0,"expired":0},
 "usage":{"input_tokens":12,"cached_input_tokens":1,"output_tokens":9,"cost_usd":"0.000041200"},
 "created_at":"2026-11-15T02:00:00Z","started_at":"2026-11-15T02:00:01Z","finished_at":"2026-11-15T02:00:02Z",
 "deadline":"2026-11-16T02:00:00Z","estimated_start_at":null,"estimated_finish_at":null,
 "results_expire_at":null,"cancel_requested_at":null,"retry_of":null,"waiting_on":null,
 "resolved":{"config":"cfg_9f2c","prompt":null,"arm":null,"targets":["openai-mini"]},"error":null,"result":null,
 "of_a_later_release":1}`

var wantJob = &client.Job{
	ID: "job_01", Status: penstock.StatusSucceeded, Outcome: penstock.OutcomeMixed, Endpoint: penstock.EndpointChat,
	Model: "fast", Lane: penstock.LaneBulk, Tags: map[string]string{"team": "search"},
	Counts: penstock.Counts{Total: 2, Succeeded: 1, Failed: 1},
	Usage: client.Usage{
		Usage: penstock.Usage{InputTokens: 12, CachedInputTokens: 1, OutputTokens: 9}, Cost: 41_200,
	},
	CreatedAt: at("02:00:00"), StartedAt: at("02:00:01"), FinishedAt: at("02:00:02"), Deadline: at("02:00:00").AddDate(0, 0, 1),
	Resolved: client.Resolved{Config: "cfg_9f2c", Targets: []string{"openai-mini"}},
	Raw:      json.RawMessage(jobJSON),
}

func at(clock string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-15T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

func TestSubmitJobSendsTheSpec(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{says(202, jobJSON, "Idempotency-Replayed: true")}}
	c := dial(t, s)
	job, err := c.SubmitJob(t.Context(), client.JobSpec{
		Model: "fast", Lane: penstock.LaneBulk,
		Inputs:   []client.Input{{CustomID: "row-1", Body: json.RawMessage(`{"n":12345678901234567890,"s":"a<b"}`)}},
		Defaults: map[string]any{"max_tokens": 5}, Deadline: at("06:00:00"), MaxAttempts: 2, ItemTimeout: 90 * time.Second,
		Tags: map[string]string{"team": "search"},
	}, client.IdempotencyKey("k-1"), client.Wait(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := *wantJob
	want.Replayed = true
	if diff := cmp.Diff(&want, job); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	const body = `{"model":"fast","inputs":[{"custom_id":"row-1","body":{"n":12345678901234567890,"s":"a<b"}}],` +
		`"defaults":{"max_tokens":5},"lane":"bulk","deadline":"2026-11-15T06:00:00Z","max_attempts":2,` +
		`"tags":{"team":"search"},"item_timeout":"1m30s"}`
	if s.bodies[0] != body {
		t.Errorf("body\n%s\nwant\n%s", s.bodies[0], body)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + testKey, "Content-Type": "application/json", "Idempotency-Key": "k-1", "Prefer": "wait=10",
		"User-Agent": "penstock-go/" + penstock.Version,
	} {
		if got := s.calls[0].Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestSmallestSpecHoldsNothingElse(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(client.JobSpec{Model: "fast", Input: "Hi"})
	if want := `{"model":"fast","input":"Hi"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Hour: "wait=60", 1500 * time.Millisecond: "wait=1", 500 * time.Millisecond: "", 0: "",
	} {
		s := &script{t: t, steps: []http.HandlerFunc{says(202, jobJSON)}}
		if _, err := dial(t, s).SubmitJob(t.Context(), client.JobSpec{}, client.Wait(d)); err != nil {
			t.Fatal(err)
		}
		if got := s.calls[0].Header.Get("Prefer"); got != want {
			t.Errorf("Wait(%v) sends Prefer: %q, want %q", d, got, want)
		}
	}
}

func TestReadAndCancelJob(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: times(2, says(200, jobJSON))}
	c := dial(t, s)
	read, err := c.Job(t.Context(), "job_01")
	if diff := cmp.Diff(wantJob, read); err != nil || diff != "" {
		t.Errorf("Job: %v (-want +got):\n%s", err, diff)
	}
	cancelled, err := c.CancelJob(t.Context(), "job_01")
	if diff := cmp.Diff(wantJob, cancelled); err != nil || diff != "" {
		t.Errorf("CancelJob: %v (-want +got):\n%s", err, diff)
	}
	if got := asked(s); !slices.Equal(got, []string{"GET /v1/jobs/job_01", "POST /v1/jobs/job_01/cancel"}) {
		t.Errorf("asked %q", got)
	}
}

func TestDeleteJob(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		fails(409, "conflict"), says(200, `{"id":"job_01","object":"job","deleted":true}`),
	}}
	c := dial(t, s)
	var refused *client.Error
	if err := c.DeleteJob(t.Context(), "job_01"); !errors.As(err, &refused) || refused.Code != penstock.CodeConflict {
		t.Errorf("deleting a job that runs: %v, want conflict", err)
	}
	if err := c.DeleteJob(t.Context(), "job_01"); err != nil {
		t.Error(err)
	}
	if got := asked(s); !slices.Equal(got, []string{"DELETE /v1/jobs/job_01", "DELETE /v1/jobs/job_01"}) {
		t.Errorf("asked %q", got)
	}
}

func TestIDsCannotLeaveTheirPath(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{fails(404, "not_found")}}
	_, err := dial(t, s).Job(t.Context(), "a/../b?limit=1")
	if err == nil {
		t.Error("no error")
	}
	if got, want := s.calls[0].URL.EscapedPath(), "/v1/jobs/a%2F..%2Fb%3Flimit=1"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
}

func asked(s *script) []string {
	var all []string
	for _, r := range s.calls {
		all = append(all, r.Method+" "+r.URL.RequestURI())
	}
	return all
}

func TestWaitJobAsksUntilFinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running := says(202, `{"id":"job_01","status":"running"}`, "Retry-After: 7")
		s := &script{t: t, steps: []http.HandlerFunc{running, fails(503, "overloaded", "Retry-After: 1"), running, says(200, jobJSON)}}
		c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
		began := time.Now()
		job, err := c.WaitJob(t.Context(), "job_01")
		if err != nil || !job.Finished() {
			t.Fatalf("%+v, %v", job, err)
		}
		// Twice the 7 s between polls, and once the 1 s of the overload with its jitter.
		if took := time.Since(began); took < 15*time.Second || took > 16*time.Second {
			t.Errorf("took %v", took)
		}
		for i, r := range s.calls {
			if got := r.Header.Get("Prefer"); got != "wait=60" {
				t.Errorf("call %d sends Prefer: %q", i+1, got)
			}
		}
	})
}

func TestListJobsReadsPageAfterPage(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		says(200, `{"object":"list","data":[{"id":"job_3"},{"id":"job_2"}],"has_more":true}`),
		says(200, `{"object":"list","data":[{"id":"job_1"}],"has_more":false}`),
	}}
	c := dial(t, s)
	var ids []string
	for j, err := range c.ListJobs(t.Context(), client.JobFilter{
		Status: penstock.StatusFailed, Lane: penstock.LaneBulk, Model: "fast", TagKey: "team", TagValue: "search",
		CreatedAfter: at("01:00:00"), CreatedBefore: at("02:00:00"), PageSize: 2,
	}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, j.ID)
	}
	if want := []string{"job_3", "job_2", "job_1"}; !slices.Equal(ids, want) {
		t.Errorf("jobs %q, want %q", ids, want)
	}
	const filter = "created_after=2026-11-15T01%3A00%3A00Z&created_before=2026-11-15T02%3A00%3A00Z&lane=bulk&limit=2&model=fast&status=failed&tag=team%3Asearch"
	if want := []string{"GET /v1/jobs?" + filter, "GET /v1/jobs?after=job_2&" + filter}; !slices.Equal(asked(s), want) {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(asked(s), "\n"), strings.Join(want, "\n"))
	}
}

func TestListJobsStopsWhenTheReaderDoes(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{says(200, `{"data":[{"id":"job_3"},{"id":"job_2"}],"has_more":true}`)}}
	for range dial(t, s).ListJobs(t.Context(), client.JobFilter{}) {
		break
	}
	if got := asked(s); !slices.Equal(got, []string{"GET /v1/jobs?limit=100"}) {
		t.Errorf("asked %q", got)
	}
}

func TestListJobsEndsWithItsError(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]http.HandlerFunc{
		"refused":         fails(403, "scope_missing"),
		"not JSON":        says(200, "<html>"),
		"going on and on": says(200, `{"data":[],"has_more":true}`),
	} {
		s := &script{t: t, steps: []http.HandlerFunc{says(200, `{"data":[{"id":"job_3"}],"has_more":true}`), second}}
		var seen []string
		for j, err := range dial(t, s).ListJobs(t.Context(), client.JobFilter{}) {
			if err != nil {
				seen = append(seen, "error")
				continue
			}
			seen = append(seen, j.ID)
		}
		if want := []string{"job_3", "error"}; !slices.Equal(seen, want) {
			t.Errorf("%s: %q, want %q", name, seen, want)
		}
	}
}

const attemptJSON = `{"id":"att_1","number":1,"target":"a","reason":"first in order","config":"cfg_1","error_kind":"rate_limited",
 "error_message":"slow down","status_code":429,"usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":2,"cost_usd":"0.000000003"},
 "usage_known":true,"started_at":"2026-11-15T02:00:00Z","first_token_at":null,"finished_at":"2026-11-15T02:00:01Z"}`

var wantAttempt = client.Attempt{
	ID: "att_1", Number: 1, Target: "a", Reason: "first in order", Config: "cfg_1", ErrorKind: "rate_limited",
	ErrorMessage: "slow down", StatusCode: 429, UsageKnown: true, StartedAt: at("02:00:00"), FinishedAt: at("02:00:01"),
	Usage: client.Usage{Usage: penstock.Usage{InputTokens: 1, OutputTokens: 2}, Cost: 3},
}

func TestItem(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(`{"seq":2,"index":0,"custom_id":null,"item_id":"item_1","status":"failed","target":"a","attempts":1,
 "response":null,"error":{"code":"upstream_error","message":"It broke."},"finished_at":"2026-11-15T02:00:01Z",
 "object":"item","job_id":"job_1","history":[%s]}`, attemptJSON)
	got, err := dial(t, &script{t: t, steps: []http.HandlerFunc{says(200, text)}}).Item(t.Context(), "item_1")
	want := &client.Item{
		Result: client.Result{
			Seq: 2, ItemID: "item_1", Status: penstock.StatusFailed, Target: "a", Attempts: 1, FinishedAt: at("02:00:01"),
			Error: &penstock.ItemError{Code: penstock.CodeUpstreamError, Message: "It broke."}, Raw: json.RawMessage(text),
		},
		JobID: "job_1", History: []client.Attempt{wantAttempt},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(`{"id":"req_1","object":"request","endpoint":"/v1/chat/completions","model":"fast","stream":true,
 "status":"failed","status_code":502,"error":{"code":"upstream_error","message":"It broke."},"target":null,
 "started_at":"2026-11-15T02:00:00Z","first_token_at":null,"finished_at":"2026-11-15T02:00:01Z","history":[%s]}`, attemptJSON)
	s := &script{t: t, steps: []http.HandlerFunc{says(200, text)}}
	got, err := dial(t, s).Request(t.Context(), "req_1")
	want := &client.Request{
		ID: "req_1", Endpoint: penstock.EndpointChat, Model: "fast", Stream: true, Status: penstock.StatusFailed, StatusCode: 502,
		Error: &penstock.ItemError{Code: penstock.CodeUpstreamError, Message: "It broke."}, StartedAt: at("02:00:00"),
		FinishedAt: at("02:00:01"), History: []client.Attempt{wantAttempt},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(client.Request{}, "Raw")); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got := asked(s); !slices.Equal(got, []string{"GET /v1/requests/req_1"}) {
		t.Errorf("asked %q", got)
	}
}

func TestDeadLettersModelsAndHealth(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		says(200, `{"data":[{"item_id":"item_1","job_id":"job_1","model":"fast","code":"poison","error_kind":null,"message":"m","fingerprint":"f"}],"has_more":true}`),
		says(200, `{"data":[],"has_more":false}`),
		says(200, `{"object":"list","data":[{"id":"fast","object":"model","created":0,"owned_by":"penstock"}]}`),
		says(200, `{"status":"ready"}`),
		fails(503, "overloaded"),
	}}
	c := dial(t, s)
	var deadLetters []*client.DeadLetter
	for d, err := range c.DeadLetters(t.Context(), client.DeadLetterList{PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		deadLetters = append(deadLetters, d)
	}
	noRaw := cmpopts.IgnoreFields(client.DeadLetter{}, "Raw")
	want := []*client.DeadLetter{{ItemID: "item_1", JobID: "job_1", Model: "fast", Code: penstock.CodePoison, Message: "m", Fingerprint: "f"}}
	if diff := cmp.Diff(want, deadLetters, noRaw); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	models, err := c.Models(t.Context())
	if err != nil || len(models) != 1 || models[0].ID != "fast" || models[0].OwnedBy != "penstock" {
		t.Errorf("models %+v, %v", models, err)
	}
	if h, err := c.Health(t.Context()); err != nil || h.Status != "ready" {
		t.Errorf("health %+v, %v", h, err)
	}
	if h, err := c.Health(t.Context()); err == nil {
		t.Errorf("health %+v of a server that is not ready", h)
	}
	wantCalls := []string{
		"GET /v1/dead_letters/items?limit=1", "GET /v1/dead_letters/items?after=item_1&limit=1", "GET /v1/models", "GET /readyz", "GET /readyz",
	}
	if got := asked(s); !slices.Equal(got, wantCalls) {
		t.Errorf("asked %q", got)
	}
}

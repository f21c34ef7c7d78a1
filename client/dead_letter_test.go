package client_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"penstock"
	"penstock/client"
)

func TestDeadLetterGroups(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		says(200, `{"data":[{"fingerprint":"f/1","count":2,"model":null,"code":"poison","error_kind":null,"first_at":"2026-11-15T02:00:00Z",
			"last_at":"2026-11-15T03:00:00Z","sample":{"item_id":"item_1","message":"m"}}],"has_more":true}`),
		says(200, `{"data":[],"has_more":false}`),
	}}
	c := dial(t, s)
	var groups []*client.DeadLetterGroup
	list := client.DeadLetterList{Filter: client.DeadLetterFilter{Model: "fast", Code: penstock.CodePoison}, PageSize: 1}
	for g, err := range c.DeadLetterGroups(t.Context(), list) {
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	at := time.Date(2026, 11, 15, 2, 0, 0, 0, time.UTC)
	want := []*client.DeadLetterGroup{{Fingerprint: "f/1", Count: 2, Code: penstock.CodePoison, FirstAt: at, LastAt: at.Add(time.Hour),
		Sample: client.DeadLetter{ItemID: "item_1", Message: "m"}}}
	noRaw := []cmp.Option{cmpopts.IgnoreFields(client.DeadLetterGroup{}, "Raw"), cmpopts.IgnoreFields(client.DeadLetter{}, "Raw")}
	if diff := cmp.Diff(want, groups, noRaw...); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	wantCalls := []string{"GET /v1/dead_letters?code=poison&limit=1&model=fast", "GET /v1/dead_letters?after=f%2F1&code=poison&limit=1&model=fast"}
	if got := asked(s); !slices.Equal(got, wantCalls) {
		t.Errorf("asked %q", got)
	}
}

func TestRetryAndDismiss(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{
		says(200, `{"dry_run":false,"jobs":[{"job_id":"job_2","retry_of":"job_1","items":3}],"items":3,"remaining":7,
			"skipped":[{"job_id":"job_0","items":1,"error":{"code":"gone","message":"Gone."}}]}`),
		says(200, `{"dry_run":true,"items":4,"remaining":0}`),
		says(200, `{"dry_run":true,"retry_of":"job_1","items":3,"at_most":{"tokens":120,"cost_usd":"0.02"}}`),
		fails(503, "overloaded"),
		says(202, `{"id":"job_2","retry_of":"job_1"}`),
	}}
	c := dial(t, s)
	retried, err := c.RetryDeadLetters(t.Context(), client.DeadLetterRetry{
		Filter: client.DeadLetterFilter{JobID: "job_1", CreatedAfter: time.Date(2026, 11, 15, 2, 0, 0, 0, time.UTC)}, Resolve: penstock.ResolveFresh, Rate: 0.5,
	})
	want := &client.DeadLettersRetried{
		Jobs: []client.RetriedJob{{JobID: "job_2", RetryOf: "job_1", Items: 3}}, Items: 3, Remaining: 7,
		Skipped: []client.SkippedJob{{JobID: "job_0", Items: 1, Error: penstock.ItemError{Code: penstock.CodeGone, Message: "Gone."}}},
	}
	if diff := cmp.Diff(want, retried, cmpopts.IgnoreFields(client.DeadLettersRetried{}, "Raw")); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	dismissed, err := c.DismissDeadLetters(t.Context(), client.DeadLetterDismissal{Filter: client.DeadLetterFilter{All: true}, DryRun: true})
	if err != nil || !dismissed.DryRun || dismissed.Items != 4 {
		t.Errorf("dismissed %+v, %v", dismissed, err)
	}
	would, err := client.JobRetry{Rate: 2}.Try(t.Context(), c, "job_1")
	if err != nil || would.Items != 3 || would.AtMost.Cost != 20_000_000 || len(would.Raw) == 0 {
		t.Errorf("a retry would be %+v, %v", would, err)
	}
	job, err := c.RetryJob(t.Context(), "job_1", client.JobRetry{Resolve: penstock.ResolveSame})
	if err != nil || job.ID != "job_2" || job.RetryOf != "job_1" {
		t.Errorf("retried as %+v, %v", job, err)
	}
	wantBodies := []string{
		`{"filter":{"job_id":"job_1","created_after":"2026-11-15T02:00:00Z"},"resolve":"fresh","rate":0.5}`, `{"filter":{"all":true},"dry_run":true}`, `{"rate":2,"dry_run":true}`,
		`{"resolve":"same"}`, `{"resolve":"same"}`,
	}
	if diff := cmp.Diff(wantBodies, s.bodies); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	if first, again := s.calls[3].Header.Get("Idempotency-Key"), s.calls[4].Header.Get("Idempotency-Key"); first == "" || first != again {
		t.Errorf("the retry was sent under %q and then under %q", first, again)
	}
}

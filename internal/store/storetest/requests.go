package storetest

import (
	"context"
	"slices"
	"time"

	"penstock"
)

func requestCases() []testCase {
	return []testCase{
		{"a call comes back with its attempts", requestRoundTrip},
		{"a call that succeeded at once comes back with its attempt", requestPlain},
		{"recording again changes nothing", requestTwice},
		{"unreported spend is forfeited", requestForfeits},
		{"an error leaves nothing behind", requestErrorWritesNothing},
		{"recording nothing is no work", requestNothing},
		{"labels come back", requestLabels},
		{"calls are listed by every filter", requestList},
		{"pages of calls hold each once", requestPages},
		{"a purged call is not listed by its tags", requestPurgeTags},
	}
}

// request is a finished call with two attempts: one that did not get through and one that answered.
func (r *rig) request() penstock.Request {
	id, now := r.newID(), r.clock.Now()
	usage := penstock.Usage{InputTokens: 31, CachedInputTokens: 3, CacheWriteTokens: 4, OutputTokens: 17, ReasoningTokens: 6,
		CacheWrite1hTokens: 2, AudioInputTokens: 9, AudioOutputTokens: 5}
	return penstock.Request{
		ID:         id,
		Tenant:     acme,
		Key:        "app",
		Endpoint:   penstock.EndpointChat,
		Model:      "fast",
		Stream:     true,
		Status:     penstock.StatusSucceeded,
		StatusCode: 200,
		Target:     "second",
		Usage:      usage,
		Cost:       4321,
		Attempts: []penstock.Attempt{
			{
				ID: r.newID(), Subject: id, Number: 1, Target: "first", Reason: "first in order", Config: "cfg_1",
				ErrorKind: "rate_limited", ErrorMessage: "slow down", StatusCode: 429, UsageKnown: true,
				StartedAt: now, FinishedAt: now.Add(5 * time.Millisecond),
			},
			{
				ID: r.newID(), Subject: id, Number: 2, Target: "second", Reason: "fallback", Config: "cfg_1",
				StatusCode: 200, Usage: usage, UsageKnown: true, Cost: 4321,
				StartedAt: now.Add(6 * time.Millisecond), FirstTokenAt: now.Add(50 * time.Millisecond),
				FinishedAt: now.Add(100 * time.Millisecond),
			},
		},
		StartedAt:    now,
		FirstTokenAt: now.Add(50 * time.Millisecond),
		FinishedAt:   now.Add(101 * time.Millisecond),
	}
}

// failedRequest never reached an upstream.
func (r *rig) failedRequest() penstock.Request {
	q := r.request()
	q.Stream = false
	q.Status, q.StatusCode = penstock.StatusFailed, 503
	q.ErrorCode, q.Error = penstock.CodeNoTargetAvailable, "No target has capacity."
	q.Target, q.Usage, q.Cost, q.Attempts = "", penstock.Usage{}, 0, nil
	q.FirstTokenAt = time.Time{}
	return q
}

func (r *rig) record(requests ...penstock.Request) {
	r.t.Helper()
	r.must("record requests", r.s.RecordRequests(r.t.Context(), requests))
}

func (r *rig) wantRequest(want penstock.Request) {
	r.t.Helper()
	got, err := r.s.Request(r.t.Context(), want.Tenant, want.ID)
	r.must("read request", err)
	r.wantSame("request", got, want)
}

func requestRoundTrip(r *rig) {
	good, bad := r.request(), r.failedRequest()
	r.record(good, bad)
	r.wantRequest(good)
	r.wantRequest(bad)
	r.wantSame("attempts of a request", r.attempts(good.ID), good.Attempts)
	if report := r.verifyLedger(); report.Requests != 2 {
		r.t.Errorf("the ledger report counts %d requests, want 2", report.Requests)
	}
}

// plainRequest is a call that succeeded with its first attempt.
func (r *rig) plainRequest() penstock.Request {
	q := r.request()
	q.Attempts = []penstock.Attempt{{
		ID: r.newID(), Subject: q.ID, Number: 1, Target: q.Target, Reason: "first in order", Config: "cfg_1", StatusCode: q.StatusCode,
		Usage: q.Usage, UsageKnown: true, Cost: q.Cost, PriceVersion: "price_1",
		StartedAt: q.StartedAt.Add(time.Millisecond), FirstTokenAt: q.FirstTokenAt, FinishedAt: q.FinishedAt.Add(-time.Millisecond),
	}}
	return q
}

// requestPlain records a plain call among calls that differ from it in one fact of the attempt, which must come back too.
func requestPlain(r *rig) {
	all := []penstock.Request{r.plainRequest()}
	for _, change := range []func(*penstock.Attempt){
		func(a *penstock.Attempt) { a.Isolated = true },
		func(a *penstock.Attempt) { a.UsageKnown = false },
		func(a *penstock.Attempt) { a.Number = 2 },
		func(a *penstock.Attempt) { a.Target = "cache/second" },
		func(a *penstock.Attempt) { a.StatusCode = 206 },
		func(a *penstock.Attempt) { a.Usage.AudioOutputTokens++ },
		func(a *penstock.Attempt) { a.Cost-- },
		func(a *penstock.Attempt) { a.FirstTokenAt = time.Time{} },
		func(a *penstock.Attempt) { a.ErrorKind, a.ErrorMessage = "cancelled", "The caller left." },
	} {
		q := r.plainRequest()
		change(&q.Attempts[0])
		all = append(all, q, r.plainRequest())
	}
	left := r.plainRequest()
	left.Status, left.ErrorCode, left.Error = penstock.StatusCancelled, penstock.CodeCancelled, "The caller left."
	all = append(all, left)
	for range 2 { // a group that was sent again
		r.record(all...)
		for _, q := range all {
			r.wantRequest(q)
			r.wantSame("attempts of a request", r.attempts(q.ID), q.Attempts)
		}
		if report := r.verifyLedger(); report.Requests != int64(len(all)) || report.Entries != int64(len(all)) {
			r.t.Errorf("%d requests with %d ledger entries, want %d of each", report.Requests, report.Entries, len(all))
		}
	}
	if other, err := r.s.Attempts(r.t.Context(), umbra, all[0].ID); err == nil && len(other) > 0 {
		r.t.Errorf("another tenant sees the attempts %+v", other)
	}
}

func requestTwice(r *rig) {
	first, second := r.request(), r.request()
	r.record(first)
	if report := r.verifyLedger(); report.Entries != 1 {
		r.t.Errorf("a call whose usage is known has %d ledger entries, want 1", report.Entries)
	}
	changed := first
	changed.Cost, changed.Model = 9999, "smart"
	changed.Attempts = slices.Clone(first.Attempts)
	changed.Attempts[0].ID = r.newID()
	r.record(changed, second) // a group that was sent again, with one call more
	r.record(changed, second)
	r.wantRequest(first)
	r.wantRequest(second)
	if report := r.verifyLedger(); report.Requests != 2 || report.Entries != 2 {
		r.t.Errorf("%d requests with %d ledger entries, want 2 with 2", report.Requests, report.Entries)
	}
}

func requestForfeits(r *rig) {
	q := r.request()
	q.Forfeit = 555
	for range 2 {
		r.record(q)
		if report := r.verifyLedger(); report.Entries != 2 {
			r.t.Errorf("%d ledger entries, want a settlement and a forfeit", report.Entries)
		}
	}
}

func requestErrorWritesNothing(r *rig) {
	q := r.request()
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	if err := r.s.RecordRequests(ctx, []penstock.Request{q}); err == nil {
		r.t.Fatal("a record whose caller is gone was written")
	}
	_, err := r.s.Request(r.t.Context(), acme, q.ID)
	r.wantCode("read a request that was refused", err, penstock.CodeNotFound)
	r.record(q)
	r.wantRequest(q)
}

func requestNothing(r *rig) {
	r.record()
	if report := r.verifyLedger(); report.Requests != 0 || report.Entries != 0 {
		r.t.Errorf("recording nothing left %+v", report)
	}
}

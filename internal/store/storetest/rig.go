package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/store"
)

const (
	acme  penstock.TenantID = "acme"  // the tenant of nearly all tests
	umbra penstock.TenantID = "umbra" // the one that must not see acme's work

	leaseTTL   = 10 * time.Second
	pastLease  = leaseTTL + time.Second
	deadlineIn = time.Hour

	// everything is a limit that no test reaches.
	everything = 10_000
)

// rig is what a test works with: a fresh store, its clock, and words for the usual steps. Methods that
// have an error to report stop the test, so they belong to the goroutine of the test; those that only
// build values may be called from any.
type rig struct {
	t        tb
	s        store.Store
	webhooks Webhooks
	clock    *Clock
	ids      *penstock.IDs
}

// tb is a test, or one run of a property.
type tb interface {
	rapid.TB
	Context() context.Context
}

func newRig(t *testing.T, open Opener) *rig {
	t.Helper()
	clock := NewClock()
	s, webhooks := open(t, clock.Now)
	r := &rig{t: t, s: s, webhooks: webhooks, clock: clock, ids: new(penstock.IDs)}
	t.Cleanup(func() { recountStored(t, r.s) })
	return r
}

func (r *rig) newID() penstock.ID { return r.ids.New(r.clock.Now()) }

// submission is a job of n items for acme. Amounts differ from item to item, so that a mix-up shows.
func (r *rig) submission(n int) store.Submission {
	s := store.Submission{
		Job: penstock.Job{
			ID:          r.newID(),
			Tenant:      acme,
			Key:         "app",
			Endpoint:    penstock.EndpointChat,
			Model:       "fast",
			Lane:        penstock.LaneStandard,
			Tags:        map[string]string{"team": "search"},
			MaxAttempts: 4,
			ItemTimeout: time.Minute,
			Resolved: penstock.Resolved{
				Config: "cfg_1", Model: "fast", Policy: "ordered", Targets: []string{"first", "second"},
			},
			TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		},
		DeadlineIn: deadlineIn,
	}
	for i := range n {
		s.Items = append(s.Items, store.NewItem{
			CustomID:       fmt.Sprintf("row-%d", i),
			Body:           fmt.Appendf(nil, `{"messages":[{"role":"user","content":"question %d"}]}`, i),
			EstimateTokens: int64(100 + i),
			Reserved:       penstock.NanoUSD(10_000 + i),
		})
	}
	return s
}

// submit has the store accept s, which must be new to it.
func (r *rig) submit(s store.Submission) store.Submission {
	r.t.Helper()
	receipt, err := r.s.SubmitJob(r.t.Context(), s.Job.Tenant, s)
	r.must("submit", err)
	if receipt.Replayed {
		r.t.Fatalf("submit of job %s was taken for a replay of %s", s.Job.ID, receipt.Job.ID)
	}
	return s
}

// submitN submits a plain job of n items.
func (r *rig) submitN(n int) store.Submission {
	r.t.Helper()
	return r.submit(r.submission(n))
}

func (r *rig) lease(process string) store.Lease {
	r.t.Helper()
	l, err := r.s.AcquireLease(r.t.Context(), process, leaseTTL)
	r.must("acquire lease", err)
	return l
}

func (r *rig) claim(l store.Lease, limit int) []*store.Claimed {
	r.t.Helper()
	claims, err := r.s.ClaimItems(r.t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: limit})
	r.must("claim", err)
	if len(claims) > limit {
		r.t.Fatalf("claimed %d items with a limit of %d", len(claims), limit)
	}
	for _, c := range claims {
		if c.BodyErr != nil {
			r.t.Fatalf("body of %s: %v", c.Item, c.BodyErr)
		}
	}
	return claims
}

// claimN claims everything that is due and demands that it be n items.
func (r *rig) claimN(l store.Lease, n int) []*store.Claimed {
	r.t.Helper()
	claims := r.claim(l, everything)
	if len(claims) != n {
		r.t.Fatalf("claimed %d items, want %d", len(claims), n)
	}
	return claims
}

// claimOne claims the next item.
func (r *rig) claimOne(l store.Lease) *store.Claimed {
	r.t.Helper()
	claims := r.claim(l, 1)
	if len(claims) != 1 {
		r.t.Fatal("there was nothing to claim")
	}
	return claims[0]
}

// spend is what finishing an item costs in these tests. Every third item uses tokens of classes that are rare.
func spend(index int) (penstock.Usage, penstock.NanoUSD) {
	n := int64(index)
	u := penstock.Usage{InputTokens: 20 + n, CachedInputTokens: 5, CacheWriteTokens: 2, OutputTokens: 7 + n, ReasoningTokens: 3}
	if index%3 == 1 {
		u.CacheWrite1hTokens, u.AudioInputTokens, u.AudioOutputTokens = 1, 6+n, 2
	}
	return u, penstock.NanoUSD(300 + n)
}

// attempt is one try under a claim, as a worker would report it.
func (r *rig) attempt(c *store.Claimed) penstock.Attempt {
	usage, cost := spend(c.Index)
	now := r.clock.Now()
	return penstock.Attempt{
		ID:           r.newID(),
		Subject:      c.Item,
		Number:       c.Tries + 1,
		Fence:        c.Fence,
		Target:       "first",
		Reason:       "first in order",
		Config:       c.Resolved.Config,
		PriceVersion: "price_1",
		StatusCode:   200,
		Usage:        usage,
		UsageKnown:   true,
		Cost:         cost,
		StartedAt:    now,
		FirstTokenAt: now.Add(20 * time.Millisecond),
		FinishedAt:   now.Add(90 * time.Millisecond),
	}
}

// ending is a Finish of a claim after one attempt.
func (r *rig) ending(c *store.Claimed, how penstock.Transition) store.Finish {
	try := r.attempt(c)
	var of *store.Claimed
	if c.Job[len(c.Job)-1]%2 == 0 { // a store may take the claim's word or look, and must come to the same
		of = c
	}
	f := store.Finish{
		Of:           of,
		Item:         c.Item,
		Job:          c.Job,
		Tenant:       c.Tenant,
		Fence:        c.Fence,
		Transition:   how,
		Counted:      1,
		Target:       try.Target,
		Usage:        try.Usage,
		Cost:         try.Cost,
		PriceVersion: "price_1",
	}
	switch how {
	case penstock.TransitionSucceed:
		f.StatusCode = try.StatusCode
		f.Result = fmt.Appendf(nil, `{"answer":%d,"fence":%d}`, c.Index, c.Fence)
	case penstock.TransitionFail, penstock.TransitionRetry:
		try.ErrorKind, try.ErrorMessage, try.StatusCode = "rejected", "no such parameter", 400
		f.ErrorKind, f.StatusCode = try.ErrorKind, try.StatusCode
		f.Error = &penstock.ItemError{Code: penstock.CodeUpstreamRejected, Message: try.ErrorMessage}
	case penstock.TransitionCancel:
		try.ErrorKind = "cancelled"
		f.Error = &penstock.ItemError{Code: penstock.CodeCancelled, Message: "The job was cancelled."}
	case penstock.TransitionExpire:
		try.ErrorKind = "timeout"
		f.Error = &penstock.ItemError{Code: penstock.CodeDeadlineExceeded, Message: "The deadline passed."}
	}
	f.Attempts = []penstock.Attempt{try}
	return f
}

// endings ends every claim the same way.
func (r *rig) endings(claims []*store.Claimed, how penstock.Transition) []store.Finish {
	group := make([]store.Finish, len(claims))
	for i, c := range claims {
		group[i] = r.ending(c, how)
	}
	return group
}

func (r *rig) finish(group ...store.Finish) []store.Verdict {
	r.t.Helper()
	verdicts, err := r.s.FinishItems(r.t.Context(), group)
	r.must("finish", err)
	if len(verdicts) != len(group) {
		r.t.Fatalf("%d verdicts for %d finishes", len(verdicts), len(group))
	}
	return verdicts
}

// win finishes a group in which every claim is good.
func (r *rig) win(group ...store.Finish) []store.Verdict {
	r.t.Helper()
	verdicts := r.finish(group...)
	for i, v := range verdicts {
		if !v.Won {
			r.t.Fatalf("finish %d (%s of %s under fence %d) lost", i, group[i].Transition, group[i].Item, group[i].Fence)
		}
	}
	return verdicts
}

// lose finishes a claim that is stale.
func (r *rig) lose(f store.Finish) store.Verdict {
	r.t.Helper()
	v := r.finish(f)[0]
	if v.Won || v.JobFinished {
		r.t.Fatalf("a stale %s of %s under fence %d got %+v", f.Transition, f.Item, f.Fence, v)
	}
	return v
}

func (r *rig) job(id penstock.ID) penstock.Job {
	r.t.Helper()
	j, err := r.s.Job(r.t.Context(), acme, id)
	r.must("read job", err)
	return j
}

func (r *rig) item(id penstock.ID) penstock.Item {
	r.t.Helper()
	item, err := r.s.Item(r.t.Context(), acme, id)
	r.must("read item", err)
	return item
}

func (r *rig) attempts(subject penstock.ID) []penstock.Attempt {
	r.t.Helper()
	list, err := r.s.Attempts(r.t.Context(), acme, subject)
	r.must("read attempts", err)
	return list
}

func (r *rig) entries(job penstock.ID) []penstock.LedgerEntry {
	r.t.Helper()
	entries, err := r.s.JobEntries(r.t.Context(), acme, job)
	r.must("read ledger entries", err)
	return entries
}

// entriesOf returns what was booked for one item under the given kinds.
func (r *rig) entriesOf(c *store.Claimed, kinds ...penstock.EntryKind) []penstock.LedgerEntry {
	r.t.Helper()
	return selectEntries(r.entries(c.Job), c.Item, kinds...)
}

func (r *rig) must(what string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

// wantCode demands that a call was refused with a code.
func (r *rig) wantCode(what string, err error, want penstock.Code) {
	r.t.Helper()
	if got := penstock.ErrorCode(err); got != want {
		r.t.Errorf("%s: got %q (%v), want code %q", what, got, err, want)
	}
}

// wantSame compares two values, times by the moment and empty the same as absent.
func (r *rig) wantSame(what string, got, want any) {
	r.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// drain repeats a step of maintenance until it says that there is no more, and sums the steps up.
// Bounded steps must come to an end, so it allows each item a step and a few more.
func (r *rig) drain(limit int, step func(limit int) (store.Step, error)) store.Step {
	r.t.Helper()
	var sum store.Step
	for range everything {
		s, err := step(limit)
		r.must("step", err)
		if s.Items > limit {
			r.t.Fatalf("a step moved %d items with a limit of %d", s.Items, limit)
		}
		sum.Items += s.Items
		sum.Queued += s.Queued
		sum.Finished = append(sum.Finished, s.Finished...)
		if !s.More {
			return sum
		}
	}
	r.t.Fatal("maintenance never ended")
	return sum
}

func (r *rig) rescue(limit int) (store.Step, error) { return r.s.RescueItems(r.t.Context(), limit) }
func (r *rig) expire(limit int) (store.Step, error) { return r.s.ExpireItems(r.t.Context(), limit) }
func (r *rig) cancel(limit int) (store.Step, error) { return r.s.CancelItems(r.t.Context(), limit) }

// stop asks for a job to be cancelled.
func (r *rig) stop(id penstock.ID) penstock.Job {
	r.t.Helper()
	j, err := r.s.CancelJob(r.t.Context(), acme, id)
	r.must("cancel job", err)
	return j
}

package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/store"
)

func walkCases() []testCase {
	return []testCase{{"any order of steps keeps every invariant", walkAnywhere}}
}

// walk is one random walk through the life of a few jobs: submits, claims, cancels, ends on time and too
// late, retries, crashes, lost leases, deadlines and maintenance, in any order. Every step is a
// transaction, so the orders of steps are the races that there can be. After each of them the promises
// are checked; a walk that breaks one is shortened until it says how.
type walk struct {
	*rig
	tenant    penstock.TenantID
	subs      []store.Submission
	workers   []store.Lease
	claims    []walkClaim                     // every claim of the walk, ended or not
	fences    map[penstock.ID]int64           // the newest claim of each item
	seen      map[penstock.ID]penstock.Job    // as of the last check
	outcomes  map[penstock.ID]penstock.Status // of terminal items
	cancelled map[penstock.ID]time.Time       // jobs that were asked to stop, and when they say that was
	ended     map[penstock.ID]int             // how often the end of a job was reported
	unproven  bool                            // the ledger may have changed since it was verified
}

type walkClaim struct {
	*store.Claimed
	reported bool // an end was reported for it
}

const (
	walkWorkers = 2
	walkJobs    = 4 // most jobs of one walk
	walkItems   = 3 // most items of one job
)

// walkAnywhere walks over one store again and again. Each walk has a tenant of its own, and begins by
// bringing to an end what a walk before it left behind.
func walkAnywhere(r *rig) {
	walks := 0
	rapid.Check(r.t, func(t *rapid.T) {
		walks++
		w := &walk{
			rig: &rig{t: t, s: r.s, clock: r.clock, ids: r.ids}, tenant: penstock.TenantID(fmt.Sprintf("walk-%d", walks)),
			fences: map[penstock.ID]int64{}, seen: map[penstock.ID]penstock.Job{}, outcomes: map[penstock.ID]penstock.Status{},
			cancelled: map[penstock.ID]time.Time{}, ended: map[penstock.ID]int{},
		}
		w.settle()
		w.workers = make([]store.Lease, walkWorkers)
		for n := range w.workers {
			w.workers[n] = w.lease(fmt.Sprintf("walker-%d", n))
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": w.submitOne, "claim": w.claimSome(w.s.ClaimItems), "claim suspects": w.claimSome(w.s.ClaimSuspects), "cancel": w.cancelOne, "finish": w.finishSome, "finish late": w.finishAgain,
			"crash": w.crash, "renew": w.renew, "time": w.passTime, "rescue": w.step(w.rescue), "expire": w.step(w.expire),
			"cancel items": w.step(w.rig.cancel), "": w.check,
		})
		w.settle()
		w.check(t)
		for _, sub := range w.subs {
			if job := w.seen[sub.Job.ID]; job.FinishedAt.IsZero() {
				t.Fatalf("job %s never ends: %+v", job.ID, job.Counts)
			}
		}
	})
}

// settle brings everything to an end, as a healthy cluster would.
func (w *walk) settle() {
	w.t.Helper()
	for range 20 {
		w.clock.Advance(time.Minute) // past every lease and every wait for a retry
		for _, step := range []func(int) (store.Step, error){w.rescue, w.expire, w.rig.cancel} {
			w.noteEnds(w.drain(50, step).Finished...)
		}
		settler := w.lease("settler")
		claims := append(w.claim(settler, everything), w.claimSuspects(settler, everything)...)
		for i, v := range w.finish(w.endings(claims, penstock.TransitionSucceed)...) {
			if v.JobFinished {
				w.noteEnds(claims[i].Job)
			}
		}
		if len(w.depths()) == 0 {
			return
		}
	}
	w.t.Fatalf("work is left that nothing brings to an end: %+v", w.depths())
}

func (w *walk) noteEnds(jobs ...penstock.ID) {
	for _, id := range jobs {
		w.ended[id]++
	}
}

func (w *walk) submitOne(t *rapid.T) {
	if len(w.subs) == walkJobs {
		t.Skip("enough jobs")
	}
	sub := w.submission(rapid.IntRange(1, walkItems).Draw(t, "items"))
	sub.Job.Tenant = w.tenant
	sub.Job.Lane = rapid.SampledFrom(penstock.Lanes).Draw(t, "lane")
	if rapid.Bool().Draw(t, "short") {
		sub.DeadlineIn = 15 * time.Second
	}
	w.subs = append(w.subs, w.submit(sub))
}

// claimSome claims as a worker whose lease may be over.
func (w *walk) claimSome(claim func(context.Context, store.Lease, store.Want) ([]*store.Claimed, error)) func(*rapid.T) {
	return func(t *rapid.T) {
		l := rapid.SampledFrom(w.workers).Draw(t, "worker")
		claims, err := claim(t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: rapid.IntRange(1, 4).Draw(t, "limit")})
		if penstock.ErrorCode(err) == penstock.CodeConflict {
			return
		}
		w.must("claim", err)
		w.noteClaims(t, claims)
	}
}

func (w *walk) noteClaims(t *rapid.T, claims []*store.Claimed) {
	for _, c := range claims {
		if at, stopped := w.cancelled[c.Job]; stopped {
			t.Fatalf("item %d of job %s was claimed, but the job was asked to stop at %v", c.Index, c.Job, at)
		}
		if c.Fence <= w.fences[c.Item] {
			t.Fatalf("item %d of job %s was claimed under fence %d after %d", c.Index, c.Job, c.Fence, w.fences[c.Item])
		}
		if done, ok := w.outcomes[c.Item]; ok {
			t.Fatalf("item %d of job %s was claimed, but it is %s", c.Index, c.Job, done)
		}
		w.fences[c.Item] = c.Fence
		w.claims = append(w.claims, walkClaim{Claimed: c})
	}
}

func (w *walk) cancelOne(t *rapid.T) {
	if len(w.subs) == 0 {
		t.Skip("no job")
	}
	id := rapid.SampledFrom(w.subs).Draw(t, "job").Job.ID
	before, err := w.s.Job(t.Context(), w.tenant, id)
	w.must("read job", err)
	job, err := w.s.CancelJob(t.Context(), w.tenant, id)
	w.must("cancel", err)
	if !before.FinishedAt.IsZero() || !before.CancelRequestedAt.IsZero() && before.Counts.Queued == 0 {
		w.wantSame("a job that was cancelled too late or again", job, before)
	}
	if !job.CancelRequestedAt.IsZero() {
		w.cancelled[id] = job.CancelRequestedAt
	}
	if before.FinishedAt.IsZero() && !job.FinishedAt.IsZero() {
		w.noteEnds(id)
	}
}

// finishSome reports ends of claims that none was reported for, stale or not.
func (w *walk) finishSome(t *rapid.T) {
	w.finishWhere(t, func(c walkClaim) bool { return !c.reported })
}

// finishAgain reports ends for claims that had one: the answer to the first report was lost.
func (w *walk) finishAgain(t *rapid.T) {
	w.finishWhere(t, func(c walkClaim) bool { return c.reported })
}

func (w *walk) finishWhere(t *rapid.T, wanted func(walkClaim) bool) {
	var open []int
	for i, c := range w.claims {
		if wanted(c) {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		t.Skip("no claim")
	}
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(open), 1, min(3, len(open)), rapid.ID).Draw(t, "claims")
	group := make([]store.Finish, len(chosen))
	for i, n := range chosen {
		group[i] = w.ending(w.claims[n].Claimed, rapid.SampledFrom([]penstock.Transition{
			penstock.TransitionSucceed, penstock.TransitionFail, penstock.TransitionRetry, penstock.TransitionCancel, penstock.TransitionExpire,
		}).Draw(t, "end"))
		group[i].RetryIn = time.Duration(rapid.IntRange(0, 3).Draw(t, "retry")) * time.Second
		group[i].ChildDied = w.claims[n].Sealed != nil && group[i].Transition == penstock.TransitionRetry && rapid.Bool().Draw(t, "child died")
	}
	w.unproven = true // a loser's spend is booked too
	for i, v := range w.finish(group...) {
		c := w.claims[chosen[i]]
		if v.Won && (c.reported || c.Fence != w.fences[c.Item] || w.outcomes[c.Item] != "") {
			t.Fatalf("a stale %s of item %d under fence %d won (reported %v, newest fence %d, outcome %q)",
				group[i].Transition, c.Index, c.Fence, c.reported, w.fences[c.Item], w.outcomes[c.Item])
		}
		if v.JobFinished {
			w.noteEnds(c.Job)
		}
		w.claims[chosen[i]].reported = true
	}
}

// crash loses a lease: the process starts again with a new epoch, or releases it.
func (w *walk) crash(t *rapid.T) {
	n := rapid.IntRange(0, len(w.workers)-1).Draw(t, "worker")
	if rapid.Bool().Draw(t, "gives up") {
		w.must("release lease", w.s.ReleaseLease(t.Context(), w.workers[n]))
		return
	}
	w.workers[n] = w.lease(w.workers[n].Process)
}

func (w *walk) renew(t *rapid.T) {
	l := rapid.SampledFrom(w.workers).Draw(t, "worker")
	if err := w.s.RenewLease(t.Context(), l, store.Renewal{TTL: leaseTTL}); err != nil && penstock.ErrorCode(err) != penstock.CodeConflict {
		t.Fatalf("renew: %v", err)
	}
}

func (w *walk) passTime(t *rapid.T) {
	w.clock.Advance(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second)
}

func (w *walk) step(do func(int) (store.Step, error)) func(*rapid.T) {
	return func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		s, err := do(limit)
		w.must("step", err)
		if s.Items > limit {
			t.Fatalf("a step moved %d items with a limit of %d", s.Items, limit)
		}
		w.noteEnds(s.Finished...)
	}
}

// check checks the invariants of the store: a job that changed is whole, what ended stays as it ended, every
// end was reported once, and the ledger is right.
func (w *walk) check(t *rapid.T) {
	for _, sub := range w.subs {
		job, err := w.s.Job(t.Context(), w.tenant, sub.Job.ID)
		w.must("read job", err)
		before, known := w.seen[job.ID]
		if known && !before.FinishedAt.IsZero() {
			w.wantSame("a finished job", job, before)
			continue
		}
		if known && before.Seq == job.Seq && before.Counts == job.Counts && before.CancelRequestedAt.Equal(job.CancelRequestedAt) {
			continue
		}
		w.unproven = true
		w.seen[job.ID] = w.audit(sub)
		w.checkOutcomes(job)
		if !job.FinishedAt.IsZero() && w.ended[job.ID] != 1 {
			t.Fatalf("the end of job %s was reported %d times", job.ID, w.ended[job.ID])
		}
	}
	if w.unproven {
		w.verifyLedger()
		w.unproven = false
	}
}

// checkOutcomes notes how items ended, and that those that had ended still are what they were.
func (w *walk) checkOutcomes(job penstock.Job) {
	results := w.results(job, store.OrderCompletion)
	for _, item := range results {
		if before, ok := w.outcomes[item.ID]; ok && before != item.Status {
			w.t.Fatalf("item %d of job %s was %s and is %s", item.Index, job.ID, before, item.Status)
		}
		w.outcomes[item.ID] = item.Status
	}
	for n := range job.Counts.Total {
		id := penstock.ItemID(job.ID, n)
		if _, ended := w.outcomes[id]; ended && !slices.ContainsFunc(results, func(i penstock.Item) bool { return i.ID == id }) {
			w.t.Fatalf("item %d of job %s had ended and is open again", n, job.ID)
		}
	}
}

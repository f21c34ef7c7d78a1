package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

func claimCases() []testCase {
	return []testCase{
		{"a claim has all that an attempt needs", claimFields},
		{"most urgent lane, earliest deadline, lowest id", claimOrder},
		{"a claim starts its job once", claimStartsJob},
		{"a retried item waits for its time", claimNotBefore},
		{"each claim raises the fence", claimFence},
		{"items of stopping jobs are left alone", claimSkipsStopping},
		{"items past their deadline are left alone", claimSkipsExpired},
		{"waiting items do not hide those behind them", claimBehindWaiting},
		{"a claim takes what finds room", claimRoom},
		{"what is refused does not hold up other endpoints", claimEndpoints},
		{"a claim that is refused everywhere gives up", claimRefused},
		{"models and tenants can be left alone", claimFilters},
		{"many claimers share without overlap", claimConcurrently},
	}
}

// claimRoom: what Room refuses stays queued and does not hold up other models.
func claimRoom(r *rig) {
	full, roomy := r.submission(3), r.submission(3)
	full.Job.Model, roomy.Job.Model = "full", "roomy"
	r.submit(full)
	r.submit(roomy)
	lease := r.lease("worker")
	var asked []store.Candidate
	claimed, err := r.s.ClaimItems(r.t.Context(), lease, store.Want{Lanes: penstock.Lanes, Limit: 10, Room: func(c store.Candidate) bool {
		asked = append(asked, c)
		return c.Model == "roomy" || len(asked) == 1
	}})
	r.must("claim", err)
	if len(claimed) != 4 {
		r.t.Fatalf("claimed %d items, want the one that was let in and the 3 of the other model", len(claimed))
	}
	first := asked[0]
	r.wantSame("candidate", first, store.Candidate{
		Item: penstock.ItemID(full.Job.ID, 0), Tenant: acme, Model: "full", Lane: full.Job.Lane, Endpoint: full.Job.Endpoint,
		Estimate: full.Items[0].EstimateTokens, InputBytes: int64(len(full.Items[0].Body)),
	})
	for _, c := range claimed {
		r.win(r.ending(c, penstock.TransitionSucceed))
	}
	if left := r.claimN(lease, 2); left[0].Model != "full" {
		r.t.Errorf("what was refused is gone: %+v", left)
	}
	r.audit(full)
}

// claimEndpoints: what Room refuses of one endpoint does not hold up items of another that wait behind it, of the same
// tenant and model; and it is not asked for again.
func claimEndpoints(r *rig) {
	chats, vectors := make([]store.Submission, 20), r.submission(3)
	for i := range chats {
		chats[i] = r.submission(2)
		r.submit(chats[i])
	}
	vectors.Job.Endpoint, vectors.DeadlineIn = penstock.EndpointEmbeddings, 2*vectors.DeadlineIn // behind the others
	r.submit(vectors)
	var asked []penstock.Endpoint
	claimed, err := r.s.ClaimItems(r.t.Context(), r.lease("worker"), store.Want{Lanes: penstock.Lanes, Limit: 10, Room: func(c store.Candidate) bool {
		asked = append(asked, c.Endpoint)
		return c.Endpoint == penstock.EndpointEmbeddings
	}})
	r.must("claim", err)
	for _, c := range claimed {
		if c.Job != vectors.Job.ID {
			r.t.Errorf("claimed %+v, which was refused", c)
		}
	}
	want := []penstock.Endpoint{chats[0].Job.Endpoint, penstock.EndpointEmbeddings, penstock.EndpointEmbeddings, penstock.EndpointEmbeddings}
	if len(claimed) != 3 || !slices.Equal(asked, want) {
		r.t.Errorf("claimed %d items after asking for %v, want 3 after %v", len(claimed), asked, want)
	}
	r.audit(chats[0])
}

// claimRefused: with many tenants and no room for any, a claim does not ask for all of them.
func claimRefused(r *rig) {
	const tenants = 100
	for n := range tenants {
		sub := r.submission(1)
		_, err := r.s.SubmitJob(r.t.Context(), penstock.TenantID(fmt.Sprintf("tenant%d", n)), sub)
		r.must("submit", err)
	}
	asked := 0
	claimed, err := r.s.ClaimItems(r.t.Context(), r.lease("worker"), store.Want{Lanes: penstock.Lanes, Limit: 10, Room: func(store.Candidate) bool {
		asked++
		return false
	}})
	r.must("claim", err)
	if len(claimed) != 0 || asked == 0 || asked >= tenants {
		r.t.Errorf("claimed %d items after asking for %d of %d, want none, and not to ask for all", len(claimed), asked, tenants)
	}
	if all := r.claim(r.lease("worker"), tenants); len(all) != tenants {
		r.t.Errorf("with room %d items are claimed, want all %d", len(all), tenants)
	}
}

func claimFilters(r *rig) {
	a, b := r.submission(1), r.submission(1)
	a.Job.Model, b.Job.Model = "a", "b"
	other := r.submission(1)
	other.Job.Model = "a"
	r.submit(a)
	r.submit(b)
	_, err := r.s.SubmitJob(r.t.Context(), umbra, other)
	r.must("submit", err)
	lease := r.lease("worker")
	for _, want := range []struct {
		store.Want
		item penstock.ID
	}{
		{store.Want{Models: []string{"b"}}, penstock.ItemID(b.Job.ID, 0)},
		{store.Want{ExceptModels: []string{"b", "c"}, ExceptTenants: []penstock.TenantID{acme}}, penstock.ItemID(other.Job.ID, 0)},
		{store.Want{Models: []string{"a", "b"}, ExceptTenants: []penstock.TenantID{umbra}}, penstock.ItemID(a.Job.ID, 0)},
	} {
		want.Lanes, want.Limit = penstock.Lanes, 10
		claimed, err := r.s.ClaimItems(r.t.Context(), lease, want.Want)
		r.must("claim", err)
		if len(claimed) != 1 || claimed[0].Item != want.item {
			r.t.Errorf("%+v claimed %d items, want %s alone", want.Want, len(claimed), want.item)
		}
	}
}

func claimFields(r *rig) {
	sub := r.submitN(2)
	r.clock.Advance(3 * time.Second)
	for i, c := range r.claimN(r.lease("worker"), 2) {
		if c.Claim == "" {
			r.t.Error("the claim has no name")
		}
		r.wantSame("claim", *c, store.Claimed{
			ClaimedJob: &store.ClaimedJob{
				Key:         sub.Job.Key,
				Endpoint:    sub.Job.Endpoint,
				Model:       sub.Job.Model,
				Lane:        sub.Job.Lane,
				Resolved:    sub.Job.Resolved,
				MaxAttempts: sub.Job.MaxAttempts,
				ItemTimeout: sub.Job.ItemTimeout,
				TimeLeft:    sub.DeadlineIn - 3*time.Second,
				Age:         3 * time.Second,
				TraceParent: sub.Job.TraceParent,
			},
			Claim:      c.Claim,
			Place:      c.Place,
			Item:       penstock.ItemID(sub.Job.ID, i),
			Job:        sub.Job.ID,
			Tenant:     acme,
			Index:      i,
			CustomID:   sub.Items[i].CustomID,
			Body:       sub.Items[i].Body,
			Fence:      1,
			QueuedFor:  3 * time.Second,
			Estimate:   sub.Items[i].EstimateTokens,
			InputBytes: int64(len(sub.Items[i].Body)),
			Charged:    sub.Items[i].EstimateTokens,
			Reserved:   sub.Items[i].Reserved,
		})
		item := r.item(c.Item)
		if item.Status != penstock.StatusRunning || item.Fence != 1 {
			r.t.Errorf("claimed item is %s under fence %d, want running under 1", item.Status, item.Fence)
		}
	}
	r.audit(sub)
}

// claimOrder submits in an order that is wrong by lane, by deadline and by id alike.
func claimOrder(r *rig) {
	inOrder := []struct {
		lane     penstock.Lane
		deadline time.Duration
	}{
		{penstock.LaneRealtime, time.Hour}, {penstock.LaneRealtime, 3 * time.Hour},
		{penstock.LaneStandard, time.Hour}, {penstock.LaneStandard, 2 * time.Hour},
		{penstock.LaneBulk, time.Hour / 2}, {penstock.LaneBulk, 4 * time.Hour},
	}
	items := make([][]penstock.ID, len(inOrder))
	for _, place := range []int{5, 4, 3, 1, 2, 0} {
		sub := r.submission(2)
		sub.Job.Lane, sub.DeadlineIn = inOrder[place].lane, inOrder[place].deadline
		r.submit(sub)
		items[place] = []penstock.ID{penstock.ItemID(sub.Job.ID, 0), penstock.ItemID(sub.Job.ID, 1)}
	}

	l := r.lease("worker")
	var got []penstock.ID
	for _, limit := range []int{1, 1, 1, 3, everything} { // by single items and by groups
		for _, c := range r.claim(l, limit) {
			got = append(got, c.Item)
		}
	}
	r.wantSame("order of claims", got, slices.Concat(items...))
	if left := r.claim(l, everything); len(left) != 0 {
		r.t.Errorf("%d items were claimed a second time", len(left))
	}
}

func claimStartsJob(r *rig) {
	sub := r.submitN(3)
	r.clock.Advance(time.Minute)
	started := r.clock.Now()
	l := r.lease("worker")
	c := r.claimOne(l)
	job := r.audit(sub)
	if !job.StartedAt.Equal(started) || job.Status() != penstock.StatusRunning {
		r.t.Errorf("claimed job is %s since %v, want running since %v", job.Status(), job.StartedAt, started)
	}
	r.wantSame("log", r.events(job)[1:], []penstock.Event{job.Event(penstock.EventJobStarted)})

	r.clock.Advance(time.Second)
	r.win(r.ending(c, penstock.TransitionRetry)) // its second claim is the first of a queued-only job again
	r.claimN(l, 3)
	job = r.audit(sub)
	if !job.StartedAt.Equal(started) || job.Seq != 2 {
		r.t.Errorf("job started at %v with %d events, want %v with 2", job.StartedAt, job.Seq, started)
	}
}

func claimNotBefore(r *rig) {
	sub := r.submitN(1)
	l := r.lease("worker")
	retry := r.ending(r.claimOne(l), penstock.TransitionRetry)
	retry.RetryIn = 6 * time.Second
	r.win(retry)

	r.clock.Advance(5 * time.Second)
	r.claimN(l, 0)
	r.clock.Advance(3 * time.Second)
	c := r.claimN(l, 1)[0]
	if c.QueuedFor != 2*time.Second || c.Age != 8*time.Second {
		r.t.Errorf("claimed after %v at the age of %v, want 2s and 8s: it was due only after its wait", c.QueuedFor, c.Age)
	}
	r.audit(sub)
}

func claimFence(r *rig) {
	sub := r.submitN(1)
	l := r.lease("worker")
	for n := range 4 {
		c := r.claimOne(l)
		if c.Fence != int64(n)+1 || c.Tries != 2*n || c.Attempts != n {
			r.t.Fatalf("claim %d has fence %d, %d tries, %d attempts; want %d, %d, %d",
				n+1, c.Fence, c.Tries, c.Attempts, n+1, 2*n, n)
		}
		f := r.ending(c, penstock.TransitionRetry)
		second := r.attempt(c)
		second.Number++
		f.Attempts = append(f.Attempts, second) // two tries, of which one counts
		r.win(f)
	}
	if item := r.item(penstock.ItemID(sub.Job.ID, 0)); item.Fence != 4 || item.Attempts != 4 {
		r.t.Errorf("item has fence %d and %d attempts, want 4 and 4", item.Fence, item.Attempts)
	}
	r.audit(sub)
}

// claimSkipsStopping gets queued items into a stopping job by a rescue: those that CancelJob itself
// finds may be cancelled before anyone can look.
func claimSkipsStopping(r *rig) {
	stopping, other := r.submitN(20), r.submitN(1)
	first := r.lease("first")
	r.claim(first, 20)
	r.stop(stopping.Job.ID)
	r.must("release", r.s.ReleaseLease(r.t.Context(), first))
	r.drain(everything, r.rescue)

	claims := r.claimN(r.lease("second"), 1)
	if claims[0].Job != other.Job.ID {
		r.t.Errorf("an item of a stopping job was claimed")
	}
	r.audit(stopping)
	r.audit(other)
}

func claimSkipsExpired(r *rig) {
	short := r.submission(1)
	short.DeadlineIn = time.Minute
	r.submit(short)
	long := r.submitN(1)
	r.clock.Advance(time.Minute + time.Second)
	claims := r.claimN(r.lease("worker"), 1)
	if claims[0].Job != long.Job.ID {
		r.t.Errorf("an item past its deadline was claimed")
	}
	r.audit(short)
	r.audit(long)
}

// claimBehindWaiting puts items that cannot be claimed in front of one that can: they must not use up
// the limit.
func claimBehindWaiting(r *rig) {
	front := r.submission(30)
	front.Job.Lane = penstock.LaneRealtime
	r.submit(front)
	l := r.lease("worker")
	group := r.endings(r.claimN(l, 30), penstock.TransitionRetry)
	for i := range group {
		group[i].RetryIn = time.Minute
	}
	r.win(group...)

	expired := r.submission(30)
	expired.DeadlineIn = time.Second
	r.submit(expired)
	behind := r.submitN(1)
	r.clock.Advance(2 * time.Second)
	if c := r.claimOne(l); c.Job != behind.Job.ID {
		r.t.Errorf("claimed an item of %s, want the one that is due, of %s", c.Job, behind.Job.ID)
	}
}

func claimConcurrently(r *rig) {
	const claimers, perJob = 6, 100
	subs := []store.Submission{r.submitN(perJob), r.submitN(perJob), r.submitN(perJob)}
	var mu sync.Mutex
	holders := map[penstock.ID]string{}
	take := func(l store.Lease, claims []*store.Claimed) error {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range claims {
			if other, taken := holders[c.Item]; taken || c.Fence != 1 {
				return fmt.Errorf("%s claimed %s under fence %d after %q", l.Process, c.Item, c.Fence, other)
			}
			holders[c.Item] = l.Process
		}
		return nil
	}
	var group errgroup.Group
	for i := range claimers {
		l := r.lease(fmt.Sprintf("worker-%d", i))
		group.Go(func() error {
			for {
				claims, err := r.s.ClaimItems(r.t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: 7})
				if err != nil || len(claims) == 0 {
					return err
				}
				if err := take(l, claims); err != nil {
					return err
				}
			}
		})
	}
	r.must("claim together", group.Wait())

	// A claimer may come back with nothing while others hold what is left in their transactions.
	l := r.lease("last")
	r.must("claim the rest", take(l, r.claim(l, everything)))
	if len(holders) != len(subs)*perJob {
		r.t.Errorf("%d items were claimed, want %d", len(holders), len(subs)*perJob)
	}
	for _, sub := range subs {
		if job := r.audit(sub); job.Counts.Running != perJob || job.Seq != 2 {
			r.t.Errorf("job has counts %+v and %d events, want all running and 2", job.Counts, job.Seq)
		}
	}
}

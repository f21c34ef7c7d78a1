package storetest

import (
	"bytes"
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
		{"a claim takes an item for each reserved call", claimReserved},
		{"what is ready is known before a claim", claimReady},
		{"items without a call do not hold up other endpoints", claimEndpoints},
		{"a claim without calls takes nothing", claimNoCalls},
		{"items that are not urgent are bounded apart", claimNotUrgent},
		{"models and tenants can be left alone", claimFilters},
		{"many claimers share without overlap", claimConcurrently},
	}
}

// claimReserved: a claim takes an item for each reserved call, says which call that is, and leaves the other items queued;
// they do not hold up other models.
func claimReserved(r *rig) {
	full, open := r.submission(3), r.submission(3)
	full.Job.Model, open.Job.Model = "full", "open"
	r.submit(full)
	r.submit(open)
	lease := r.lease("worker")
	claimed, err := r.s.ClaimItems(r.t.Context(), lease, store.Want{Lanes: penstock.Lanes, Limit: 10, Reserved: []store.Reserved{
		{Model: "open", Target: "near", Calls: 2}, {Model: "full", Target: "far", Calls: 1}, {Model: "open", Calls: 5},
	}})
	r.must("claim", err)
	got := map[penstock.ID]store.Call{}
	for _, c := range claimed {
		got[c.Item] = c.Call
	}
	r.wantSame("calls", got, map[penstock.ID]store.Call{
		penstock.ItemID(full.Job.ID, 0): {Number: 3, Target: "far"},
		penstock.ItemID(open.Job.ID, 0): {Number: 1, Target: "near"}, penstock.ItemID(open.Job.ID, 1): {Number: 2, Target: "near"}, penstock.ItemID(open.Job.ID, 2): {Number: 4},
	})
	for _, c := range claimed {
		r.win(r.ending(c, penstock.TransitionSucceed))
	}
	if left := r.claimN(lease, 2); left[0].Model != "full" {
		r.t.Errorf("items without a call are gone: %+v", left)
	}
	r.audit(full)
}

// claimReady: what is ready is known before a claim, by model and with the averages of its items, and without what the claim
// would leave alone.
func claimReady(r *rig) {
	small, large, other := r.submission(2), r.submission(1), r.submission(1)
	other.Job.Model, other.Job.Lane = "other", penstock.LaneBulk
	large.Items[0].EstimateTokens, large.Items[0].Body = 3*small.Items[0].EstimateTokens, bytes.Repeat([]byte("a"), 7*len(small.Items[0].Body))
	r.submit(small)
	r.submit(large)
	r.submit(other)
	_, err := r.s.SubmitJob(r.t.Context(), umbra, r.submission(1))
	r.must("submit", err)
	model, size, estimate := small.Job.Model, int64(len(small.Items[0].Body)), small.Items[0].EstimateTokens
	both := store.Ready{Model: model, Items: 4, Estimate: 6 * estimate / 4, InputBytes: 10 * size / 4}
	one := store.Ready{Model: "other", Items: 1, Estimate: other.Items[0].EstimateTokens, InputBytes: int64(len(other.Items[0].Body))}
	for name, tt := range map[string]struct {
		want  store.Want
		ready []store.Ready
	}{
		"all":             {store.Want{Lanes: penstock.Lanes}, []store.Ready{both, one}},
		"one lane":        {store.Want{Lanes: []penstock.Lane{penstock.LaneBulk}}, []store.Ready{one}},
		"one model":       {store.Want{Lanes: penstock.Lanes, Models: []string{"other"}}, []store.Ready{one}},
		"another model":   {store.Want{Lanes: penstock.Lanes, ExceptModels: []string{model}}, []store.Ready{one}},
		"another tenant":  {store.Want{Lanes: penstock.Lanes, ExceptTenants: []penstock.TenantID{acme, umbra}}, []store.Ready{}},
		"the tenant only": {store.Want{Lanes: penstock.Lanes, Models: []string{model}, ExceptTenants: []penstock.TenantID{acme}}, []store.Ready{{Model: model, Items: 1, Estimate: estimate, InputBytes: size}}},
	} {
		tt.want.Limit = 10
		ready, more, err := r.s.(store.ReadyReader).ReadyItems(r.t.Context(), tt.want)
		r.must("ready items", err)
		r.wantSame(name, ready, tt.ready)
		if more {
			r.t.Errorf("%s: there is more", name)
		}
	}
	ready, _, err := r.s.(store.ReadyReader).ReadyItems(r.t.Context(), store.Want{Lanes: penstock.Lanes, Limit: 3})
	r.must("ready items", err)
	if ready[0].Items != 3 {
		r.t.Errorf("%d items are ready, want the limit", ready[0].Items)
	}
	lease := r.lease("worker")
	f := r.ending(r.claimN(lease, 5)[0], penstock.TransitionRetry)
	f.RetryIn = time.Second
	r.win(f)
	if ready, _, err := r.s.(store.ReadyReader).ReadyItems(r.t.Context(), store.Want{Lanes: penstock.Lanes, Limit: 10}); err != nil || len(ready) != 0 {
		r.t.Errorf("%+v is ready while the last item waits: %v", ready, err)
	}
	r.clock.Advance(2 * time.Second)
	if ready, _, err := r.s.(store.ReadyReader).ReadyItems(r.t.Context(), store.Want{Lanes: penstock.Lanes, Limit: 10}); err != nil || len(ready) != 1 || ready[0].Items != 1 {
		r.t.Errorf("%+v is ready, want the item that waited: %v", ready, err)
	}
	r.claimN(lease, 1)
}

// claimEndpoints: items of an endpoint for which no call is left do not hold up items of another endpoint that wait behind
// them, of the same tenant and model.
func claimEndpoints(r *rig) {
	chats, vectors := make([]store.Submission, 20), r.submission(3)
	for i := range chats {
		chats[i] = r.submission(2)
		r.submit(chats[i])
	}
	vectors.Job.Endpoint, vectors.DeadlineIn = penstock.EndpointEmbeddings, 2*vectors.DeadlineIn // behind the others
	r.submit(vectors)
	claimed, err := r.s.ClaimItems(r.t.Context(), r.lease("worker"), store.Want{Lanes: penstock.Lanes, Limit: 10, Reserved: []store.Reserved{
		{Model: vectors.Job.Model, Endpoints: []penstock.Endpoint{penstock.EndpointEmbeddings}, Calls: 10},
	}})
	r.must("claim", err)
	for _, c := range claimed {
		if c.Job != vectors.Job.ID {
			r.t.Errorf("claimed %+v, for which there is no call", c)
		}
	}
	if len(claimed) != 3 {
		r.t.Errorf("claimed %d items, want 3", len(claimed))
	}
	r.audit(chats[0])
}

// claimNoCalls: with many tenants and no call for any, a claim takes nothing, and what it left can be claimed.
func claimNoCalls(r *rig) {
	const tenants = 100
	for n := range tenants {
		sub := r.submission(1)
		_, err := r.s.SubmitJob(r.t.Context(), penstock.TenantID(fmt.Sprintf("tenant%d", n)), sub)
		r.must("submit", err)
	}
	claimed, err := r.s.ClaimItems(r.t.Context(), r.lease("worker"), store.Want{Lanes: penstock.Lanes, Limit: 10, Reserved: []store.Reserved{{Model: "none", Calls: 10}}})
	r.must("claim", err)
	if len(claimed) != 0 {
		r.t.Errorf("claimed %d items without a call", len(claimed))
	}
	if all := r.claim(r.lease("worker"), tenants); len(all) != tenants {
		r.t.Errorf("with calls %d items are claimed, want all %d", len(all), tenants)
	}
}

// claimNotUrgent: the bound on items that are not urgent leaves the realtime lane alone.
func claimNotUrgent(r *rig) {
	urgent, standard, bulk := r.submission(3), r.submission(3), r.submission(3)
	urgent.Job.Lane, bulk.Job.Lane = penstock.LaneRealtime, penstock.LaneBulk
	for _, sub := range []store.Submission{bulk, standard, urgent} {
		r.submit(sub)
	}
	order := []penstock.Lane{penstock.LaneBulk, penstock.LaneStandard, penstock.LaneRealtime}
	claimed, err := r.s.ClaimItems(r.t.Context(), r.lease("worker"), store.Want{Lanes: order, Limit: 10, LimitNotUrgent: 4})
	r.must("claim", err)
	got := map[penstock.Lane]int{}
	for _, c := range claimed {
		got[c.Lane]++
	}
	r.wantSame("lanes", got, map[penstock.Lane]int{penstock.LaneBulk: 3, penstock.LaneStandard: 1, penstock.LaneRealtime: 3})
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

package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

func raceCases() []testCase {
	return []testCase{
		{"one job finished by many workers", raceOneJob},
		{"groups that meet the same jobs in other orders", raceCrossedGroups},
		{"everything at once", raceEverything},
	}
}

// raceOneJob makes many workers fight for the counters and the event numbers of a single job.
func raceOneJob(r *rig) {
	const workers, each = 8, 12
	sub := r.submitN(workers * each)
	claims := r.claimN(r.lease("worker"), workers*each)
	var group errgroup.Group
	for mine := range slices.Chunk(claims, each) {
		group.Go(func() error {
			for _, c := range mine {
				if _, err := r.s.FinishItems(r.t.Context(), []store.Finish{r.ending(c, penstock.TransitionSucceed)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	r.must("finish together", group.Wait())
	if job := r.audit(sub); job.Counts.Succeeded != workers*each {
		r.t.Errorf("job has counts %+v, want all succeeded", job.Counts)
	}
	r.verifyLedger()
}

// raceCrossedGroups finishes groups over two jobs, half of them in one order and half in the other, while
// both jobs are cancelled and swept: an engine that locks rows in the order of the group deadlocks here.
func raceCrossedGroups(r *rig) {
	const pairs = 24
	first, second := r.submitN(2*pairs), r.submitN(2*pairs)
	l := r.lease("worker")
	claims := map[penstock.ID][]*store.Claimed{}
	for _, c := range r.claim(l, 3*pairs) { // the rest stays queued, for the cancel
		claims[c.Job] = append(claims[c.Job], c)
	}
	a, b := claims[first.Job.ID], claims[second.Job.ID]
	var group errgroup.Group
	for i := range min(len(a), len(b)) {
		finishes := []store.Finish{r.ending(a[i], penstock.TransitionSucceed), r.ending(b[i], penstock.TransitionRetry)}
		if i%2 == 1 {
			slices.Reverse(finishes)
		}
		group.Go(func() error {
			_, err := r.s.FinishItems(r.t.Context(), finishes)
			return err
		})
	}
	for _, sub := range []store.Submission{second, first} {
		group.Go(func() error {
			_, err := r.s.CancelJob(r.t.Context(), acme, sub.Job.ID)
			return err
		})
		group.Go(func() error {
			_, err := r.cancel(10)
			return err
		})
	}
	r.must("finish crossed groups", group.Wait())
	r.audit(first)
	r.audit(second)
	r.verifyLedger()
}

// The size of the race. Its workers stop at whichever bound comes first.
const (
	raceRounds  = 150
	raceTime    = 3 * time.Second
	raceWorkers = 3
	raceItems   = 6 // most items in a job
)

// race is several processes at work on one store, and the answers that they got.
type race struct {
	*rig
	until time.Time

	mu       sync.Mutex
	subs     []store.Submission
	claims   map[claimKey]string             // who claimed an item under a fence
	outcomes map[penstock.ID]penstock.Status // the verdicts of the workers' finishes
	ended    map[penstock.ID]int             // how often the end of a job was reported
}

type claimKey struct {
	item  penstock.ID
	fence int64
}

// raceEverything runs a submitter, workers that crash and finish late, a canceller and a maintenance loop at once
// on one store under a moving clock, and then compares the store with all answers that it gave.
func raceEverything(r *rig) {
	seed := rand.Uint64()
	r.t.Logf("seed %d", seed)
	x := &race{
		rig: r, until: time.Now().Add(raceTime),
		claims: map[claimKey]string{}, outcomes: map[penstock.ID]penstock.Status{}, ended: map[penstock.ID]int{},
	}
	var group errgroup.Group
	start := func(role func(random *rand.Rand) error) {
		random := rand.New(rand.NewPCG(seed, rand.Uint64()))
		group.Go(func() error { return x.repeat(random, role) })
	}
	start(x.submitSome)
	start(x.cancelSome)
	start(x.housekeep)
	for n := range raceWorkers {
		w := &racer{race: x, process: fmt.Sprintf("worker-%d", n)}
		start(w.work)
	}
	r.must("race", group.Wait())
	x.finishAll()

	items := 0
	for _, sub := range x.subs {
		items += len(sub.Items)
		x.check(sub, r.audit(sub))
	}
	if report := r.verifyLedger(); report.Items != int64(items) {
		r.t.Errorf("the ledger report counts %d terminal items, want %d", report.Items, items)
	}
	r.t.Logf("%d jobs with %d items, %d claims", len(x.subs), items, len(x.claims))
}

func (x *race) repeat(random *rand.Rand, role func(*rand.Rand) error) error {
	for range raceRounds {
		if time.Now().After(x.until) {
			return nil
		}
		if err := role(random); err != nil {
			return err
		}
	}
	return nil
}

func (x *race) submitSome(random *rand.Rand) error {
	sub := x.submission(1 + random.IntN(raceItems))
	sub.Job.Lane = penstock.Lanes[random.IntN(len(penstock.Lanes))]
	if random.IntN(4) == 0 {
		sub.DeadlineIn = time.Duration(1+random.IntN(20)) * time.Second
	}
	if _, err := x.s.SubmitJob(x.t.Context(), acme, sub); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.subs = append(x.subs, sub)
	return nil
}

// someJob returns one of the jobs submitted so far, or "" when there is none.
func (x *race) someJob(random *rand.Rand) penstock.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.subs) == 0 {
		return ""
	}
	return x.subs[random.IntN(len(x.subs))].Job.ID
}

// cancelSome stops a job now and then. It looks at every job that it meets, because what a reader sees
// must hold together at any moment and not just at the end.
func (x *race) cancelSome(random *rand.Rand) error {
	id := x.someJob(random)
	if id == "" {
		return nil
	}
	if random.IntN(4) == 0 {
		if _, err := x.s.CancelJob(x.t.Context(), acme, id); err != nil {
			return fmt.Errorf("cancel: %w", err)
		}
	}
	job, err := x.s.Job(x.t.Context(), acme, id)
	if err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	sum := 0
	for _, status := range penstock.Statuses {
		sum += *job.Counts.Of(status)
	}
	if sum != job.Counts.Total {
		return fmt.Errorf("counts of job %s do not add up: %+v", id, job.Counts)
	}
	return x.follow(job, random.Int64N(job.Seq+1))
}

// follow reads a job's log from any point, as a reader that follows it does: events that are there must be
// seen, and in one piece, or a reader that goes on from the last one would miss some for good.
func (x *race) follow(job penstock.Job, after int64) error {
	events, err := x.s.Events(x.t.Context(), acme, store.EventPage{Job: job.ID, After: after, Limit: everything})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	if int64(len(events)) < job.Seq-after {
		return fmt.Errorf("job %s has %d events, but only %d after number %d", job.ID, job.Seq, len(events), after)
	}
	for i, e := range events {
		if e.Seq != after+int64(i)+1 {
			return fmt.Errorf("job %s: event %d comes at place %d after number %d", job.ID, e.Seq, i+1, after)
		}
	}
	return nil
}

func (x *race) housekeep(random *rand.Rand) error {
	x.clock.Advance(time.Duration(random.IntN(800)) * time.Millisecond)
	for _, step := range []func(int) (store.Step, error){x.rescue, x.expire, x.cancel} {
		done, err := step(1 + random.IntN(5))
		if err != nil {
			return fmt.Errorf("keep owned: %w", err)
		}
		x.mu.Lock()
		for _, job := range done.Finished {
			x.ended[job]++
		}
		x.mu.Unlock()
	}
	return nil
}

// racer is a worker process of the race.
type racer struct {
	*race
	process string
	held    store.Lease
	late    []store.Finish // what it will report too late, perhaps
}

func (w *racer) work(random *rand.Rand) error {
	claims, err := w.s.ClaimItems(w.t.Context(), w.held, store.Want{Lanes: penstock.Lanes, Limit: 1 + random.IntN(5)})
	if penstock.ErrorCode(err) == penstock.CodeConflict { // it has none yet, or its time is over
		w.held, err = w.s.AcquireLease(w.t.Context(), w.process, leaseTTL)
		return err
	}
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	suspects, err := w.s.ClaimSuspects(w.t.Context(), w.held, store.Want{Lanes: penstock.Lanes, Limit: 1 + random.IntN(3)})
	if err != nil && penstock.ErrorCode(err) != penstock.CodeConflict {
		return fmt.Errorf("claim suspects: %w", err)
	}
	claims = append(claims, suspects...)
	if err := w.noteClaims(w.process, claims); err != nil {
		return err
	}
	group := make([]store.Finish, len(claims))
	for i, c := range claims {
		group[i] = w.ending(c, someTransition(random))
		group[i].RetryIn = time.Duration(random.IntN(2000)) * time.Millisecond
	}
	switch random.IntN(8) {
	case 0: // crash, and come back as a new epoch
		w.held, err = w.s.AcquireLease(w.t.Context(), w.process, leaseTTL)
		return err
	case 1: // stall
		w.late = append(w.late, group...)
		return nil
	case 2: // lose the answer, and repeat the call
		if err := w.report(group); err != nil {
			return err
		}
	case 3: // wake up
		group, w.late = append(group, w.late...), nil
	}
	return w.report(group)
}

func someTransition(random *rand.Rand) penstock.Transition {
	all := []penstock.Transition{
		penstock.TransitionSucceed, penstock.TransitionSucceed, penstock.TransitionRetry,
		penstock.TransitionFail, penstock.TransitionCancel, penstock.TransitionExpire,
	}
	return all[random.IntN(len(all))]
}

func (x *race) noteClaims(process string, claims []*store.Claimed) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range claims {
		key := claimKey{c.Item, c.Fence}
		if other, taken := x.claims[key]; taken {
			return fmt.Errorf("%s and %s both hold %s under fence %d", process, other, c.Item, c.Fence)
		}
		x.claims[key] = process
	}
	return nil
}

func (x *race) report(group []store.Finish) error {
	verdicts, err := x.s.FinishItems(x.t.Context(), group)
	if err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, v := range verdicts {
		if v.JobFinished {
			x.ended[group[i].Job]++
		}
		if !v.Won || !v.Status.Terminal() {
			continue
		}
		if earlier, done := x.outcomes[group[i].Item]; done {
			return fmt.Errorf("item %s is %s after it was %s", group[i].Item, v.Status, earlier)
		}
		x.outcomes[group[i].Item] = v.Status
	}
	return nil
}

// finishAll brings everything that the race left open to an end, as a healthy cluster would.
func (x *race) finishAll() {
	x.t.Helper()
	for range 100 {
		x.clock.Advance(time.Minute) // past every lease and every wait for a retry
		for _, step := range []func(int) (store.Step, error){x.rescue, x.expire, x.cancel} {
			for _, job := range x.drain(50, step).Finished {
				x.ended[job]++
			}
		}
		last := x.rig.lease("last")
		claims := append(x.claim(last, everything), x.claimSuspects(last, everything)...)
		x.must("note claims", x.noteClaims("last", claims))
		x.must("finish", x.report(x.endings(claims, penstock.TransitionSucceed)))
		if len(x.depths()) == 0 {
			return
		}
	}
	x.t.Fatalf("work is left that nothing brings to an end: %+v", x.depths())
}

// check compares a job with the verdicts of its workers.
func (x *race) check(sub store.Submission, job penstock.Job) {
	x.t.Helper()
	if job.Counts.Open() != 0 {
		x.t.Errorf("job %s still has open items: %+v", job.ID, job.Counts)
	}
	// The caller whose cancel ends a job sees that in its answer; no worker does.
	if n := x.ended[job.ID]; n > 1 || (n == 0 && job.CancelRequestedAt.IsZero()) {
		x.t.Errorf("the end of job %s was reported %d times", job.ID, n)
	}
	for n := range sub.Items {
		item := x.item(penstock.ItemID(sub.Job.ID, n))
		if verdict, ok := x.outcomes[item.ID]; ok && verdict != item.Status {
			x.t.Errorf("a worker's verdict of item %s is %s; it is %s", item.ID, verdict, item.Status)
		}
		for i, try := range x.attempts(item.ID) {
			if try.Number != i+1 {
				x.t.Errorf("attempt %d at item %s has number %d", i+1, item.ID, try.Number)
			}
		}
	}
}

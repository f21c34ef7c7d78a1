package backlog

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/store"
)

// open is a job that entered behind everything that is queued.
func (r *rig) open(items int) penstock.Job {
	r.t.Helper()
	a := arrival(items)
	if err := r.Admit(a); err != nil {
		r.t.Fatal(err)
	}
	p := r.Place(a, time.Time{})
	r.Accepted(a)
	return penstock.Job{
		Lane: a.Lane, Tenant: a.Tenant, Model: a.Model, QueueMark: p.Mark, QueueTokens: a.Tokens, PromisedAt: p.Finish,
		Counts: penstock.Counts{Total: items, Queued: items},
	}
}

func near(t *testing.T, what string, got, want time.Time, slack time.Duration) {
	t.Helper()
	if off := got.Sub(want); off.Abs() > slack {
		t.Errorf("%s is said to be %v after the beginning, want %v ± %v", what, got.Sub(start), want.Sub(start), slack)
	}
}

func TestEstimateKnowsNothingAtFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	if e := r.Estimate(r.open(1)); e != (Estimate{}) {
		t.Errorf("before the first look: %+v", e)
	}
	r.queue.rows = append(r.queue.rows, row(100))
	r.pass(0)
	if e := r.Estimate(r.open(1)); e != (Estimate{}) {
		t.Errorf("behind a queue that was never seen to move: %+v", e)
	}
	r.queue.rows[0] = row(0)
	r.pass(time.Second)
	if e := r.Estimate(r.open(1)); e.Start != r.now || !e.Finish.IsZero() {
		t.Errorf("an empty queue, and no item ever ran: %+v, want a start now and no finish", e)
	}
}

func TestEstimateFollowsTheQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	r.queue.rows = append(r.queue.rows, row(1000))
	r.queue.rows[0].Running = 20 // ten start in a second: each runs for two
	r.pass(0)
	r.drains(20, 10)
	job := r.open(100) // 800 are ahead
	e := r.Estimate(job)
	near(t, "the start", e.Start, r.now.Add(80*time.Second), time.Second)
	near(t, "the finish", e.Finish, r.now.Add(92*time.Second), 2*time.Second)
	near(t, "the promise", job.PromisedAt, e.Finish, 0)

	started := e.Start
	r.queue.rows[0].Ready += 100
	r.queue.rows[0].Tokens += 100 * 100
	r.drains(40, 10)
	near(t, "the start, half way", r.Estimate(job).Start, started, 2*time.Second)

	// All but 50 of those ahead are cancelled.
	r.queue.rows[0].Ready -= 350
	r.queue.rows[0].Tokens -= 350 * 100
	r.pass(time.Second)
	near(t, "the start after a cancel", r.Estimate(job).Start, r.now.Add(5*time.Second), time.Second)

	r.drains(10, 10)
	job.StartedAt, job.Counts = r.now, penstock.Counts{Total: 100, Queued: 50, Running: 20, Succeeded: 30}
	e = r.Estimate(job)
	near(t, "the finish of a job that runs", e.Finish, r.now.Add(7*time.Second), time.Second)
	if !e.Start.IsZero() {
		t.Errorf("a job that runs is said to start at %v", e.Start)
	}
	job.Counts = penstock.Counts{Total: 100, Running: 1, Succeeded: 99}
	near(t, "the finish of the last item", r.Estimate(job).Finish, r.now.Add(2*time.Second), time.Second)
	job.Counts = penstock.Counts{Total: 100, Succeeded: 100}
	if e = r.Estimate(job); e != (Estimate{}) {
		t.Errorf("a job that is finished: %+v", e)
	}
}

func TestEstimateEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	r.queue.rows = append(r.queue.rows, row(100_000))
	r.queue.rows[0].Running = 1
	r.pass(0)
	r.drains(10, 1)
	job := r.open(1)
	job.Deadline = r.now.Add(time.Hour)
	if e := r.Estimate(job); e.Finish != job.Deadline || e.Start != job.Deadline {
		t.Errorf("got %+v, want the deadline %v", e, job.Deadline)
	}
}

// A queue that stands still loses its estimates instead of keeping old ones.
func TestEstimateOfAQueueThatStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	r.queue.rows = append(r.queue.rows, row(1000))
	r.queue.rows[0].Running = 1
	r.pass(0)
	r.drains(10, 10)
	job := r.open(1)
	before := r.Estimate(job).Start
	r.drains(60, 0)
	if after := r.Estimate(job).Start; after.Sub(before) < 2*time.Minute {
		t.Errorf("after a minute of nothing the start moved from %v to %v only", before, after)
	}
	r.drains(900, 0)
	if e := r.Estimate(job); e != (Estimate{}) {
		t.Errorf("after a quarter of an hour of nothing: %+v", e)
	}
	r.now = r.now.Add(time.Hour)
	if e := r.Estimate(job); e != (Estimate{}) {
		t.Errorf("without a look for an hour: %+v", e)
	}
}

// A tenant that was never seen to drain gets its part of the lane.
func TestEstimateFallsBackToTheLane(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	r.queue.rows = append(r.queue.rows, row(1000))
	r.queue.rows[0].Running = 10
	r.pass(0)
	r.drains(10, 10)
	a := arrival(101)
	a.Tenant = "sales"
	if err := r.Admit(a); err != nil {
		t.Fatal(err)
	}
	got := r.Place(a, time.Time{})
	near(t, "the finish beside one other tenant", got.Finish, r.now.Add(21*time.Second), 2*time.Second)
	if got.Mark != 0 {
		t.Errorf("the first job of a tenant has the mark %d", got.Mark)
	}
}

// Whatever the speed of the queue, a job is told its finish with an error of a few seconds, or a few
// percent.
func TestEstimatesComeTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		perSecond := rapid.Int64Range(1, 500).Draw(rt, "items per second")
		service := rapid.Int64Range(1, 20).Draw(rt, "seconds that an item runs")
		ahead := rapid.Int64Range(1, 200).Draw(rt, "seconds of work ahead")
		items := rapid.IntRange(1, 256).Draw(rt, "items")
		r := newRig(t, limits{})
		r.queue.rows = append(r.queue.rows, row(perSecond*(20+ahead)))
		r.queue.rows[0].Running = perSecond * service
		r.pass(0)
		r.drains(20, perSecond)
		job := r.open(items)
		actual := r.now.Add(time.Duration(float64(ahead)+float64(items-1)/float64(perSecond)+float64(service)) * time.Second)
		if off := job.PromisedAt.Sub(actual); math.Abs(off.Seconds()) > 3+0.05*actual.Sub(r.now).Seconds() {
			rt.Fatalf("promised %v off: at %v, but it was %v", off, job.PromisedAt.Sub(r.now), actual.Sub(r.now))
		}
	})
}

// Rows that come and go are not work done.
func TestRowsThatComeAndGo(t *testing.T) {
	t.Parallel()
	old := row(100)
	old.DrainedItems, old.DrainedTokens = 1_000_000, 100_000_000
	var p *picture
	p = p.next(nil, start)
	p.whole = false // it may have been left out
	p = p.next([]store.Backlog{old}, start.Add(time.Second))
	if moved := p.of(level{}).moved.perItem.mean(); moved != 0 {
		t.Errorf("a row that was not seen before counts as %v items/s", moved)
	}
	p = p.next(nil, start.Add(2*time.Second))
	if f := p.of(level{}); f.queued() != 0 || len(p.flows) != 0 {
		t.Errorf("a row that is gone left %+v", p.flows)
	}
	p = p.next([]store.Backlog{{Lane: penstock.LaneBulk, Tenant: "new", Model: "m", DrainedItems: 30}}, start.Add(3*time.Second))
	if moved := p.of(level{}).moved.perItem.mean(); moved < 10 || moved > 11 {
		t.Errorf("a row that is new counts as %v items/s, want all it drained in the three seconds that were watched", moved)
	}
}

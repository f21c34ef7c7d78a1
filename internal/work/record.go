package work

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"penstock"
	"penstock/internal/inflight"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// MaxFinishGroup is the largest number of ends in one transaction.
const MaxFinishGroup = 512

// MaxUnrecorded is how many items may have ended and freed their slots before their end is on stable storage; no
// more than there are slots. After a crash, as many may run again, besides those that had a slot.
const MaxUnrecorded = recorders * MaxFinishGroup

// recorders is how many groups are recorded at a time. All ends of a job go to one of them: two groups with items
// of the same job would only wait for each other.
const recorders = 2

// recorderOf is the recorder of a job's ends.
func (p *Pool) recorderOf(job penstock.ID) *endQueue {
	var sum byte // ids that follow each other differ in their last characters
	for i := range len(job) {
		sum += job[i]
	}
	return p.ends[sum%recorders]
}

const (
	// recordRetry is how long the recorder waits before it tries a group again.
	recordRetry = 200 * time.Millisecond
	// refusals is how often a group is refused before its ends are recorded one by one, each in a goroutine
	// of its own, where it does not block others.
	refusals = 5
	// slowRetry is the retry interval of an end that is recorded alone.
	slowRetry = 5 * time.Second
)

// finished is a claim that ended in this process and is not recorded yet.
type finished struct {
	store.Finish
	run
}

// run is the run of a claim in this process.
type run struct {
	pool  *pool       // in which it ran
	lease store.Lease // under which it was claimed
	took  time.Duration
	// memory is the account of its answer's memory until it is recorded, nil for none.
	memory *inflight.Account
	// keepsSlot says that too many ends were unrecorded when it ended: its slot is free when it is recorded.
	keepsSlot bool
}

// endings are claims that are recorded together.
type endings struct {
	finishes []store.Finish
	runs     []run
}

func newEndings(size int) *endings {
	return &endings{make([]store.Finish, 0, size), make([]run, 0, size)}
}

func (e *endings) add(f finished) {
	e.finishes, e.runs = append(e.finishes, f.Finish), append(e.runs, f.run)
}

// one is a group of the i-th claim alone.
func (e *endings) one(i int) *endings {
	one := newEndings(1)
	one.add(finished{e.finishes[i], e.runs[i]})
	return one
}

// clear drops the recorded claims, so that their memory is freed.
func (e *endings) clear() {
	for i := range e.runs {
		if e.runs[i].memory != nil {
			e.runs[i].memory.Close()
		}
	}
	clear(e.finishes)
	clear(e.runs)
	e.finishes, e.runs = e.finishes[:0], e.runs[:0]
}

// record commits ends in groups until the queue is closed: the ends that arrive during one commit are the
// next group. It runs longer than the items, so that a shutdown records finished work.
func (p *Pool) record(ctx context.Context, ends *endQueue) {
	var alone sync.WaitGroup
	defer alone.Wait()
	for group := ends.take(); group != nil; group = ends.take() {
		if !p.recordGroup(ctx, group, refusals) {
			// The store refuses the group repeatedly. If the store is unavailable, everything waits here; if
			// it refuses one end only, the others must still be recorded.
			for i := range group.finishes {
				if one := group.one(i); !p.recordGroup(ctx, one, 1) {
					alone.Go(func() { p.recordAlone(ctx, one) })
				}
			}
		}
		ends.reuse(group)
	}
}

// recordAlone tries to record one end until it succeeds, its lease is lost, or ctx ends: the result is paid
// for. It still counts as unrecorded.
func (p *Pool) recordAlone(ctx context.Context, one *endings) {
	for !p.recordGroup(ctx, one, 1) {
		pause := time.NewTimer(slowRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil || one.runs[0].lease != p.Lease.Current() {
			p.Log.ErrorContext(about(ctx, &one.finishes[0]), "gave up recording a result; the item will run again")
			p.release(one)
			return
		}
	}
}

// release drops claims whose end is recorded.
func (p *Pool) release(group *endings) {
	p.mu.Lock()
	for i := range group.finishes {
		f, r := &group.finishes[i], &group.runs[i]
		delete(p.held, claim{f.Item, f.Fence})
		// A claim is charged its expected use; the difference is charged or refunded later.
		actual := f.Usage.InputTokens + f.Usage.OutputTokens
		p.used[account{f.Of.Lane, f.Tenant}] += actual - f.Of.Charged
		r.pool.pace.Ended(r.took)
		p.expected.Learn(f.Of.Model, f.Of.Estimate, actual)
	}
	p.mu.Unlock()
	for i := range group.runs {
		if r := &group.runs[i]; r.keepsSlot {
			r.pool.slots.Give(1)
		} else {
			p.unrecorded.Add(-1)
		}
	}
	p.Metrics.SlotsInUse(p.slotsInUse())
}

// recordGroup tries to record a group, several times at the most, and releases it after a success.
func (p *Pool) recordGroup(ctx context.Context, group *endings, tries int) bool {
	began := p.Clock()
	for range tries {
		verdicts, err := p.finish(ctx, group.finishes)
		if err == nil {
			p.Metrics.FinishGroup(len(group.finishes), p.Clock().Sub(began))
			p.report(ctx, group, verdicts)
			p.release(group)
			return true
		}
		p.Log.WarnContext(ctx, "recording results", "items", len(group.finishes), "error", err)
		pause := time.NewTimer(recordRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
	return false
}

func (p *Pool) finish(ctx context.Context, group []store.Finish) ([]store.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	return p.Store.FinishItems(ctx, group)
}

// about is the context for log records about the end of an item: with its ids, its trace, and the attempt that decided it.
func about(ctx context.Context, f *store.Finish) context.Context {
	ids := telemetry.IDs{Tenant: f.Tenant, Job: f.Job, Item: f.Item}
	if n := len(f.Attempts); n > 0 {
		ids.Attempt = f.Attempts[n-1].ID
	}
	if f.Of != nil {
		ctx = telemetry.WithTraceParent(ctx, f.Of.TraceParent)
	}
	return telemetry.WithIDs(ctx, ids)
}

// report reports the outcomes of a group to readers, metrics and logs.
func (p *Pool) report(ctx context.Context, group *endings, verdicts []store.Verdict) {
	changed := make([]penstock.ID, 0, len(verdicts))
	soonest := p.PollInterval // polling finds items that are due later
	verbose := p.Log.Enabled(ctx, slog.LevelDebug)
	for i, v := range verdicts {
		f, took := &group.finishes[i], group.runs[i].took
		of := func() context.Context { return about(ctx, f) }
		switch {
		case !v.Won:
			p.Log.WarnContext(of(), "discarded a stale result", "fence", f.Fence, "status", v.Status)
		case v.Status == penstock.StatusQueued:
			soonest = min(soonest, f.RetryIn)
			p.Log.InfoContext(of(), "item will be tried again", "kind", f.ErrorKind, "in", f.RetryIn)
		default:
			changed = append(changed, f.Job)
			if f.ChildDied && v.Status == penstock.StatusFailed {
				p.Metrics.Poisoned()
				p.Log.ErrorContext(of(), "an item is poison: it ended its child process again and again", "target", f.Target)
			}
			p.Metrics.ItemFinished(telemetry.ItemObservation{
				Tenant: f.Tenant, Model: f.Of.Model, Lane: f.Of.Lane, Status: v.Status, Wait: f.Of.QueuedFor, Total: f.Of.Age + took,
			})
			if v.JobFinished && v.PromisedIn > 0 {
				p.Metrics.EstimateDue(telemetry.EstimateObservation{Lane: f.Of.Lane, Promised: v.PromisedIn, Took: f.Of.Age + took})
			}
			if verbose {
				p.Log.DebugContext(of(), "item ended", "status", v.Status, "target", f.Target, "took", took)
			}
		}
	}
	p.Jobs.Publish(changed...)
	switch {
	case soonest <= 0:
		p.Work.Notify()
	case soonest < p.PollInterval:
		time.AfterFunc(soonest, p.Work.NotifyLocal) // the timer ends by itself: no goroutine has to wait for it
	}
}

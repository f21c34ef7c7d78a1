package work

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"penstock"
	"penstock/internal/inflight"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// MaxFinishGroup is how many ends are recorded in one transaction at the most.
const MaxFinishGroup = 512

// MaxUnrecorded is how many items may have ended and given their slots back before that is on stable storage; no
// more than there are slots. As many may run again after a crash, beside those that had a slot.
const MaxUnrecorded = recorders * MaxFinishGroup

// recorders is how many groups are recorded at a time. All ends of a job go to one of them: two groups with items
// of the same job would only wait for each other.
const recorders = 2

// recorderOf is where the ends of a job are recorded.
func (p *Pool) recorderOf(job penstock.ID) chan<- finished {
	var sum byte // ids that follow each other differ in their last characters
	for i := range len(job) {
		sum += job[i]
	}
	return p.finishes[sum%recorders]
}

const (
	// recordRetry is how long the recorder waits before it tries a group again.
	recordRetry = 200 * time.Millisecond
	// refusals is how often a group is refused before its ends are recorded one by one, and then each
	// on the side, where it is in nobody's way.
	refusals = 5
	// slowRetry is how long an end on the side waits between tries.
	slowRetry = 5 * time.Second
)

// finished is a claim that ended in this process and is not recorded yet. It says what it is the end Of.
type finished struct {
	store.Finish
	run
}

// run is how a claim was worked on.
type run struct {
	pool  *pool       // in which
	lease store.Lease // that it was claimed under
	took  time.Duration
	// memory is what its answer holds until it is recorded, nil for nothing.
	memory *inflight.Account
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

// one is the i-th of them, to be recorded by itself.
func (e *endings) one(i int) *endings {
	one := newEndings(1)
	one.add(finished{e.finishes[i], e.runs[i]})
	return one
}

// clear forgets what was recorded: it must not stay in memory.
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

// record commits ends in groups until the channel is closed: what gathered during one commit is the
// next group. It outlives the items, so that finished work is kept during a shutdown.
func (p *Pool) record(ctx context.Context, ends <-chan finished) {
	var aside sync.WaitGroup
	defer aside.Wait()
	group := newEndings(MaxFinishGroup)
	for first := range ends {
		runtime.Gosched() // lets those end, and come along, that are about to
		group.add(first)
		group.gather(ends)
		if !p.recordGroup(ctx, group, refusals) {
			// The store refuses the group again and again. If it is away, all that follows waits here; if
			// it is one end that it does not take, the others must not suffer for it.
			for i := range group.finishes {
				if one := group.one(i); !p.recordGroup(ctx, one, 1) {
					aside.Go(func() { p.recordAside(ctx, one) })
				}
			}
		}
		group.clear()
	}
}

// gather adds what has ended meanwhile, as far as the group has space.
func (e *endings) gather(ends <-chan finished) {
	for len(e.finishes) < cap(e.finishes) {
		select {
		case next, ok := <-ends:
			if !ok {
				return
			}
			e.add(next)
		default:
			return
		}
	}
}

// recordAside tries to record one end until it works, its lease is lost, or ctx ends: the result is paid
// for. Its place among the unrecorded stays taken.
func (p *Pool) recordAside(ctx context.Context, one *endings) {
	for !p.recordGroup(ctx, one, 1) {
		pause := time.NewTimer(slowRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil || one.runs[0].lease != p.Lease.Current() {
			p.Log.ErrorContext(about(ctx, &one.finishes[0]), "gave up recording a result; the item will run again")
			p.letGo(one)
			return
		}
	}
}

// letGo forgets claims whose end is recorded.
func (p *Pool) letGo(group *endings) {
	p.mu.Lock()
	for i := range group.finishes {
		f, r := &group.finishes[i], &group.runs[i]
		delete(p.held, claim{f.Item, f.Fence})
		// A claim is charged by what it was expected to use; the rest is charged or given back later.
		actual := f.Usage.InputTokens + f.Usage.OutputTokens
		p.used[account{f.Of.Lane, f.Tenant}] += actual - f.Of.Charged
		r.pool.pace.Ended(r.took)
		p.expected.Learn(f.Of.Model, f.Of.Estimate, actual)
	}
	p.mu.Unlock()
	for range group.finishes {
		<-p.ended
	}
	p.Metrics.SlotsInUse(p.slotsInUse())
}

// recordGroup tries to record a group, several times at the most, and lets go of it when that worked.
func (p *Pool) recordGroup(ctx context.Context, group *endings, tries int) bool {
	began := p.Clock()
	for range tries {
		verdicts, err := p.finish(ctx, group.finishes)
		if err == nil {
			p.Metrics.FinishGroup(len(group.finishes), p.Clock().Sub(began))
			p.report(ctx, group, verdicts)
			p.letGo(group)
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

// about is the context in which something is logged about the end of an item: with its ids, its trace, and the attempt that
// decided it.
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

// report tells readers, metrics and logs what became of a group.
func (p *Pool) report(ctx context.Context, group *endings, verdicts []store.Verdict) {
	changed := make([]penstock.ID, 0, len(verdicts))
	soonest := p.PollInterval // polling finds what is due later
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
				Model: f.Of.Model, Lane: f.Of.Lane, Status: v.Status, Wait: f.Of.QueuedFor, Total: f.Of.Age + took,
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
		time.AfterFunc(soonest, p.Work.NotifyLocal) // it ends by itself: nobody has to wait for it
	}
}

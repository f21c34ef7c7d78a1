// Package work runs claimed items in a bounded number of slots.
//
// It owns the life of a claim inside this process: the process lease and its heartbeat, the slots,
// the cancelling of running items, and the group commit of what they came to. Which item is next is
// the store's to say, what an attempt does is package attempt's, and when a failed item comes back is
// package queue's.
//
// A slot is taken before an item is claimed and given back after its end is on stable storage, so a
// store that is slow to record results slows claiming instead of piling results up in memory.
package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/queue"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// MaxClaim is how many items one claim takes at the most.
const MaxClaim = 256

// CancelInterval is how often a worker looks for running items that shall stop.
const CancelInterval = 500 * time.Millisecond

// Why a running item's context ended. They are causes, so that the end can be told apart.
var (
	errCancelled = errors.New("the job was cancelled")
	errShutdown  = errors.New("the process is stopping")
	errLeaseLost = errors.New("the process lost its lease")
	errDeadline  = errors.New("the job's deadline passed")
)

// Config bounds a pool.
type Config struct {
	Process      string        // names the holder of the lease
	Slots        int           // items that run at a time
	LeaseTimeout time.Duration // how long a dead process's items stay taken
	PollInterval time.Duration // how often to look for work without being told
	SoftStop     time.Duration // how long running items may go on once stopping begins
}

// Runner runs one inference.
type Runner interface {
	Run(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome
}

// Deps are what a pool works with.
type Deps struct {
	Store    store.Queue
	Runner   Runner
	Bell     *queue.Bell
	Announce queue.Announcer
	Metrics  *telemetry.Metrics
	Tracer   *telemetry.Tracer
	Log      *slog.Logger
	Clock    func() time.Time
}

// Pool is the worker of a process.
type Pool struct {
	Config
	Deps
	backoff  queue.Backoff
	lanes    *queue.Stride // of the goroutine that claims
	slots    chan struct{}
	finishes chan finished
	lease    atomic.Pointer[store.Lease]

	mu       sync.Mutex
	held     map[claim]context.CancelCauseFunc // from the claim until its end is recorded
	claiming bool                              // a claim is under way: the store may know more than held
	used     map[account]int64                 // tokens used beyond their estimates, not reported yet
	doubts   int                               // looks to take, since a claim's answer was lost
}

// claim names one claim of an item.
type claim struct {
	item  penstock.ID
	fence int64
}

// account is who is charged for tokens, and in which lane.
type account struct {
	lane   penstock.Lane
	tenant penstock.TenantID
}

// New returns a pool that has not begun to work.
func New(cfg Config, deps Deps) (*Pool, error) {
	if cfg.Slots <= 0 || cfg.LeaseTimeout <= 0 || cfg.PollInterval <= 0 || cfg.Process == "" {
		return nil, fmt.Errorf("a worker pool needs a process name, slots, a lease timeout and a poll interval, got %+v", cfg)
	}
	return &Pool{
		Config: cfg, Deps: deps, backoff: queue.DefaultBackoff, lanes: queue.NewStride(queue.DefaultLaneWeights),
		slots:    make(chan struct{}, cfg.Slots),
		finishes: make(chan finished, cfg.Slots),
		held:     make(map[claim]context.CancelCauseFunc),
		used:     make(map[account]int64),
	}, nil
}

// Run works until ctx ends, then drains: it stops claiming, lets running items go on for SoftStop,
// gives the rest back to the queue, records everything and releases the lease.
func (p *Pool) Run(ctx context.Context) error {
	if err := p.acquire(ctx); err != nil {
		return err
	}
	// Items, their recording and the heartbeat outlive ctx.
	lasting := context.WithoutCancel(ctx)
	workCtx, hardStop := context.WithCancelCause(lasting)
	defer hardStop(nil)
	recordCtx, stopRecording := context.WithCancel(lasting)
	defer stopRecording()
	beatCtx, stopBeat := context.WithCancel(lasting)
	defer stopBeat()

	var heartbeat, recorder sync.WaitGroup
	heartbeat.Go(func() { p.keepLease(beatCtx) })
	heartbeat.Go(func() { p.watchHeld(beatCtx) })
	recorder.Go(func() { p.record(recordCtx) })

	items := new(sync.WaitGroup)
	p.claim(ctx, workCtx, items)
	if !waitFor(items, p.SoftStop) {
		hardStop(errShutdown)
		items.Wait()
	}
	close(p.finishes)
	if !waitFor(&recorder, p.LeaseTimeout) {
		stopRecording() // the store is away: the items will be rescued
		recorder.Wait()
	}
	stopBeat()
	heartbeat.Wait()
	return p.release(lasting)
}

// waitFor waits for a group, but not longer than d. It reports whether the group is done.
func waitFor(group *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-patience.C:
		return false
	}
}

// claim fills free slots with items until ctx ends.
func (p *Pool) claim(ctx, workCtx context.Context, items *sync.WaitGroup) {
	for {
		free := p.takeSlots(ctx)
		if free == 0 {
			return
		}
		claimed := p.claimOnce(ctx, free)
		p.giveSlots(free - len(claimed))
		p.Metrics.SlotsInUse(len(p.slots))
		for _, c := range claimed {
			itemCtx, stop := context.WithCancelCause(workCtx)
			p.hold(c, stop)
			items.Go(func() {
				defer stop(nil)
				p.runItem(itemCtx, c)
			})
		}
		p.claimed()
		if len(claimed) < free && !p.awaitWork(ctx) {
			return
		}
	}
}

func (p *Pool) hold(c store.Claimed, stop context.CancelCauseFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[claim{c.Item, c.Fence}] = stop
}

// looksPerDoubt is how many looks must find nothing before a doubt is over: a commit whose answer was
// lost may still be on its way.
const looksPerDoubt = 4

// doubt makes the next looks find out what a claim whose answer was lost has taken.
func (p *Pool) doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubts = looksPerDoubt
}

// claimed says that whatever was claimed is held by now.
func (p *Pool) claimed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claiming = false
}

// takeSlots waits for one free slot and takes as many more as there are, up to MaxClaim. It takes
// none when ctx has ended.
func (p *Pool) takeSlots(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case p.slots <- struct{}{}:
	}
	taken := 1
	for taken < MaxClaim {
		select {
		case p.slots <- struct{}{}:
			taken++
		default:
			return taken
		}
	}
	return taken
}

func (p *Pool) giveSlots(n int) {
	for range n {
		<-p.slots
	}
}

// claimOnce claims up to n items. Errors are logged; the next look tries again. A claim that began is
// not given up when the pool stops: it may happen all the same, and its items must be known here.
func (p *Pool) claimOnce(ctx context.Context, n int) []store.Claimed {
	if ctx.Err() != nil {
		return nil
	}
	p.mu.Lock()
	p.claiming = true
	p.mu.Unlock()
	began := p.Clock()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.LeaseTimeout)
	defer cancel()
	lanes := p.lanes.Order()
	claimed, err := p.Store.ClaimItems(bounded, *p.lease.Load(), store.Want{Lanes: lanes, Limit: n, Corrections: p.corrections()})
	if err != nil {
		if penstock.ErrorCode(err) != penstock.CodeConflict {
			p.Log.ErrorContext(ctx, "claiming items", "error", err)
			p.doubt()
		}
		return nil
	}
	p.charge(lanes, claimed, n)
	if len(claimed) > 0 {
		p.Metrics.ClaimGroup(len(claimed), p.Clock().Sub(began))
		p.Announce.Announce(jobsOf(claimed)...)
	}
	return claimed
}

// charge tells the policy of the lanes what each was given. A lane that came before the last one served,
// or any lane while slots stay free, had nothing more to give work to.
func (p *Pool) charge(lanes []penstock.Lane, claimed []store.Claimed, wanted int) {
	given := make(map[penstock.Lane]int64, len(lanes))
	for _, c := range claimed {
		given[c.Lane] += max(c.Estimate, 1)
	}
	left := wanted - len(claimed)
	for i, lane := range lanes {
		passed := left > 0 || slices.ContainsFunc(lanes[i+1:], func(l penstock.Lane) bool { return given[l] > 0 })
		if given[lane] > 0 {
			p.lanes.Given(lane, given[lane])
		} else if passed {
			p.lanes.Idle(lane)
		}
	}
}

// corrections hands over what was used beyond its estimate. If the claim that carries them fails they
// are lost, which costs some fairness and nothing else.
func (p *Pool) corrections() []store.Correction {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []store.Correction
	for a, tokens := range p.used {
		if tokens != 0 {
			all = append(all, store.Correction{Lane: a.lane, Tenant: a.tenant, Tokens: tokens})
		}
	}
	clear(p.used)
	return all
}

// jobsOf are the jobs of claimed items, each once.
func jobsOf(claimed []store.Claimed) []penstock.ID {
	ids := make([]penstock.ID, len(claimed))
	for i, c := range claimed {
		ids[i] = c.Job
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// awaitWork blocks until there may be work. It reports false when ctx has ended.
func (p *Pool) awaitWork(ctx context.Context) bool {
	poll := time.NewTimer(p.PollInterval)
	defer poll.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-p.Bell.Rung():
	case <-poll.C:
	}
	return true
}

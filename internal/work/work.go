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

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/queue"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// MaxClaim is how many items one claim takes at the most.
const MaxClaim = 64

// CancelInterval is how often a worker looks for running items that shall stop.
const CancelInterval = 500 * time.Millisecond

// Why a running item's context ended. They are causes, so that the end can be told apart.
var (
	errCancelled   = errors.New("the job was cancelled")
	errShutdown    = errors.New("the process is stopping")
	errLeaseLost   = errors.New("the process lost its lease")
	errItemTimeout = errors.New("the item's timeout passed")
	errDeadline    = errors.New("the job's deadline passed")
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
	slots    chan struct{}
	finishes chan finished
	lease    atomic.Pointer[store.Lease]

	mu      sync.Mutex
	running map[penstock.ID]context.CancelCauseFunc
}

// New returns a pool that has not begun to work.
func New(cfg Config, deps Deps) (*Pool, error) {
	if cfg.Slots <= 0 || cfg.LeaseTimeout <= 0 || cfg.PollInterval <= 0 || cfg.Process == "" {
		return nil, fmt.Errorf("a worker pool needs a process name, slots, a lease timeout and a poll interval, got %+v", cfg)
	}
	return &Pool{
		Config: cfg, Deps: deps, backoff: queue.DefaultBackoff,
		slots:    make(chan struct{}, cfg.Slots),
		finishes: make(chan finished, cfg.Slots),
		running:  make(map[penstock.ID]context.CancelCauseFunc),
	}, nil
}

// Run works until ctx ends, then drains: it stops claiming, lets running items go on for SoftStop,
// gives the rest back to the queue, records everything and releases the lease.
func (p *Pool) Run(ctx context.Context) error {
	if err := p.acquire(ctx); err != nil {
		return err
	}
	// Items and their recording outlive ctx; hardStop ends the items.
	workCtx, hardStop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer hardStop(nil)
	beatCtx, stopBeat := context.WithCancel(context.WithoutCancel(ctx))

	var beats errgroup.Group
	beats.Go(func() error { p.beat(beatCtx); return nil })
	var recorder errgroup.Group
	recorder.Go(func() error { p.record(context.WithoutCancel(ctx)); return nil })

	items := new(sync.WaitGroup)
	p.claim(ctx, workCtx, items)
	p.drain(items, hardStop)

	close(p.finishes)
	_ = recorder.Wait()
	stopBeat()
	_ = beats.Wait()
	return p.release(context.WithoutCancel(ctx))
}

// drain waits for running items, first patiently, then by stopping them.
func (p *Pool) drain(items *sync.WaitGroup, hardStop context.CancelCauseFunc) {
	idle := make(chan struct{})
	go func() {
		items.Wait()
		close(idle)
	}()
	patience := time.NewTimer(p.SoftStop)
	defer patience.Stop()
	select {
	case <-idle:
	case <-patience.C:
		hardStop(errShutdown)
		<-idle
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
			items.Go(func() { p.runItem(workCtx, c) })
		}
		if len(claimed) < free && !p.awaitWork(ctx) {
			return
		}
	}
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

// claimOnce claims up to n items. Errors are logged; the next look tries again.
func (p *Pool) claimOnce(ctx context.Context, n int) []store.Claimed {
	began := p.Clock()
	claimed, err := p.Store.ClaimItems(ctx, *p.lease.Load(), n)
	if err != nil {
		if ctx.Err() == nil && penstock.ErrorCode(err) != penstock.CodeConflict {
			p.Log.ErrorContext(ctx, "claiming items", "error", err)
		}
		return nil
	}
	if len(claimed) > 0 {
		p.Metrics.ClaimGroup(len(claimed), p.Clock().Sub(began))
		p.Announce.Announce(jobsOf(claimed)...)
	}
	return claimed
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

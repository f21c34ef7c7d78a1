// Package work runs claimed items in a bounded number of slots.
//
// It owns the life of a claim inside this process: the slots, the cancelling of running items, and the group commit of
// their results. Package lease holds the lease under which items are claimed. The store decides which item is next,
// package attempt runs an attempt, and package queue decides when a failed item is retried.
//
// A slot is taken before an item is claimed and given back when its attempt has ended. Ended items whose result is not
// on stable storage yet are bounded too: beyond that bound an item keeps its slot, so a store that records slowly
// slows claiming, and results do not pile up in memory.
package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/fair"
	"penstock/internal/gopool"
	"penstock/internal/inflight"
	"penstock/internal/isolate"
	"penstock/internal/queue"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// MaxClaim is how many items one claim takes at the most.
const MaxClaim = 512

// CancelInterval is how often a worker looks for running items that were cancelled.
const CancelInterval = 500 * time.Millisecond

// Why a running item's context ended. They are causes, so that the ends can be distinguished.
var (
	errCancelled = errors.New("the job was cancelled")
	errShutdown  = errors.New("the process is stopping")
	errLeaseLost = errors.New("the process lost its lease")
	errDeadline  = errors.New("the job's deadline passed")
)

// Config bounds a pool.
type Config struct {
	Slots        int           // items that run at a time
	LeaseTimeout time.Duration // of the process lease: bounds calls to the store
	PollInterval time.Duration // how often to look for work without a notification
	SoftStop     time.Duration // how long running items may go on once stopping begins
	SlotPools    []SlotPool    // slots that are reserved for some models; none by default
	Suspects     int           // suspects that run at a time, in child processes; 0 for none
}

// Runner runs one inference.
type Runner interface {
	Answer(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome
}

// Isolated runs suspects, each in a child process.
type Isolated interface {
	Answer(ctx context.Context, s isolate.Suspect) isolate.Answered
}

// History reads the earlier attempts of items.
type History interface {
	Attempts(ctx context.Context, tenant penstock.TenantID, subject penstock.ID) ([]penstock.Attempt, error)
}

// Lease is the lease of this process, under which items are claimed.
type Lease interface {
	// Wait blocks until the first lease is acquired or ctx ends. It fails if there will be no lease.
	Wait(ctx context.Context) error
	// Current is the current lease, or the last one.
	Current() store.Lease
	// Held reports whether the lease is believed to be current.
	Held() bool
	// OnLoss adds a function that is called when the lease is lost, before a new one is acquired.
	OnLoss(f func())
}

// Deps are the dependencies of a pool.
type Deps struct {
	Store    store.Queue
	Ready    store.ReadyReader
	Lease    Lease
	Runner   Runner
	Isolated Isolated // with Suspects
	Gate     Gate
	Weights  func() queue.LaneWeights   // how the lanes share the slots; nil for the default
	Work     *signal.Topic[signal.None] // notified when items may be ready
	Freed    *signal.Topic[signal.None] // notified when a target has capacity again; nil for never
	Cancels  *signal.Topic[signal.None] // notified when running items may have to stop; nil for never
	Jobs     queue.Publisher            // of jobs that changed
	// History has the attempts of items in earlier claims; nil for none.
	History History
	// Open are those of the given targets that may be called; nil when all may.
	Open    func(targets []string) []string
	Used    func(c *store.Claimed, u penstock.Usage) // called with the use of each run of an item; may be nil
	Streams Log                                      // where answers are streamed to; nil to stream no answers
	Readers queue.Publisher                          // of jobs whose items streamed something; with Streams
	Answers *inflight.Pool                           // the memory of answers; nil for no bounds
	Metrics *telemetry.Metrics
	Tracer  *telemetry.Tracer
	Log     *slog.Logger
	Clock   func() time.Time
}

// Pool is the worker of a process.
type Pool struct {
	Config
	Deps
	backoff       queue.Backoff
	pools         []*pool
	ends          [recorders]*endQueue
	unrecorded    atomic.Int64 // ends that are not recorded yet and keep no slot
	maxUnrecorded int64
	deltaRecorder *deltaRecorder // nil when nothing is streamed
	suspects      atomic.Int64   // that run

	mu       sync.Mutex
	held     map[claim]context.CancelCauseFunc // from the claim until its end is recorded
	claiming int                               // claims under way: the store may have assigned items that are not held yet
	used     map[account]int64                 // tokens used beyond what was charged, not reported yet
	expected fair.Expectations
	doubts   int              // looks to make, since a claim's answer was lost
	launch   func([]*granted) // starts items; nil while the pool does not start any
	closing  bool

	running *gopool.Pool[launched]
	offers  sync.WaitGroup // that are open
}

// claim names one claim of an item.
type claim struct {
	item  penstock.ID
	fence int64
}

// account is the tenant and lane that tokens are charged to.
type account struct {
	lane   penstock.Lane
	tenant penstock.TenantID
}

// New returns a pool that does not run yet.
func New(cfg Config, deps Deps) (*Pool, error) {
	if cfg.Slots <= 0 || cfg.LeaseTimeout <= 0 || cfg.PollInterval <= 0 || deps.Lease == nil {
		return nil, fmt.Errorf("a worker pool needs slots, a lease, its timeout and a poll interval, got %+v", cfg)
	}
	if deps.Gate == nil {
		deps.Gate = open{}
	}
	if deps.Used == nil {
		deps.Used = func(*store.Claimed, penstock.Usage) {}
	}
	pools := newSlotPools(cfg, deps)
	p := &Pool{
		Config: cfg, Deps: deps, backoff: queue.DefaultBackoff, pools: pools,
		held:          make(map[claim]context.CancelCauseFunc),
		used:          make(map[account]int64),
		expected:      make(fair.Expectations),
		deltaRecorder: newDeltaRecorder(deps, cfg.LeaseTimeout),
		maxUnrecorded: int64(min(slotsOf(pools), MaxUnrecorded)),
	}
	p.running = gopool.New(p.runLaunched)
	for i := range p.ends {
		p.ends[i] = newEndQueue()
	}
	deps.Lease.OnLoss(func() { p.stopAll(errLeaseLost) })
	return p, nil
}

// Run works until ctx ends, then drains: it stops claiming, lets running items go on for SoftStop,
// returns the rest to the queue and records everything. The lease must be released after it.
func (p *Pool) Run(ctx context.Context) error {
	if err := p.Lease.Wait(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil // it was stopped before it had a lease: there is nothing to drain
	}
	// Items, their recording and watchHeld run on after ctx ends.
	lasting := context.WithoutCancel(ctx)
	recordCtx, stopRecording := context.WithCancel(lasting)
	defer stopRecording()
	watchCtx, stopWatch := context.WithCancel(lasting)
	defer stopWatch()

	var watch, recorder sync.WaitGroup
	watch.Go(func() { p.watchHeld(watchCtx) })
	for _, ends := range p.ends {
		recorder.Go(func() { p.record(recordCtx, ends) })
	}
	if p.deltaRecorder != nil {
		watch.Go(func() { p.deltaRecorder.run(watchCtx) })
	}

	p.setLaunch(p.launcher(lasting))
	var claims sync.WaitGroup
	for _, b := range p.pools {
		claims.Go(func() { p.claim(ctx, b) })
	}
	claims.Wait()
	p.stopOffers()
	if !waitFor(p.running.Busy(), p.SoftStop) {
		p.stopAll(errShutdown)
		p.running.Busy().Wait()
	}
	p.running.Dismiss()
	for _, ends := range p.ends {
		ends.close()
	}
	if !waitFor(&recorder, p.LeaseTimeout) {
		stopRecording() // the store is unavailable: another process will rescue the items
		recorder.Wait()
	}
	stopWatch()
	watch.Wait()
	return nil
}

// waitFor waits for a group, but not longer than d. It reports whether the group is done.
func waitFor(group *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	select {
	case <-done:
		return true
	case <-timeout.C:
		return false
	}
}

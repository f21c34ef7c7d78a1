package work

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"penstock/internal/provider"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/lease"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

var errAway = errors.New("the database is away")

// fakeQueue is a queue in memory that keeps the promises of store.Queue: claims need the current
// lease, ends are compare-and-set on the fence. Single methods can be made to fail or to hang.
type fakeQueue struct {
	store.Queue
	mu    sync.Mutex
	epoch int64
	items map[penstock.ID]*fakeItem
	order []penstock.ID

	fails map[string]error         // what a method answers
	hangs map[string]bool          // methods that last until their context ends
	takes map[string]time.Duration // how long methods last
	calls []string                 // in order
	ends  []store.Finish           // those that won, in order
	stale []store.Finish           // those that lost
	sizes []int                    // of finish groups that were committed
	lanes [][]penstock.Lane        // of looks for items that are ready, in order
}

type fakeItem struct {
	store.Claimed
	status    penstock.Status
	epoch     int64
	due       time.Time
	cancelled bool
}

func newQueue(items ...store.Claimed) *fakeQueue {
	q := &fakeQueue{items: map[penstock.ID]*fakeItem{}, fails: map[string]error{}, hangs: map[string]bool{}, takes: map[string]time.Duration{}}
	q.add(items...)
	return q
}

// item is an item with time for everything.
func item(id penstock.ID) store.Claimed {
	return store.Claimed{
		ClaimedJob: &store.ClaimedJob{
			Model: "fast", Lane: penstock.LaneStandard, Endpoint: penstock.EndpointChat, Resolved: penstock.Resolved{Targets: []string{"a", "b"}},
			MaxAttempts: 4, ItemTimeout: time.Hour, TimeLeft: 24 * time.Hour,
		},
		Item: id, Job: "job-" + id, Tenant: "search", Body: []byte("{}"), Reserved: 1000,
	}
}

func items(n int) []store.Claimed {
	list := make([]store.Claimed, n)
	for i := range list {
		list[i] = item(penstock.ID(fmt.Sprintf("%03d", i)))
	}
	return list
}

func (q *fakeQueue) add(items ...store.Claimed) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range items {
		q.items[c.Item] = &fakeItem{Claimed: c, status: penstock.StatusQueued}
		q.order = append(q.order, c.Item)
	}
}

// set changes the queue's behaviour.
func (q *fakeQueue) set(edit func(*fakeQueue)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	edit(q)
}

// called counts a call and applies the behaviour that was set for its method. The queue must not be locked.
func (q *fakeQueue) called(ctx context.Context, method string) error {
	q.mu.Lock()
	q.calls = append(q.calls, method)
	err, hangs, takes := q.fails[method], q.hangs[method], q.takes[method]
	q.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (q *fakeQueue) count(method string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, c := range q.calls {
		if c == method {
			n++
		}
	}
	return n
}

// give assigns an item to a lease when it is accepted.
func (q *fakeQueue) give(c store.Claimed, l store.Lease) store.Claimed {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Fence = 1
	q.items[c.Item] = &fakeItem{Claimed: c, status: penstock.StatusRunning, epoch: l.Epoch}
	return c
}

func (q *fakeQueue) AcquireLease(ctx context.Context, process string, _ time.Duration) (store.Lease, error) {
	if err := q.called(ctx, "acquire"); err != nil {
		return store.Lease{}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.epoch++
	return store.Lease{Process: process, Epoch: q.epoch}, nil
}

func (q *fakeQueue) current(l store.Lease) error {
	if l.Epoch != q.epoch {
		return penstock.Errorf(penstock.CodeConflict, "The lease is gone.")
	}
	return nil
}

func (q *fakeQueue) RenewLease(ctx context.Context, l store.Lease, _ store.Renewal) error {
	if err := q.called(ctx, "renew"); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.current(l)
}

func (q *fakeQueue) ReleaseLease(ctx context.Context, _ store.Lease) error {
	return q.called(ctx, "release")
}

func (q *fakeQueue) HeldItems(ctx context.Context, l store.Lease) ([]store.Held, error) {
	if err := q.called(ctx, "held"); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var held []store.Held
	for id, i := range q.items {
		if i.status == penstock.StatusRunning && i.epoch == l.Epoch {
			held = append(held, store.Held{Item: id, Job: i.Job, Tenant: i.Tenant, Fence: i.Fence, Cancelled: i.cancelled})
		}
	}
	return held, nil
}

// wanted says whether a claim may take an item.
func (q *fakeQueue) wanted(i *fakeItem, w store.Want, suspects bool) bool {
	return (i.Spent.Crashes >= store.SuspectCrashes) == suspects && slices.Contains(w.Lanes, i.Lane) && i.status == penstock.StatusQueued &&
		!i.due.After(time.Now()) && (len(w.Models) == 0 || slices.Contains(w.Models, i.Model)) && !slices.Contains(w.ExceptModels, i.Model) &&
		!slices.Contains(w.ExceptTenants, i.Tenant)
}

func (q *fakeQueue) ReadyItems(ctx context.Context, w store.Want) ([]store.Ready, bool, error) {
	return q.ready(ctx, w, "ready")
}

func (q *fakeQueue) ReadySuspects(ctx context.Context, w store.Want) ([]store.Ready, bool, error) {
	return q.ready(ctx, w, "ready suspects")
}

func (q *fakeQueue) ready(ctx context.Context, w store.Want, method string) ([]store.Ready, bool, error) {
	if err := q.called(ctx, method); err != nil {
		return nil, false, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if method == "ready" {
		q.lanes = append(q.lanes, w.Lanes)
	}
	var all []store.Ready
	for _, id := range q.order {
		i := q.items[id]
		if !q.wanted(i, w, method == "ready suspects") {
			continue
		}
		at := slices.IndexFunc(all, func(r store.Ready) bool { return r.Model == i.Model })
		if at < 0 {
			at, all = len(all), append(all, store.Ready{Model: i.Model})
		}
		all[at].Items = min(all[at].Items+1, w.Limit)
	}
	return all, false, nil
}

func (q *fakeQueue) ClaimItems(ctx context.Context, l store.Lease, w store.Want) ([]*store.Claimed, error) {
	return q.claim(ctx, "claim", l, w)
}

func (q *fakeQueue) ClaimSuspects(ctx context.Context, l store.Lease, w store.Want) ([]*store.Claimed, error) {
	return q.claim(ctx, "claim suspects", l, w)
}

func (q *fakeQueue) claim(ctx context.Context, method string, l store.Lease, w store.Want) ([]*store.Claimed, error) {
	if err := q.called(ctx, method); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.current(l); err != nil {
		return nil, err
	}
	var claimed []*store.Claimed
	calls, notUrgent := store.NewCalls(w), cmp.Or(w.LimitNotUrgent, w.Limit)
	for _, id := range q.order {
		i := q.items[id]
		if len(claimed) == w.Limit || !q.wanted(i, w, method == "claim suspects") || (i.Lane != penstock.LaneRealtime && notUrgent == 0) {
			continue
		}
		var ok bool
		if i.Call, _, ok = calls.Take(store.Candidate{Item: id, Tenant: i.Tenant, Model: i.Model, Lane: i.Lane, Endpoint: i.Endpoint, InputBytes: i.InputBytes}); !ok {
			continue
		}
		if i.Lane != penstock.LaneRealtime {
			notUrgent--
		}
		i.status, i.epoch = penstock.StatusRunning, l.Epoch
		i.Fence++
		claimed = append(claimed, new(i.Claimed))
	}
	return claimed, nil
}

func (q *fakeQueue) FinishItems(ctx context.Context, group []store.Finish) ([]store.Verdict, error) {
	if err := q.called(ctx, "finish"); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sizes = append(q.sizes, len(group))
	verdicts := make([]store.Verdict, len(group))
	for n, f := range group {
		i := q.items[f.Item]
		if i.status != penstock.StatusRunning || i.Fence != f.Fence {
			verdicts[n] = store.Verdict{Status: i.status}
			q.stale = append(q.stale, f)
			continue
		}
		next, err := i.status.Next(f.Transition)
		if err != nil {
			return nil, err
		}
		i.status, i.due = next, time.Now().Add(f.RetryIn)
		i.Tries += len(f.Attempts)
		i.Attempts += f.Counted
		q.ends = append(q.ends, f)
		verdicts[n] = store.Verdict{Won: true, Status: next, JobFinished: next.Terminal()}
	}
	return verdicts, nil
}

// rescue does what maintenance does to the items of expired leases.
func (q *fakeQueue) rescue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, i := range q.items {
		if i.status == penstock.StatusRunning && i.epoch != q.epoch {
			i.status = penstock.StatusQueued
		}
	}
}

// statuses counts items by status.
func (q *fakeQueue) statuses() map[penstock.Status]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := map[penstock.Status]int{}
	for _, i := range q.items {
		m[i.status]++
	}
	return m
}

// end returns how an item's last claim that won ended.
func (q *fakeQueue) end(t *testing.T, id penstock.ID) store.Finish {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range slices.Backward(q.ends) {
		if f.Item == id {
			return f
		}
	}
	t.Fatalf("item %s has not ended", id)
	return store.Finish{}
}

// runner runs items by a function, and counts how many run at a time.
type runner struct {
	run func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome

	mu            sync.Mutex
	running, most int
	started       []penstock.ID
}

func (r *runner) Answer(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
	r.mu.Lock()
	r.running++
	r.most = max(r.most, r.running)
	r.started = append(r.started, task.Subject)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.running--
		r.mu.Unlock()
	}()
	out := r.run(ctx, task, sink)
	upstream, called := errors.AsType[*provider.Error](out.Err)
	for i, a := range out.Attempts {
		kind := provider.Kind(a.ErrorKind)
		if called && kind == "" && i == len(out.Attempts)-1 {
			kind = upstream.Kind
		}
		if (called || out.Err == nil) && (kind == "" || !kind.Policy().Free) {
			out.Counted++
		}
	}
	return out
}

func (r *runner) seen() []penstock.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.started)
}

// publisher records which jobs were published.
type publisher struct {
	mu   sync.Mutex
	jobs []penstock.ID
}

func (c *publisher) Publish(jobs ...penstock.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs = append(c.jobs, jobs...)
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// rig is a running pool.
type rig struct {
	*Pool
	t         *testing.T
	member    *lease.Membership
	queue     *fakeQueue
	runner    *runner
	publisher *publisher
	log       *lines
	stop      func() error // ends the pool, then the lease, and returns their errors
}

const (
	leaseTimeout = 9 * time.Second
	pollInterval = time.Second
	softStop     = 3 * time.Second
)

func newPool(t *testing.T, slots int, q *fakeQueue, run func(context.Context, attempt.Task, attempt.Sink) attempt.Outcome) *rig {
	t.Helper()
	return newPoolOf(t, Config{Slots: slots}, Deps{Store: q, Runner: &runner{run: run}})
}

// newPoolOf completes the configuration and the dependencies of a pool.
func newPoolOf(t *testing.T, cfg Config, deps Deps) *rig {
	t.Helper()
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, queue: deps.Store.(*fakeQueue), runner: deps.Runner.(*runner), publisher: &publisher{}, log: &lines{}}
	cfg.LeaseTimeout, cfg.PollInterval, cfg.SoftStop = leaseTimeout, pollInterval, softStop
	deps.Work, deps.Jobs, deps.Metrics = signal.NewTopic[signal.None](nil, signal.Work), r.publisher, telemetry.NewMetrics("test", "")
	deps.Tracer, deps.Log, deps.Clock = tracer, slog.New(slog.NewTextHandler(r.log, nil)), time.Now
	r.member, err = lease.New(lease.Config{Process: "worker", Timeout: leaseTimeout}, lease.Deps{Store: r.queue, Metrics: deps.Metrics, Log: deps.Log, Clock: deps.Clock})
	if err != nil {
		t.Fatal(err)
	}
	deps.Lease, deps.Ready = r.member, r.queue
	r.Pool, err = New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begin runs the pool until stop, or the end of the test.
func (r *rig) begin() *rig {
	ctx, cancel := context.WithCancel(r.t.Context())
	leaseCtx, release := context.WithCancel(r.t.Context())
	done, released := make(chan error, 1), make(chan error, 1)
	go func() { released <- r.member.Run(leaseCtx) }()
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		err := <-done
		release()
		return errors.Join(err, <-released)
	})
	r.t.Cleanup(func() { _ = r.stop() })
	return r
}

// start creates a pool and runs it.
func start(t *testing.T, slots int, q *fakeQueue, run func(context.Context, attempt.Task, attempt.Sink) attempt.Outcome) *rig {
	t.Helper()
	return newPool(t, slots, q, run).begin()
}

// pass lets time pass and waits until everything that happens in it is done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantStatuses compares how many items there are in each status.
func (r *rig) wantStatuses(want map[penstock.Status]int) {
	r.t.Helper()
	got := r.queue.statuses()
	for _, s := range penstock.Statuses {
		if got[s] != want[s] {
			r.t.Errorf("%d items are %s, want %d", got[s], s, want[s])
		}
	}
}

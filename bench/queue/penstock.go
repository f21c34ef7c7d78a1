package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/app"
	"penstock/internal/attempt"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/lease"
	"penstock/internal/queue"
	"penstock/internal/route"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
	"penstock/internal/work"
)

// slots is how many items run at a time, on either side.
const slots = 500

// instance is a Penstock without its HTTP listeners: the real store, worker, maintenance and attempts over
// a provider that does nothing.
type instance struct {
	store      *app.Store
	work       *signal.Topic[signal.None]
	pool       *work.Pool
	lease      *lease.Membership
	maintainer *queue.Maintainer
	data       string
	ids        penstock.IDs
	body       []byte // of items that need not be distinguished
	serial     atomic.Int64
	done       atomic.Int64
	groups     groupSizes
}

// instanceConfig says what to measure.
type instanceConfig struct {
	database string // URL of PostgreSQL; "" for SQLite
	slots    int
	upstream noop
	tenants  []penstock.Tenant
	dir      string // parent of the data directory
	process  string // names the worker; "" for the only one
	data     string // data directory that workers share; "" for one of its own
}

func openInstance(ctx context.Context, c instanceConfig) (*instance, error) {
	data, err := c.data, error(nil)
	if data == "" {
		if data, err = os.MkdirTemp(c.dir, "penstock-bench-data-"); err != nil {
			return nil, err
		}
	}
	in := &instance{data: data, work: signal.NewTopic[signal.None](nil, signal.Work), body: prompt(label{tenant: "bench"}, promptWords)}
	snapshot, err := config.NewSnapshot(config.File{
		Process:   config.Process{Data: data, Database: config.NewSecret(c.database), Work: config.Work{Slots: c.slots}},
		Providers: map[string]config.ProviderConfig{"noop": {Kind: config.KindOpenAI}},
		Targets: map[string]config.TargetConfig{"noop": {Provider: "noop", UpstreamModel: "noop",
			Price: config.Price{Input: "0.15", Output: "0.60"}}},
		Models: map[string]config.ModelConfig{"noop": {Targets: []string{"noop"}}},
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	open := app.OpenStore
	if c.data != "" {
		open = app.InspectStore // beside the one whose data it is
	}
	if in.store, err = open(ctx, snapshot.Process); err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	if err := in.connect(ctx, c, snapshot); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (in *instance) connect(ctx context.Context, c instanceConfig, snapshot *config.Snapshot) error {
	if err := in.store.SaveTenants(ctx, c.tenants); err != nil {
		return err
	}
	tracer, err := telemetry.NewTracer(ctx, telemetry.TraceConfig{})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	metrics, jobs := telemetry.NewMetrics("bench", ""), signal.NewTopic[penstock.ID](nil, signal.Jobs)
	runner := attempt.New(attempt.Deps{
		Config: config.NewLive(snapshot), Providers: &c.upstream, Router: route.New(capacity.New(capacity.Config{Clock: time.Now, Log: log})),
		Metrics: metrics, Tracer: tracer, Log: log, Clock: time.Now,
	})
	w := snapshot.Process.Work
	counted := counting{Queue: in.store, in: in}
	in.lease, err = lease.New(lease.Config{Process: cmp.Or(c.process, "bench"), Timeout: w.LeaseTimeout},
		lease.Deps{Store: in.store, Metrics: metrics, Log: log, Clock: time.Now})
	if err != nil {
		return err
	}
	in.pool, err = work.New(
		work.Config{Slots: c.slots, LeaseTimeout: w.LeaseTimeout, PollInterval: w.PollInterval, SoftStop: time.Second},
		work.Deps{Store: counted, Ready: in.store, Lease: in.lease, Runner: runner, Work: in.work, Jobs: jobs, Metrics: metrics, Tracer: tracer, Log: log, Clock: time.Now})
	if err != nil {
		return err
	}
	in.maintainer, err = queue.NewMaintainer(queue.MaintainerDeps{
		Store: in.store, Budgets: in.store, Work: in.work, Jobs: jobs, Metrics: metrics, Log: log, Interval: time.Second,
	})
	return err
}

// counting counts the items whose outcome was committed.
type counting struct {
	store.Queue
	in *instance
}

func (c counting) FinishItems(ctx context.Context, group []store.Finish) ([]store.Verdict, error) {
	began := time.Now()
	verdicts, err := c.Queue.FinishItems(ctx, group)
	if err != nil {
		return nil, err
	}
	ended := int64(0)
	for _, v := range verdicts {
		if v.Won && v.Status == penstock.StatusSucceeded {
			ended++
		}
	}
	c.in.groups.finished(len(group), time.Since(began))
	c.in.done.Add(ended)
	return verdicts, nil
}

func (c counting) ClaimItems(ctx context.Context, l store.Lease, w store.Want) ([]*store.Claimed, error) {
	began := time.Now()
	claimed, err := c.Queue.ClaimItems(ctx, l, w)
	if len(claimed) > 0 {
		c.in.groups.claimed(len(claimed), time.Since(began))
	}
	return claimed, err
}

// groupSizes says how much travelled together, and for how long.
type groupSizes struct{ claims, claimedItems, claimTime, finishes, finishedItems, finishTime atomic.Int64 }

func (g *groupSizes) claimed(n int, took time.Duration) {
	g.claims.Add(1)
	g.claimedItems.Add(int64(n))
	g.claimTime.Add(took.Microseconds())
}

func (g *groupSizes) finished(n int, took time.Duration) {
	g.finishes.Add(1)
	g.finishedItems.Add(int64(n))
	g.finishTime.Add(took.Microseconds())
}

func (g *groupSizes) String() string {
	mean := func(items, groups int64) float64 { return float64(items) / float64(max(groups, 1)) }
	return fmt.Sprintf("%.0f items a claim in %.1f ms, %.0f a finish in %.1f ms",
		mean(g.claimedItems.Load(), g.claims.Load()), mean(g.claimTime.Load(), g.claims.Load())/1000,
		mean(g.finishedItems.Load(), g.finishes.Load()), mean(g.finishTime.Load(), g.finishes.Load())/1000)
}

// order is a job to be made.
type order struct {
	tenant penstock.TenantID
	key    string
	items  int
	body   []byte        // of every item; nil for distinguishable prompts
	words  int           // of each of those
	lane   penstock.Lane // "" for standard
	serial int64         // of the first item; 0 for the next one that is free
}

// job is a submission as admission would make it.
func (in *instance) job(o order) store.Submission {
	s := store.Submission{
		Job: penstock.Job{
			ID: in.ids.New(time.Now()), Tenant: o.tenant, Key: o.key, Endpoint: penstock.EndpointChat, Model: "noop",
			Lane: cmp.Or(o.lane, penstock.LaneStandard), MaxAttempts: 4, ItemTimeout: 10 * time.Minute,
			Resolved: penstock.Resolved{Config: "bench", Model: "noop", Policy: "ordered", Targets: []string{"noop"}},
		},
		DeadlineIn: 24 * time.Hour,
		Items:      make([]store.NewItem, o.items),
	}
	first := o.serial
	if first == 0 {
		first = in.serial.Add(int64(o.items)) - int64(o.items)
	}
	for i := range s.Items {
		body := o.body
		if body == nil {
			body = prompt(label{o.tenant, first + int64(i)}, o.words)
		}
		s.Items[i] = store.NewItem{Body: body, EstimateTokens: int64(len(body)) + maxOutput, Reserved: 80_000}
	}
	return s
}

// submit accepts a job and starts it, as the API does after it has sent the answer.
func (in *instance) submit(ctx context.Context, o order) error {
	s := in.job(o)
	job, err := admit.Submitter{Jobs: in.store, Starter: in.pool, Work: in.work}.Submit(ctx, s.Job.Tenant, s)
	if err == nil {
		job.Begin()
	}
	return err
}

// Submit implements contender.
func (in *instance) Submit(ctx context.Context, items int) error {
	return in.submit(ctx, order{tenant: "bench", key: "bench", items: items, body: in.body})
}

// SubmitOne implements contender.
func (in *instance) SubmitOne(ctx context.Context, serial int64) error {
	return in.submit(ctx, order{tenant: "bench", key: "bench", items: 1, words: promptWords, serial: serial})
}

// Work implements contender.
func (in *instance) Work(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { _ = in.maintainer.Run(ctx) }) // it ends with ctx and has nothing to report
	leaseCtx, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	released := make(chan error, 1)
	go func() { released <- in.lease.Run(leaseCtx) }()
	err := in.pool.Run(ctx)
	release()
	err = errors.Join(err, <-released)
	group.Wait()
	return err
}

// Done implements contender.
func (in *instance) Done() int64 { return in.done.Load() }

// Audit implements contender: every outcome is settled once, and the ledger adds up.
func (in *instance) Audit(ctx context.Context) (int64, error) {
	report, err := in.store.VerifyLedger(ctx)
	if err == nil && len(report.Problems) > 0 {
		err = fmt.Errorf("the ledger is wrong: %s", report.Problems[0])
	}
	return report.Items, err
}

// Notes implements contender.
func (in *instance) Notes() string { return in.groups.String() }

// Close implements contender.
func (in *instance) Close() error { return errors.Join(in.store.Close(), os.RemoveAll(in.data)) }

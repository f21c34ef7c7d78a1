// Package app constructs and connects the services of Penstock. Besides the command line, only this package names
// engines and adapters. `penstock serve`, `penstock dev` and end-to-end tests all start here.
//
// It owns the order of start and stop. At the start it opens the store, then the listeners, then claims work. At the
// stop it becomes unready, ends the listeners and the workers, then the records, and closes the store last.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/admin"
	"penstock/internal/admit"
	"penstock/internal/api"
	"penstock/internal/attachment"
	"penstock/internal/attempt"
	"penstock/internal/backlog"
	"penstock/internal/batch"
	"penstock/internal/budget"
	"penstock/internal/capacity"
	"penstock/internal/collect"
	"penstock/internal/config"
	"penstock/internal/control"
	"penstock/internal/conversation"
	"penstock/internal/deliver"
	"penstock/internal/directory"
	"penstock/internal/disk"
	"penstock/internal/file"
	"penstock/internal/filter"
	"penstock/internal/identity"
	"penstock/internal/identity/service"
	"penstock/internal/inflight"
	"penstock/internal/isolate"
	"penstock/internal/journal"
	"penstock/internal/lease"
	"penstock/internal/limit"
	"penstock/internal/live"
	"penstock/internal/overflow"
	"penstock/internal/playground"
	"penstock/internal/prompt"
	"penstock/internal/queue"
	"penstock/internal/record"
	"penstock/internal/reload"
	"penstock/internal/request"
	"penstock/internal/rest"
	"penstock/internal/retain"
	"penstock/internal/rollup"
	"penstock/internal/route"
	"penstock/internal/segment"
	"penstock/internal/sign"
	"penstock/internal/signal"
	"penstock/internal/supervise"
	"penstock/internal/telemetry"
	"penstock/internal/upload"
	"penstock/internal/usage"
	"penstock/internal/webhook"
	"penstock/internal/work"
)

// Options say what to run.
type Options struct {
	Config *config.Snapshot
	// Role is the part of the work that this process does; RoleAll when empty.
	Role Role
	// Load reads the configuration again for a reload; nil when there is no file to read.
	Load func() (*config.Snapshot, error)
	// Each value from Reload requests a reload; may be nil.
	Reload <-chan struct{}
	Log    io.Writer
	Ready  func(Addresses) // called once, when the process accepts work; may be nil
	// AnyAdmin lets the admin listener use another port on loopback when its address is in use.
	AnyAdmin bool
	// Requests gets a line for each request to the API; nil for none.
	Requests io.Writer
	// SignInLink is called with the token of a one-time link that signs in as an administrator; nil to make none.
	SignInLink func(token string)
	// NewAdminKey is called with the admin key when one was generated, which happens once for a data directory; may be nil.
	NewAdminKey func(secret string)
	Commit      string
	// Child is the command that starts a child process for suspects; the command calls RunChild. When it is empty, this
	// process runs no suspects and leaves them to other processes.
	Child []string
	// Filters check all input and output text; nil for none. Child processes get theirs from RunChild.
	Filters *filter.Chain
}

// Addresses are base URLs, such as http://127.0.0.1:8080.
type Addresses struct {
	API, Admin string
	// AdminInUse is the configured address of the admin API if another program listens there, and Admin is elsewhere.
	AdminInUse string
}

// app is a process under construction.
type app struct {
	Options
	startedAt  time.Time
	live       *config.Live
	log        *slog.Logger
	metrics    *telemetry.Metrics
	tracer     *telemetry.Tracer
	store      *Store
	providers  *registry
	bus        *signal.Bus
	topics     topics
	controls   *control.View
	directory  *directory.Directory
	throttle   *directory.Throttle
	operators  *directory.Operators
	people     *identity.Service
	services   *service.Callers
	reloader   *reload.Reloader
	admin      *admin.Server
	backlog    *backlog.View
	load       *backlog.Load
	hub        *live.Hub
	past       *rollup.Recorder
	overviews  *rollup.Overviews
	daily      *usage.Daily
	waiting    *work.Waiting
	readiness  *readiness
	recorder   *record.Recorder
	journal    *journal.Journal // nil in a worker
	turns      *conversation.Service
	resolver   *prompt.Resolver
	playground *playground.Service // nil in a worker
	uploads    *upload.Service
	api        *api.Server // nil in a worker
	lease      *lease.Membership
	pool       *work.Pool // nil in a process without workers
	maintainer *queue.Maintainer
	capacity   *capacity.Tracker
	budgets    *budget.Reserver
	scopes     *capacity.Tracker // the limit scopes of callers
	limits     *limit.Limiter
	router     *route.Router
	runner     *attempt.Runner
	overflow   *admit.Overflow
	children   *supervise.Pool // nil where no suspects run
	isolated   *isolate.Runner
	sweeper    *retain.Sweeper
	segments   *segment.Builder
	disks      *disk.Watcher
	files      *file.Service
	bodies     *inflight.Pool // the memory of request bodies
	answers    *inflight.Pool // the memory of upstreams' answers
	splitter   *batch.Splitter
	finisher   *batch.Finisher
	webhooks   *webhook.Runner
	closers    []func() error // in the order of opening
}

// Run serves until ctx ends and then drains within the configured grace period.
func Run(ctx context.Context, o Options) error {
	o.Role = cmp.Or(o.Role, RoleAll)
	a := &app{Options: o, startedAt: time.Now().UTC(), live: config.NewLive(o.Config)}
	err := a.open(ctx)
	if err == nil {
		err = a.run(ctx)
	}
	return errors.Join(err, a.close())
}

// open creates everything that run uses.
func (a *app) open(ctx context.Context) error {
	p := a.Config.Process
	if err := a.Role.check(p); err != nil {
		return err
	}
	a.log = telemetry.NewLogger(a.Log, telemetry.LogConfig{Level: logLevel(p.Log.Level), Format: telemetry.LogFormat(p.Log.Format)})
	a.metrics = telemetry.NewMetrics(penstock.Version, a.Commit)
	var err error
	a.tracer, err = telemetry.NewTracer(ctx, telemetry.TraceConfig{
		OTLPEndpoint: p.Tracing.OTLPEndpoint, SampleRatio: p.Tracing.SampleRatio, Version: penstock.Version, Logger: a.log,
	})
	if err != nil {
		return fmt.Errorf("starting tracing: %w", err)
	}
	a.closers = append(a.closers, func() error { return a.tracer.Shutdown(context.WithoutCancel(ctx)) })

	if a.store, err = OpenStore(ctx, p); err != nil {
		return err
	}
	a.closers = append(a.closers, a.store.Close)
	a.providers = newRegistry(a.live, a.watchKeys)
	if err := a.providers.check(a.Config); err != nil {
		return err
	}
	if err := a.remember(ctx, a.Config); err != nil {
		return err
	}
	if err := a.openJournal(); err != nil {
		return err
	}
	if err := a.connect(); err != nil {
		return err
	}
	a.replayer().replay(ctx)
	a.connectReloader()
	if err := a.connectAdmin(); err != nil {
		return err
	}
	// The views are read once before anything starts: paused work must not start, and valid keys must not be refused.
	return errors.Join(a.controls.Refresh(ctx), a.directory.Refresh(ctx), a.people.Refresh(ctx), offerLink(ctx, a))
}

// connect creates the stages with their dependencies.
func (a *app) connect() (err error) {
	p := a.Config.Process
	a.connectProcesses()
	a.past, a.daily = newRecorder(a), usage.NewDaily(a.store, a.store, time.Now)
	if err := connectPeople(a); err != nil {
		return err
	}
	if err := a.connectLease(); err != nil {
		return err
	}
	a.readiness = newReadiness(a.probe, a.log)
	a.recorder = record.New(record.Deps{Store: a.store, Journal: a.journal, Added: a.past.RequestEnded, Log: a.log})
	a.turns = conversation.New(conversation.Deps{Responses: a.store.turns, Conversations: a.store.turns, Items: a.store.turns, Jobs: a.store.turns, Log: a.log, Clock: time.Now})
	a.capacity = a.newCapacity(time.Now)
	a.connectLimits(time.Now)
	a.connectMemory()
	a.router = route.New(a.capacity)
	a.budgets = budget.New(budget.Deps{
		Store: a.store, Lease: a.lease.Current, Metrics: a.metrics, Log: a.log, Clock: time.Now,
	})
	if err := a.connectFiles(); err != nil {
		return err
	}
	if err := errors.Join(a.connectRetention(), a.connectWebhooks()); err != nil {
		return err
	}
	a.backlog, err = backlog.New(backlog.Deps{
		Source: a.store, Limits: queueLimits{a.live, a.directory}, Processes: a.store.Processes, Failed: a.metrics.LoadUnread, Log: a.log, Clock: time.Now,
	})
	if err != nil {
		return err
	}
	a.waiting = work.NewWaiting(work.WaitingDeps{
		Process: a.store.process, Works: a.Role.works(), Config: a.live, Controls: a.controls, Targets: a.capacity, Backlog: a.backlog, Clock: time.Now,
	})
	cutter := new(overflow.Cutter)
	a.runner = attempt.New(attempt.Deps{
		Config: a.live, Providers: a.providers, Translator: translator{}, Router: a.router, Filters: a.Filters, Overflow: cutter, Answers: a.answers, Metrics: a.metrics, Tracer: a.tracer, Log: a.log, Clock: time.Now,
	})
	a.overflow = &admit.Overflow{Cutter: cutter, Serves: a.runner.Serves}
	if err := a.connectBatches(); err != nil {
		return err
	}
	if err := a.connectSuspects(); err != nil {
		return err
	}
	if err := a.connectPool(a.runner); err != nil {
		return err
	}
	a.connectLoad()
	if a.Role.serves() {
		if err := a.connectAPI(a.runner); err != nil {
			return err
		}
	}
	a.maintainer, err = queue.NewMaintainer(queue.MaintainerDeps{
		Store: a.store, Budgets: a.store, Work: a.topics.work, Jobs: a.topics, Metrics: a.metrics, Log: a.log, Interval: maintenanceInterval(p.Work.LeaseTimeout),
	})
	(&collect.Collector{Queue: a.store, Targets: a.capacity, Callers: a.scopes, Metrics: a.metrics}).Register()
	return err
}

func (a *app) connectAPI(runner *attempt.Runner) (err error) {
	var starter admit.Starter // jobs start as they are accepted, in the slots of this process
	if a.pool != nil {
		starter = a.pool
	}
	links, err := sign.New(a.store.keys)
	if err != nil {
		return fmt.Errorf("preparing links: %w", err)
	}
	admission := admit.New(admit.Deps{
		Config: a.live, Principals: a.directory, Jobs: a.store, Retries: a.store, Balances: a.store, Disk: a.disks, Backlog: a.backlog, Work: a.topics.work, Starter: starter, Controls: a.controls,
		Limits: a.limits, Files: attachment.New(a.files), Filters: a.Filters, Overflow: a.overflow, Metrics: a.metrics, Clock: time.Now,
	})
	requests := request.New(request.Deps{
		Config: a.live, Admit: admission, Budgets: a.budgets, Runner: runner, Recorder: a.recorder, Cache: a.newCache(), Status: rest.Status,
		Metrics: a.metrics, Clock: time.Now,
	})
	prompts := newPrompts(a)
	a.playground = newPlayground(a, prompts, requests)
	surfaces := []rest.Surface{api.Surface(), admin.Surface()}
	documents, err := rest.NewDocuments(surfaces...)
	if err != nil {
		return err
	}
	a.api, err = api.New(api.Deps{
		Documents: documents,
		Files:     a.files, Uploads: a.uploads, Storage: a.store, RefusingUploads: a.disks.UploadRefusal, Links: links, Batches: a.store,
		Config: a.live, Usage: usage.New(a.store), Admit: admission, Requests: requests, Records: a.store, Origins: a.live.Current().Process.CORS.Origins, Jobs: a.store, Summaries: a.store, ItemSearches: a.store, Inputs: a.store, Deleter: a.store, DeadLetters: a.store, Webhooks: a.webhookService(), Conversations: a.turns, Prompts: prompts, Playground: a.playground,
		Bodies: a.bodies, Keys: a.services, Backlog: a.backlog, Live: a.hub, Overviews: a.overviews, Daily: a.daily, Balances: a.store, Queue: a.backlog.Tenant, TargetState: a.load.StateOf, WaitingOn: a.waiting.Reason, Reader: deliver.NewReader(a.store, a.topics.jobs),
		Credentials: rest.Credentials{a.people, a.services}, People: a.people, Features: rest.Features(surfaces...),
		Throttle: a.throttle, Cancelled: a.cancelled, Ready: a.readiness.check, Refusing: a.disks.Refusal, Draining: a.readiness.stopping,
		Metrics: a.metrics, Tracer: a.tracer, Log: a.log, Clock: time.Now,
	})
	return err
}

func (a *app) connectPool(runner *attempt.Runner) (err error) {
	if !a.Role.works() {
		return nil
	}
	p, suspects := a.Config.Process, 0
	if a.isolated != nil {
		suspects = p.Work.Suspects
	}
	a.pool, err = work.New(work.Config{
		Slots: p.Work.Slots, LeaseTimeout: p.Work.LeaseTimeout, PollInterval: p.Work.PollInterval,
		SoftStop: softStop(p.ShutdownGrace), SlotPools: slotPools(p.Work.Pools), Suspects: suspects,
	}, work.Deps{
		Store: a.store, Ready: a.store, Lease: a.lease, History: a.store, Runner: runner, Isolated: a.isolated, Gate: work.NewTargetGate(work.GateDeps{Config: a.live, Controls: a.controls, Router: a.router, Upstreams: runner}), Weights: work.LaneWeights(a.live), Open: a.controls.Open, Work: a.topics.work, Freed: a.router.Freed(), Jobs: a.topics, Cancels: a.topics.cancels,
		Answers: a.answers, Used: a.usedByItem, Streams: a.store, Readers: a.topics.jobs, Metrics: a.metrics, Tracer: a.tracer, Log: a.log, Clock: time.Now,
	})
	return err
}

// maintenanceInterval is short, so that the items of a stopped worker are recovered soon after its lease ends.
func maintenanceInterval(lease time.Duration) time.Duration {
	return max(50*time.Millisecond, min(lease/4, time.Second))
}

// softStop leaves a fifth of the grace period for cutting calls that do not end by themselves.
func softStop(grace time.Duration) time.Duration { return grace * 4 / 5 }

// run opens the listeners and works until ctx ends or a part fails.
func (a *app) run(ctx context.Context) error {
	a.disks.Look(ctx)
	listeners, err := a.listen()
	if err != nil {
		return err
	}
	if lines := listeners.lines; lines != nil {
		go func() { _ = lines.run(ctx) }() // it ends with ctx, and may wait for a terminal until then
	}
	front, frontCtx := errgroup.WithContext(ctx)
	// The back records the last results of the front, so it stops after the front.
	backCtx, stopBack := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBack()
	var back errgroup.Group
	// The lease is released last: the front and the back hold their items under it.
	leaseCtx, stopLease := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLease()
	var leased errgroup.Group
	leased.Go(func() error { return a.lease.Run(leaseCtx) })
	back.Go(func() error { return a.recorder.Run(backCtx) })
	back.Go(func() error { return a.replayer().run(backCtx) })
	back.Go(func() error { return a.turns.Run(backCtx) })
	back.Go(func() error { return a.maintainer.Run(backCtx) })
	back.Go(func() error { return a.capacity.Run(backCtx) })
	back.Go(func() error { return a.budgets.Run(backCtx) })
	back.Go(func() error { return a.scopes.Run(backCtx) })
	for _, run := range []func(context.Context) error{a.bus.Run, a.controls.Run, a.directory.Run, a.people.Run, a.backlog.Run, a.hub.Run, a.past.Run, a.resolver.Run} {
		back.Go(func() error { return run(backCtx) })
	}
	stored := &collect.StoredWatch{Source: a.store}
	a.metrics.CollectStored(stored.Status)
	back.Go(func() error { return stored.Run(backCtx) })
	back.Go(func() error { return a.webhooks.Run(backCtx) })
	if a.children != nil {
		back.Go(func() error { return a.children.Run(backCtx) })
	}
	back.Go(func() error { return listeners.serveAdmin(backCtx) })
	front.Go(func() error { return a.reloader.Follow(frontCtx, a.Reload) })
	for _, run := range []func(context.Context) error{a.reloader.WarnOfLosses, a.sweeper.Run, a.segments.Run, a.disks.Run} {
		front.Go(func() error { return run(frontCtx) })
	}
	listenCtx, closeListener := context.WithCancel(context.WithoutCancel(ctx))
	defer closeListener()
	front.Go(func() error {
		a.announceStop(frontCtx, closeListener)
		return nil
	})
	front.Go(func() error { return a.announceReady(frontCtx, listeners.addresses) })
	if a.pool != nil {
		front.Go(func() error { return a.pool.Run(frontCtx) })
		front.Go(func() error { return a.splitter.Run(frontCtx) })
	}
	front.Go(func() error { return a.finisher.Run(frontCtx) })
	if a.api != nil {
		front.Go(func() error { return listeners.serveAPI(listenCtx) })
		front.Go(func() error { return a.services.Run(frontCtx) })
		front.Go(func() error { return a.playground.Run(frontCtx) })
	}
	a.log.InfoContext(ctx, "serving", "role", a.Role, "api", listeners.addresses.API, "admin", listeners.addresses.Admin,
		"config", a.Config.Hash, "version", penstock.Version)
	err = front.Wait()
	stopBack()
	err = errors.Join(err, back.Wait())
	stopLease()
	if leaseErr := leased.Wait(); err == nil { // a lease that was never acquired has ended the front
		err = leaseErr
	}
	return err
}

// notice is how long the API reports that it is stopping before it closes its listener, so that a
// load balancer can react.
const notice = 500 * time.Millisecond

// announceStop waits for the end, makes the process unready, and closes the listener a little later.
func (a *app) announceStop(ctx context.Context, closeListener func()) {
	<-ctx.Done()
	a.readiness.drain()
	a.log.InfoContext(ctx, "stopping", "grace", a.Config.Process.ShutdownGrace)
	time.AfterFunc(min(notice, a.Config.Process.ShutdownGrace/10), closeListener)
}

// close undoes open, in reverse order.
func (a *app) close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	return errors.Join(errs...)
}

func logLevel(name string) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return slog.LevelInfo // the configuration was checked: this is its default
	}
	return level
}

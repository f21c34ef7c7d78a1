// Package lease holds the membership of this process in the cluster: one lease row in the database, renewed by a heartbeat.
//
// Items, permits and local allowances that a process takes belong to its current lease. When the lease ends, other
// processes take them over. The package owns the lease's life: acquire, renew, lose, acquire anew, release. It does not
// know what is held under the lease.
//
// Invariants:
//   - A process uses one epoch at a time. Each acquisition gets a higher epoch, so that writes under an older epoch fail.
//   - [Membership.Held] is false from the moment that the loss is noticed until the next epoch is acquired. The functions
//     of [Membership.OnLoss] run before the next epoch is acquired, so that nothing of the old epoch is mistaken for the new.
//   - A lease that could not be renewed for its whole timeout counts as lost, even if the database never said so.
//   - The lease is released last: [Membership.Run] keeps renewing until its context ends.
//
// A Membership is safe for concurrent use. Current and Held take no lock. Run is the only goroutine that changes the lease.
package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

const (
	// acquireRetry is the pause between two attempts to acquire the lease.
	acquireRetry = 200 * time.Millisecond
	// startTimeout is how long a start tries to acquire the lease. A busy or starting database is waited for, however
	// short the lease is.
	startTimeout = 30 * time.Second
	// renewals is how many heartbeats fit into one timeout.
	renewals = 3
)

// Config names the process and bounds its lease.
type Config struct {
	Process string        // the holder's name
	Timeout time.Duration // how long a lease lasts without a renewal
}

// Store keeps the leases of all processes.
type Store interface {
	AcquireLease(ctx context.Context, process string, ttl time.Duration) (store.Lease, error)
	RenewLease(ctx context.Context, l store.Lease, r store.Renewal) error
	ReleaseLease(ctx context.Context, l store.Lease) error
}

// Deps are the dependencies of a Membership.
type Deps struct {
	Store Store
	// Report describes this process with each heartbeat. The TTL of its result is ignored. Nil reports nothing.
	Report  func() store.Renewal
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	Clock   func() time.Time
}

// Membership is the lease of this process.
type Membership struct {
	Config
	Deps
	current  atomic.Pointer[store.Lease] // the current lease, or the last one
	held     atomic.Bool
	onLoss   []func()
	acquired chan struct{} // closed when the first acquisition succeeded or failed for good
	failure  error         // why it failed; read after acquired is closed
}

// New returns a membership that holds no lease before Run.
func New(cfg Config, deps Deps) (*Membership, error) {
	if cfg.Process == "" || cfg.Timeout <= 0 {
		return nil, fmt.Errorf("a lease needs a process name and a timeout, got %+v", cfg)
	}
	return &Membership{Config: cfg, Deps: deps, acquired: make(chan struct{})}, nil
}

// OnLoss adds a function that is called when the lease is lost. It must be called before Run; f must not block.
func (m *Membership) OnLoss(f func()) { m.onLoss = append(m.onLoss, f) }

// Current returns the current lease, or the last one; the zero Lease before the first acquisition.
func (m *Membership) Current() store.Lease {
	if l := m.current.Load(); l != nil {
		return *l
	}
	return store.Lease{}
}

// Interval is how often the heartbeat reports.
func (c Config) Interval() time.Duration { return c.Timeout / renewals }

// Held reports whether this process believes that its lease is current.
func (m *Membership) Held() bool { return m.held.Load() }

// Wait blocks until the first lease is acquired. It returns the error of Run if the lease could not be acquired, and nil
// if ctx ended first.
func (m *Membership) Wait(ctx context.Context) error {
	select {
	case <-m.acquired:
		return m.failure
	case <-ctx.Done():
		return nil
	}
}

// Run acquires the lease, renews it until ctx ends, and releases it.
func (m *Membership) Run(ctx context.Context) error {
	m.failure = m.start(ctx)
	close(m.acquired)
	if ctx.Err() != nil && m.current.Load() == nil {
		return nil // stopped before it held a lease: there is nothing to release
	}
	if m.failure != nil {
		return m.failure
	}
	m.heartbeat(ctx)
	return m.release(context.WithoutCancel(ctx))
}

// start acquires the first epoch.
func (m *Membership) start(ctx context.Context) error {
	began := m.Clock()
	for {
		err := m.acquire(ctx)
		if err == nil || ctx.Err() != nil || m.Clock().Sub(began) >= startTimeout {
			return err
		}
		m.Log.WarnContext(ctx, "still waiting for the process lease", "error", err)
	}
}

// acquire takes a new epoch. It retries for as long as a lease lasts: a database that is starting, or that lost a
// connection, may answer the next time.
func (m *Membership) acquire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	l, err := m.Store.AcquireLease(ctx, m.Process, m.Timeout)
	for err != nil {
		pause := time.NewTimer(acquireRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("acquiring the process lease: %w", err)
		}
		l, err = m.Store.AcquireLease(ctx, m.Process, m.Timeout)
	}
	m.current.Store(&l)
	m.held.Store(true)
	m.Log.InfoContext(ctx, "acquired the process lease", "process", l.Process, "epoch", l.Epoch)
	return nil
}

// heartbeat renews the lease of the whole process until ctx ends. A lost lease is acquired anew.
func (m *Membership) heartbeat(ctx context.Context) {
	ticker := time.NewTicker(m.Interval())
	defer ticker.Stop()
	renewed := m.Clock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := m.Clock()
		renew := m.renew
		if !m.held.Load() {
			renew = m.acquire
		}
		err := renew(ctx)
		switch {
		case err == nil:
			renewed = began
		case ctx.Err() != nil:
			return
		case !m.held.Load():
			m.Log.ErrorContext(ctx, "acquiring a new process lease", "error", err)
		case penstock.ErrorCode(err) == penstock.CodeConflict || m.Clock().Sub(renewed) >= m.Timeout:
			m.lose(ctx, err)
			ticker.Reset(m.Interval())
			if err := m.acquire(ctx); err == nil {
				renewed = m.Clock()
			}
		default:
			m.Log.WarnContext(ctx, "renewing the process lease", "error", err)
		}
	}
}

// lose notes that the lease is gone and tells the functions of OnLoss.
func (m *Membership) lose(ctx context.Context, err error) {
	m.held.Store(false)
	m.Metrics.LeaseLost()
	m.Log.ErrorContext(ctx, "lost the process lease; stopping what ran under it", "error", err)
	for _, f := range m.onLoss {
		f()
	}
}

func (m *Membership) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.Interval())
	defer cancel()
	var renewal store.Renewal
	if m.Report != nil {
		renewal = m.Report()
	}
	renewal.TTL = m.Timeout
	return m.Store.RenewLease(ctx, m.Current(), renewal)
}

func (m *Membership) release(ctx context.Context) error {
	m.held.Store(false)
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	if err := m.Store.ReleaseLease(ctx, m.Current()); err != nil {
		return fmt.Errorf("releasing the process lease: %w", err)
	}
	return nil
}

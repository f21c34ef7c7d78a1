// Package backlog is the view that a process has of the whole queue in memory: its depth, its drain rate, whether a job
// fits, and when a job will be done.
//
// It owns the policies over these numbers: the check of bounds at admission, the estimates, and the number of slots
// that the queue needs. The numbers come from the store, and the bounds from the configuration. The policies are pure
// functions over a [picture] and a clock.
//
// The picture is read from the store about once a second, and so rarely that reading takes at most a twentieth of the
// time. Jobs that this process accepted since then are added to it. So the bounds are soft: several processes together
// may exceed a bound by the jobs that they accept between two reads.
//
// Rates come from counters in the store (odometers) that every process increases, so all processes measure the same
// rates. A rate without a measurement is unknown, and reported as unknown.
//
// A [View] is safe for concurrent use.
package backlog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/store"
)

const (
	// ReadInterval is the time between two reads of the picture.
	ReadInterval = time.Second
	// restPerRead is the shortest pause between two reads, as a multiple of the duration of the last read.
	restPerRead = 20
	// readTimeout bounds a read.
	readTimeout = 30 * time.Second
	// staleAfter is the age from which a picture is not used any more.
	staleAfter = 2 * time.Minute
)

// Source is where the picture comes from.
type Source interface {
	Backlogs(ctx context.Context) ([]store.Backlog, error)
}

// Bounds are the largest number of queued items and bytes; 0 is no bound.
type Bounds struct{ Items, Bytes, Tokens int64 }

// Limits are the bounds in force.
type Limits interface {
	// All bounds what is queued in all.
	All() Bounds
	// Tenant bounds what a tenant has queued.
	Tenant(id penstock.TenantID) Bounds
}

// Deps are what a view works with.
type Deps struct {
	Source Source
	Limits Limits
	// Processes returns the processes that are alive; nil if that is unknown.
	Processes func(ctx context.Context) ([]store.Process, error)
	Failed    func() // called when the source could not be read
	Log       *slog.Logger
	Clock     func() time.Time
}

// View is the view of the queue.
type View struct {
	Deps
	picture atomic.Pointer[picture] // nil until the first read

	mu    sync.Mutex
	local arrivals
}

// New returns a view without a picture: it admits everything and estimates nothing.
func New(d Deps) (*View, error) {
	if d.Source == nil || d.Limits == nil || d.Failed == nil || d.Log == nil || d.Clock == nil {
		return nil, errors.New("a view of the backlog needs a source, limits, a log and a clock")
	}
	return &View{Deps: d, local: newArrivals()}, nil
}

// Run keeps the picture fresh until ctx ends. While the source cannot be read, the last picture stays.
func (v *View) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		began := v.Clock()
		err := v.runOnce(ctx)
		if err != nil && ctx.Err() == nil {
			v.Failed()
			if !failing {
				v.Log.WarnContext(ctx, "reading the backlog; estimates and bounds rest on the last good read", "error", err)
			}
		}
		failing = err != nil
		timer.Reset(rest(v.Clock().Sub(began)))
	}
}

// rest is how long to wait after a read that took so long.
func rest(took time.Duration) time.Duration { return max(ReadInterval, restPerRead*took) }

// runOnce reads the backlogs and makes a new picture of them. The read contains all jobs that were accepted before it
// began. A job that is accepted during the read may be in it as well, and is then counted twice until the next read.
func (v *View) runOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	v.mu.Lock()
	v.local.beginRead()
	v.mu.Unlock()

	rows, err := v.Source.Backlogs(ctx)
	var processes []store.Process
	if err == nil && v.Processes != nil {
		processes, err = v.Processes(ctx)
	}

	v.mu.Lock()
	defer v.mu.Unlock()
	v.local.endRead(err)
	if err != nil {
		return err
	}
	next := v.picture.Load().next(rows, v.Clock())
	next.processes = processes
	v.picture.Store(next)
	return nil
}

// Alive are the processes that held a lease when the picture was made, and whether there is a picture.
func (v *View) Alive() ([]store.Process, bool) {
	p := v.current()
	return p.processes, !p.at.IsZero()
}

// Parked reports whether none of a tenant's queued items in a lane for a model can start now: all of them wait for
// their next attempt, or are lines of files. It is false while this is unknown.
func (v *View) Parked(lane penstock.Lane, tenant penstock.TenantID, model string) bool {
	f := v.current().of(level{lane, tenant, model})
	return f.ready == 0 && f.parked > 0
}

// current is the picture, or an empty picture if it is too old.
func (v *View) current() *picture {
	p := v.picture.Load()
	if p == nil || v.Clock().Sub(p.at) > staleAfter {
		return new(picture)
	}
	return p
}

package work

import (
	"slices"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/store"
)

const (
	// blockedFor is how long a list of blocked targets is reused, so that a page of jobs does not compute it for each job.
	blockedFor = 200 * time.Millisecond
	// newlyAccepted is how long the backlog may lack a new job.
	newlyAccepted = 5 * time.Second
)

// Controls is the view of what operators paused.
type Controls interface {
	Paused(kind store.ControlKind, name string) (store.Control, bool)
	Names(kind store.ControlKind) []string
	Open(targets []string) []string
}

// Targets reports the state of the targets in this process.
type Targets interface {
	Status() []capacity.Status
}

// Backlog reports what is queued, and which processes are alive.
type Backlog interface {
	Alive() (processes []store.Process, known bool)
	Parked(lane penstock.Lane, tenant penstock.TenantID, model string) bool
}

// WaitingDeps are the dependencies of Waiting.
type WaitingDeps struct {
	Process  string // the name of this process
	Works    bool   // this process works on jobs
	Config   *config.Live
	Controls Controls
	Targets  Targets
	Backlog  Backlog
	Clock    func() time.Time
}

// Waiting explains why queued items do not start. Every process reports with its heartbeat which targets it may not call;
// Waiting combines those reports. It is safe for concurrent use.
type Waiting struct {
	WaitingDeps
	blocked atomic.Pointer[blocked]
}

// NewWaiting returns a Waiting. It computes everything on demand.
func NewWaiting(d WaitingDeps) *Waiting { return &Waiting{WaitingDeps: d} }

// blocked is a list of blocked targets, with its time.
type blocked struct {
	at time.Time
	by map[string]penstock.Reason
}

// Report describes this process with its heartbeat.
func (w *Waiting) Report() store.Renewal {
	return store.Renewal{Calls: w.pausedCalls(), State: store.ProcessState{Works: w.Works, Blocked: w.blockedTargets()}}
}

// pausedCalls counts the calls of this process on each paused target.
func (w *Waiting) pausedCalls() map[string]int {
	paused := w.Controls.Names(store.ControlTarget)
	if len(paused) == 0 {
		return nil
	}
	calls := make(map[string]int, len(paused))
	for _, name := range paused {
		calls[name] = 0
	}
	for _, s := range w.Targets.Status() {
		if _, ok := calls[s.Target]; ok {
			calls[s.Target] = s.Running
		}
	}
	return calls
}

// blockedTargets are the targets that this process may not call now, with the reasons.
func (w *Waiting) blockedTargets() map[string]penstock.Reason {
	all := make(map[string]penstock.Reason)
	for _, s := range w.Targets.Status() {
		switch s.Blocked {
		case capacity.Broken, capacity.Probed:
			all[s.Target] = penstock.WaitingOnProvider
		case capacity.Resting, capacity.Limited:
			all[s.Target] = penstock.WaitingOnRateLimit
		case capacity.Full:
			all[s.Target] = penstock.WaitingOnCapacity
		}
	}
	return all
}

// recentlyBlocked is blockedTargets, at most blockedFor old.
func (w *Waiting) recentlyBlocked(now time.Time) map[string]penstock.Reason {
	if last := w.blocked.Load(); last != nil && now.Sub(last.at) < blockedFor {
		return last.by
	}
	next := &blocked{now, w.blockedTargets()}
	w.blocked.Store(next)
	return next.by
}

// Reason is why the queued items of a job do not start, "" if they only wait for their turn. It does not cover pauses and
// budgets.
func (w *Waiting) Reason(j penstock.Job) penstock.Reason {
	processes, known := w.Backlog.Alive()
	now := w.Clock()
	workers := w.workers(processes, now)
	switch {
	case !known && !w.Works:
		return ""
	case len(workers) == 0:
		return penstock.WaitingOnWorkers
	}
	configured := w.Config.Current().Targets
	targets := slices.DeleteFunc(w.Controls.Open(slices.Clone(j.Resolved.Targets)), func(name string) bool {
		_, ok := configured[name]
		return !ok
	})
	reason := reasonOf(targets, workers)
	if reason == "" && j.File == "" && now.Sub(j.CreatedAt) > newlyAccepted && w.Backlog.Parked(j.Lane, j.Tenant, j.Model) {
		return penstock.WaitingOnRetry
	}
	return reason
}

// workers are the processes that work on jobs: this one as it is now, the others as of their last heartbeat.
func (w *Waiting) workers(processes []store.Process, now time.Time) []store.ProcessState {
	var all []store.ProcessState
	if w.Works {
		all = append(all, store.ProcessState{Works: true, Blocked: w.recentlyBlocked(now)})
	}
	for _, p := range processes {
		if p.Works && p.Name != w.Process {
			all = append(all, p.ProcessState)
		}
	}
	return all
}

// Unattended reports that no process works on jobs, this one included.
func (w *Waiting) Unattended() bool {
	processes, known := w.Backlog.Alive()
	return known && len(w.workers(processes, w.Clock())) == 0
}

// reasonOf is why no worker may call any of the targets, "" if one may. Of several reasons it is the one that is likely
// to end first.
func reasonOf(targets []string, workers []store.ProcessState) penstock.Reason {
	first := len(penstock.Reasons)
	for _, target := range targets {
		for _, w := range workers {
			reason, blocked := w.Blocked[target]
			if !blocked {
				return ""
			}
			if at := slices.Index(penstock.Reasons, reason); at >= 0 {
				first = min(first, at)
			}
		}
	}
	if first == len(penstock.Reasons) {
		return ""
	}
	return penstock.Reasons[first]
}

package app

import (
	"slices"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/store"
)

// state is what this process tells the others with its heartbeat.
func (a *app) state() store.ProcessState {
	return store.ProcessState{Works: a.Role.works(), Blocked: a.blockedHere()}
}

// blockedHere are the targets that this process may not call now, and why.
func (a *app) blockedHere() map[string]penstock.Reason {
	blocked := make(map[string]penstock.Reason)
	for _, s := range a.capacity.Status() {
		switch s.Blocked {
		case capacity.Broken, capacity.Probed:
			blocked[s.Target] = penstock.WaitingOnProvider
		case capacity.Resting, capacity.Limited:
			blocked[s.Target] = penstock.WaitingOnRateLimit
		case capacity.Full:
			blocked[s.Target] = penstock.WaitingOnCapacity
		}
	}
	return blocked
}

// blockedFor is how long what this process knows of its targets is good enough to tell callers.
const blockedFor = 200 * time.Millisecond

// blocked is what was last told of the targets, so that a page of jobs does not ask for each of them.
type blocked struct {
	at time.Time
	by map[string]penstock.Reason
}

func (a *app) blockedLately(now time.Time) map[string]penstock.Reason {
	if last := a.blocked.Load(); last != nil && now.Sub(last.at) < blockedFor {
		return last.by
	}
	next := &blocked{now, a.blockedHere()}
	a.blocked.Store(next)
	return next.by
}

// newlyAccepted is how long a job may not be in the picture of the queue yet.
const newlyAccepted = 5 * time.Second

// waitingOn says why the queued items of a job do not start, as far as it is not an operator or a budget.
func (a *app) waitingOn(j penstock.Job) penstock.Reason {
	processes, known := a.backlog.Alive()
	now := time.Now()
	workers := a.workers(processes, now)
	switch {
	case !known && !a.Role.works():
		return ""
	case len(workers) == 0:
		return penstock.WaitingOnWorkers
	}
	configured := a.live.Current().Targets
	targets := slices.DeleteFunc(a.controls.Open(slices.Clone(j.Resolved.Targets)), func(name string) bool {
		_, ok := configured[name]
		return !ok
	})
	reason := reasonOf(targets, workers)
	if reason == "" && j.File == "" && now.Sub(j.CreatedAt) > newlyAccepted && a.backlog.Parked(j.Lane, j.Tenant, j.Model) {
		return penstock.WaitingOnRetry
	}
	return reason
}

// workers are the processes that work on jobs, this one as it is now and the others as they told last.
func (a *app) workers(processes []store.Process, now time.Time) []store.ProcessState {
	var all []store.ProcessState
	if a.Role.works() {
		all = append(all, store.ProcessState{Works: true, Blocked: a.blockedLately(now)})
	}
	for _, p := range processes {
		if p.Works && p.Name != a.store.process {
			all = append(all, p.ProcessState)
		}
	}
	return all
}

// finishes says whether this process writes the files of batches.
func (a *app) finishes() bool {
	if a.Role.works() {
		return true
	}
	processes, known := a.backlog.Alive()
	return known && len(a.workers(processes, time.Now())) == 0
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

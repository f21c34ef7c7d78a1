// Package deliver serves callers who wait for a job, and callers who follow its events. Both read the same rows as a
// poll, so all of them agree.
//
// It owns waiting. A signal wakes the readers of this process, and of other processes, at once. Readers also poll
// slowly, so that they notice a change without a signal. Signals never block and never depend on readers: a slow reader
// only reads later.
package deliver

import (
	"context"
	"iter"
	"time"

	"penstock"
	"penstock/internal/signal"
	"penstock/internal/store"
)

const (
	// PollInterval is how often a reader polls without a signal.
	PollInterval = time.Second
	// pageEvents is how many events are read at a time.
	pageEvents = 200
)

// Jobs is the store of jobs and their events.
type Jobs interface {
	Job(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Job, error)
	Events(ctx context.Context, tenant penstock.TenantID, p store.EventPage) ([]penstock.Event, error)
}

// Reader reads on behalf of callers.
type Reader struct {
	jobs    Jobs
	changes *signal.Topic[penstock.ID]
	tails   tails
}

// NewReader returns a reader over a store. Changes of jobs are published on a topic.
func NewReader(jobs Jobs, changes *signal.Topic[penstock.ID]) *Reader {
	return &Reader{jobs: jobs, changes: changes}
}

// Until is the condition of a wait. A finished job does not change any more, so the end of the job always ends a wait.
type Until struct {
	Timeout time.Duration
	Reached func(penstock.Job) bool // whether the job meets the caller's condition; nil for the end of the job only
}

func (u Until) over(j penstock.Job) bool {
	return !j.FinishedAt.IsZero() || (u.Reached != nil && u.Reached(j))
}

// Wait returns the job as soon as it meets the condition, or its current state at the timeout or when ctx ends. Codes:
// those of store.Jobs.Job.
func (r *Reader) Wait(ctx context.Context, tenant penstock.TenantID, id penstock.ID, until Until) (penstock.Job, error) {
	changed := r.changes.Subscribe(id)
	defer changed.Close()
	timeout := time.NewTimer(until.Timeout)
	defer timeout.Stop()
	poll := time.NewTicker(PollInterval)
	defer poll.Stop()
	var job penstock.Job
	for over := false; ; {
		latest, err := r.jobs.Job(ctx, tenant, id)
		if err != nil && (ctx.Err() == nil || job.ID == "") {
			return job, err
		}
		if err != nil {
			return job, nil // the caller disconnected during the last read: return the last known state
		}
		if job = latest; over || until.over(job) {
			return job, nil
		}
		select {
		case <-changed.C:
		case <-poll.C:
		case <-timeout.C:
			over = true // one last read: another process may have finished the job since the poll
		case <-ctx.Done():
			return job, nil
		}
	}
}

// Follow yields a job's events above after, as they happen, until the job's last one, an error, or the end of ctx.
// Followers of the same job share reads. Codes: those of store.Jobs.Events.
func (r *Reader) Follow(ctx context.Context, tenant penstock.TenantID, p store.EventPage) iter.Seq2[penstock.Event, error] {
	return func(yield func(penstock.Event, error) bool) {
		changed := r.changes.Subscribe(p.Job)
		defer changed.Close()
		tail := r.tails.take(tailKey{tenant, p.Job})
		defer r.tails.leave(tailKey{tenant, p.Job})
		poll := time.NewTicker(PollInterval)
		defer poll.Stop()
		p.Limit = pageEvents
		asOf := time.Now()
		for {
			page, err := tail.next(ctx, r.jobs, look{tenant, p, asOf})
			if err != nil {
				if ctx.Err() == nil {
					yield(penstock.Event{}, err)
				}
				return
			}
			for _, e := range page.events {
				if !yield(e, nil) || e.Type == penstock.EventJobFinished {
					return
				}
				p.After = e.Seq
			}
			if page.over {
				return
			}
			if page.more {
				continue
			}
			select {
			case <-changed.C:
				asOf = time.Now()
			case <-poll.C:
				asOf = time.Now().Add(-PollInterval / 2) // a read by another follower since then is recent enough
			case <-ctx.Done():
				return
			}
		}
	}
}

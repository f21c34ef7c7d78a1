package demo

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/rollup"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// drawnFor is how much of the past the figures cover: a day, and the day before it, with which pages compare.
const drawnFor = 2 * day

// figures counts the end of the past as a running server would have, so that pages have something to draw.
type figures struct {
	recorder *rollup.Recorder
	from, at time.Time
}

func newFigures(to rollup.Store, until time.Time, log *slog.Logger) *figures {
	f := &figures{from: until.Add(-drawnFor), at: until}
	f.recorder = rollup.New(rollup.Deps{
		Store: to, Source: rand.Text(), Depths: func() map[rollup.Key]int64 { return nil }, Log: log, Clock: func() time.Time { return f.at },
	})
	return f
}

// count counts something that happened at a time.
func (f *figures) count(at time.Time, change func(*rollup.Recorder)) {
	if at.After(f.from) {
		f.at = at
		change(f.recorder)
	}
}

func (f *figures) calls(calls []penstock.Request) {
	for _, c := range calls {
		f.count(c.FinishedAt, func(r *rollup.Recorder) { r.RequestEnded(c) })
		f.attempts(c.Tenant, c.Attempts)
	}
}

func (f *figures) accepted(at time.Time, j penstock.Job) {
	f.count(at, func(r *rollup.Recorder) { r.JobAccepted(j.Tenant, j.Lane) })
}

func (f *figures) ended(began time.Time, p plan, items []store.Finish) {
	for _, item := range items {
		status, at := penstock.StatusSucceeded, item.Attempts[len(item.Attempts)-1].FinishedAt
		if item.Transition == penstock.TransitionFail {
			status = penstock.StatusFailed
		}
		f.count(at, func(r *rollup.Recorder) {
			r.ItemFinished(telemetry.ItemObservation{Tenant: item.Tenant, Lane: p.lane, Status: status, Total: at.Sub(began)})
		})
		f.attempts(item.Tenant, item.Attempts)
	}
}

func (f *figures) attempts(tenant penstock.TenantID, attempts []penstock.Attempt) {
	for _, a := range attempts {
		f.count(a.FinishedAt, func(r *rollup.Recorder) {
			r.AttemptFinished(telemetry.AttemptObservation{Tenant: tenant, Target: a.Target, Kind: a.ErrorKind, Total: a.FinishedAt.Sub(a.StartedAt), Cost: a.Cost})
		})
	}
}

// write stores the figures: a recorder that is stopped writes all.
func (f *figures) write(ctx context.Context, until time.Time) error {
	f.at = until
	stopped, stop := context.WithCancel(ctx)
	stop()
	return f.recorder.Run(stopped)
}

// Package rollup keeps figures of the recent past: what was accepted, how it ended, how long it took and what it cost, in
// small sums per minute and per quarter of an hour. Pages draw them; money and limits do not use them.
//
// Every process counts in memory and writes its sums every [FlushInterval]; a reader adds up the sums of all processes. A
// process that is killed loses the sums since its last write. The ledger is exact, and these sums are not.
//
// Everything is bounded: the tenants that are counted by themselves in a period, and the periods that are kept. Counting
// never waits for the database.
//
// A [Recorder] is safe for concurrent use.
package rollup

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"penstock"
)

const (
	// FlushInterval is the time between two writes.
	FlushInterval = 15 * time.Second
	// maxSums is how many sums a period of a process has. Tenants beyond it count in the sums of all tenants only.
	maxSums = 4000
	// writeTimeout bounds a write.
	writeTimeout = 10 * time.Second
)

// Span is the length of a period.
type Span time.Duration

// The spans, and how long their periods are kept.
const (
	Minute  = Span(time.Minute)
	Quarter = Span(15 * time.Minute)
)

// kept is how long the periods of a span are kept: two windows of each, and a little more.
var kept = map[Span]time.Duration{Minute: 3 * time.Hour, Quarter: 50 * time.Hour}

// of is the beginning of the period that a moment lies in.
func (s Span) of(t time.Time) time.Time { return t.UTC().Truncate(time.Duration(s)) }

// Key names a sum: of a lane of a tenant, of a lane of all tenants, or of a target. With neither lane nor target it is the cost
// of a tenant, or of all tenants.
type Key struct {
	Tenant penstock.TenantID // "" for all tenants
	Lane   penstock.Lane
	Target string
}

// Sum is what happened in a period.
type Sum struct {
	Jobs      int64            // that were accepted
	Requests  int64            // synchronous calls that ended
	Succeeded int64            // items and synchronous calls; attempts of a target
	Failed    int64            // the same
	Cost      penstock.NanoUSD // of attempts
	Depth     int64            // the most items that were queued
	Latency   Histogram        // of items from acceptance, of calls, or of attempts
}

// Plus adds up what several processes counted. The depth is that of the whole queue, which all of them see.
func (s Sum) Plus(o Sum) Sum {
	s.Jobs, s.Requests = s.Jobs+o.Jobs, s.Requests+o.Requests
	s.Succeeded, s.Failed = s.Succeeded+o.Succeeded, s.Failed+o.Failed
	s.Cost, s.Depth = s.Cost.Plus(o.Cost), max(s.Depth, o.Depth)
	s.Latency.merge(&o.Latency)
	return s
}

// Row is a sum of one process in one period.
type Row struct {
	Span   Span
	At     time.Time
	Source string // the run of the process that counted
	Key
	Sum
}

// Query selects sums.
type Query struct {
	Span   Span
	From   time.Time
	Tenant penstock.TenantID // "" for those of all tenants, targets included
}

// Store keeps rows.
type Store interface {
	// Save writes rows over their earlier versions, and removes the rows of a span from before a time.
	Save(ctx context.Context, rows []Row, before map[Span]time.Time) error
	// Rows returns the rows that a query selects.
	Rows(ctx context.Context, q Query) ([]Row, error)
}

// Deps are the dependencies of a Recorder.
type Deps struct {
	Store  Store
	Source string // differs from that of every other run of a process
	// Depths reports the queued items of each lane, and of each tenant in it.
	Depths func() map[Key]int64
	Log    *slog.Logger
	Clock  func() time.Time
}

// Recorder counts.
type Recorder struct {
	Deps

	mu      sync.Mutex
	periods map[period]map[Key]*Sum
}

// period is a stretch of time that is counted.
type period struct {
	span Span
	at   time.Time
}

// New returns a recorder that has counted nothing.
func New(d Deps) *Recorder {
	return &Recorder{Deps: d, periods: map[period]map[Key]*Sum{}}
}

// count changes the sums of some keys in the current periods.
func (r *Recorder) count(change func(*Sum), keys ...Key) {
	now := r.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range []Span{Minute, Quarter} {
		p := period{span, span.of(now)}
		sums := r.periods[p]
		if sums == nil {
			sums = map[Key]*Sum{}
			r.periods[p] = sums
		}
		for _, key := range keys {
			sum := sums[key]
			if sum == nil {
				if len(sums) >= maxSums && key.Tenant != "" {
					continue
				}
				sum = new(Sum)
				sums[key] = sum
			}
			change(sum)
		}
	}
}

// both are the sums of a lane: of its tenant and of all tenants.
func both(tenant penstock.TenantID, lane penstock.Lane) (own, all Key) {
	return Key{Tenant: tenant, Lane: lane}, Key{Lane: lane}
}

// Run writes sums until ctx ends, and then once more.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(FlushInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			_ = r.runOnce(context.WithoutCancel(ctx)) // the sums of the last seconds may be lost
			return nil
		case <-ticker.C:
		}
		err := r.runOnce(ctx)
		if err != nil && !failing {
			r.Log.WarnContext(ctx, "writing the figures of the recent past; they are written later", "error", err)
		}
		failing = err != nil
	}
}

// runOnce writes all sums, and forgets the periods that are over.
func (r *Recorder) runOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for key, depth := range r.Depths() {
		if depth > 0 {
			r.count(func(s *Sum) { s.Depth = max(s.Depth, depth) }, key)
		}
	}
	now := r.Clock()
	rows := r.rows(func(period) bool { return true })
	if len(rows) == 0 {
		return nil
	}
	before := map[Span]time.Time{}
	for span, keep := range kept {
		before[span] = span.of(now.Add(-keep))
	}
	if err := r.Store.Save(ctx, rows, before); err != nil {
		r.forget(before) // what cannot be written for so long is given up
		return err
	}
	r.forget(map[Span]time.Time{Minute: Minute.of(now), Quarter: Quarter.of(now)})
	return nil
}

// forget drops the periods that began before a time.
func (r *Recorder) forget(before map[Span]time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.periods {
		if p.at.Before(before[p.span]) {
			delete(r.periods, p)
		}
	}
}

// rows are the sums in memory of the chosen periods.
func (r *Recorder) rows(chosen func(period) bool) (rows []Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, sums := range r.periods {
		if !chosen(p) {
			continue
		}
		for key, sum := range sums {
			rows = append(rows, Row{Span: p.span, At: p.at, Source: r.Source, Key: key, Sum: *sum})
		}
	}
	return rows
}

// Read returns the sums that a query selects, over all processes, those in memory included.
func (r *Recorder) Read(ctx context.Context, q Query) ([]Row, error) {
	q.From = q.Span.of(q.From)
	stored, err := r.Store.Rows(ctx, q)
	if err != nil {
		return nil, err
	}
	own := r.rows(func(p period) bool { return p.span == q.Span && !p.at.Before(q.From) })
	inMemory := map[time.Time]bool{}
	var rows []Row
	for _, row := range own {
		inMemory[row.At] = true
		if row.Tenant == q.Tenant {
			rows = append(rows, row)
		}
	}
	for _, row := range stored {
		if row.Source != r.Source || !inMemory[row.At] {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

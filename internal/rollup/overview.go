package rollup

import (
	"context"
	"slices"
	"sync"
	"time"

	"penstock"
)

// Window is the time that an overview covers.
type Window string

// The windows.
const (
	Hour Window = "hour" // in steps of a minute
	Day  Window = "day"  // in steps of a quarter of an hour
)

// Windows lists every window.
var Windows = []Window{Hour, Day}

// ReadWindow reads a window; the empty text is an hour. Codes: invalid_request.
func ReadWindow(text string) (Window, error) {
	switch w := Window(text); {
	case text == "":
		return Hour, nil
	case slices.Contains(Windows, w):
		return w, nil
	}
	return "", penstock.InvalidParam("window", "window must be one of %v.", Windows)
}

// spans are the lengths of a window and of its steps.
func (w Window) spans() (length time.Duration, step Span) {
	if w == Day {
		return 24 * time.Hour, Quarter
	}
	return time.Hour, Minute
}

// Overview is the recent past of a tenant, or of all tenants.
type Overview struct {
	Object            string       `json:"object"`
	Window            Window       `json:"window"`
	StepSeconds       int          `json:"step_seconds"`
	From              time.Time    `json:"from" about:"The beginning of the first step. The last step is not over yet."`
	AsOf              time.Time    `json:"as_of"`
	JobsPerSecond     Stat         `json:"jobs_per_second" about:"Jobs that were accepted."`
	RequestsPerSecond Stat         `json:"requests_per_second" about:"Synchronous calls that ended."`
	SuccessRate       Stat         `json:"success_rate" about:"The part of the ended items and calls that succeeded, from 0 to 1."`
	P95LatencyMS      Stat         `json:"p95_latency_ms" about:"Of synchronous calls, and of items in the lane realtime from their acceptance."`
	QueueDepth        Stat         `json:"queue_depth" about:"Queued items: now, and the most in each step. previous is the most in the window before."`
	Spend             Spend        `json:"spend"`
	DeadLetters       Unresolved   `json:"dead_letters"`
	Lanes             []LaneSeries `json:"lanes" about:"Most urgent first."`
}

// Stat is a figure with its history. A value is null where nothing was measured.
type Stat struct {
	Value    *float64   `json:"value" about:"Over the window."`
	Previous *float64   `json:"previous" about:"Over the window before, of the same length."`
	Series   []*float64 `json:"series" about:"One value for each step."`
}

// Spend is money, from the ledger, and from attempts for the series.
type Spend struct {
	Today     penstock.NanoUSD   `json:"today_usd" about:"Of the day in UTC, from the ledger."`
	Yesterday penstock.NanoUSD   `json:"yesterday_usd" about:"Of the whole day before."`
	Series    []penstock.NanoUSD `json:"series_usd" about:"One value for each step, for trends."`
}

// Unresolved is the number of open dead letters.
type Unresolved struct {
	Count   int  `json:"count"`
	AtLeast bool `json:"at_least" about:"There are more: counting stops at 10000."`
}

// LaneSeries is the history of a lane.
type LaneSeries struct {
	Lane   penstock.Lane `json:"lane"`
	Points []Point       `json:"points" about:"One for each step."`
}

// Point is what happened in a step.
type Point struct {
	At        time.Time `json:"at"`
	Jobs      int64     `json:"jobs"`
	Requests  int64     `json:"requests"`
	Succeeded int64     `json:"succeeded"`
	Failed    int64     `json:"failed"`
	Depth     int64     `json:"depth" about:"The most queued items."`
	P50MS     *float64  `json:"p50_ms"`
	P95MS     *float64  `json:"p95_ms"`
}

// Facts are the figures of an overview that are not sums of the past. The tenant "" stands for all tenants.
type Facts interface {
	// Depth is the number of queued items.
	Depth(tenant penstock.TenantID) int64
	// Spent is the cost of today and of yesterday.
	Spent(ctx context.Context, tenant penstock.TenantID) (today, yesterday penstock.NanoUSD, err error)
	// DeadLetters counts the open dead letters, and stops at most.
	DeadLetters(ctx context.Context, tenant penstock.TenantID, most int) (int, error)
}

const (
	// maxDeadLetters is where counting stops.
	maxDeadLetters = 10_000
	// overviewAge is how long an overview is used again, so that many open pages cost one.
	overviewAge = 2 * time.Second
	// maxOverviews bounds the overviews in memory.
	maxOverviews = 256
)

// Overviews makes overviews. It is safe for concurrent use.
type Overviews struct {
	past  *Recorder
	facts Facts

	mu   sync.Mutex
	made map[asked]*Overview
}

// asked is the question that an overview answers.
type asked struct {
	tenant penstock.TenantID
	window Window
}

// NewOverviews returns a maker of overviews.
func NewOverviews(past *Recorder, facts Facts) *Overviews {
	return &Overviews{past: past, facts: facts, made: map[asked]*Overview{}}
}

// Overview returns the recent past of a tenant, or of all tenants for "". It is at most two seconds old.
func (o *Overviews) Overview(ctx context.Context, tenant penstock.TenantID, w Window) (*Overview, error) {
	q, now := asked{tenant, w}, o.past.Clock().UTC()
	o.mu.Lock()
	last := o.made[q]
	o.mu.Unlock()
	if last != nil && now.Sub(last.AsOf) < overviewAge {
		return last, nil
	}
	made, err := o.make(ctx, q, now)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.made) >= maxOverviews {
		clear(o.made)
	}
	o.made[q] = made
	return made, nil
}

func (o *Overviews) make(ctx context.Context, q asked, now time.Time) (*Overview, error) {
	length, step := q.window.spans()
	from := step.of(now).Add(time.Duration(step) - length)
	rows, err := o.past.Read(ctx, Query{Span: step, From: from.Add(-length), Tenant: q.tenant})
	if err != nil {
		return nil, err
	}
	v := &Overview{Object: "overview", Window: q.window, StepSeconds: int(time.Duration(step).Seconds()), From: from, AsOf: now}
	s := newSeries(from, step, int(length/time.Duration(step)))
	for _, row := range rows {
		s.add(row)
	}
	s.fill(v, now)
	depth := float64(o.facts.Depth(q.tenant))
	v.QueueDepth.Value = &depth
	if v.Spend.Today, v.Spend.Yesterday, err = o.facts.Spent(ctx, q.tenant); err != nil {
		return nil, err
	}
	dead, err := o.facts.DeadLetters(ctx, q.tenant, maxDeadLetters+1)
	v.DeadLetters = Unresolved{Count: min(dead, maxDeadLetters), AtLeast: dead > maxDeadLetters}
	return v, err
}

package rollup

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/telemetry"
)

// table is a store in memory.
type table struct {
	mu   sync.Mutex
	rows map[rowKey]Row
	away error
}

type rowKey struct {
	span   Span
	at     time.Time
	source string
	key    Key
}

func (s *table) Save(_ context.Context, rows []Row, before map[Span]time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return s.away
	}
	for _, r := range rows {
		s.rows[rowKey{r.Span, r.At, r.Source, r.Key}] = r
	}
	for k := range s.rows {
		if k.at.Before(before[k.span]) {
			delete(s.rows, k)
		}
	}
	return nil
}

func (s *table) Rows(_ context.Context, q Query) (rows []Row, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.Span == q.Span && r.Tenant == q.Tenant && !r.At.Before(q.From) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// rig is several processes on one table, with a clock that the test moves.
type rig struct {
	table *table
	now   time.Time
	depth int64
}

func newRig() *rig {
	return &rig{table: &table{rows: map[rowKey]Row{}}, now: time.Date(2026, 11, 15, 6, 0, 30, 0, time.UTC)}
}

func (r *rig) process(name string) *Recorder {
	return New(Deps{Store: r.table, Source: name, Log: slog.New(slog.DiscardHandler), Clock: func() time.Time { return r.now },
		Depths: func() map[Key]int64 {
			return map[Key]int64{{Lane: penstock.LaneBulk}: r.depth, {Tenant: "acme", Lane: penstock.LaneBulk}: r.depth}
		}})
}

func (r *rig) Depth(penstock.TenantID) int64 { return 7 }
func (r *rig) Spent(context.Context, penstock.TenantID) (today, yesterday penstock.NanoUSD, err error) {
	return 5, 3, nil
}
func (r *rig) DeadLetters(context.Context, penstock.TenantID, int) (int, error) { return 10_001, nil }

func work(p *Recorder, tenant penstock.TenantID, n int, d time.Duration) {
	for range n {
		p.JobAccepted(tenant, penstock.LaneBulk)
		p.ItemFinished(telemetry.ItemObservation{Tenant: tenant, Lane: penstock.LaneBulk, Status: penstock.StatusSucceeded, Total: time.Hour})
		p.AttemptFinished(telemetry.AttemptObservation{Tenant: tenant, Target: "main", Total: d, Cost: 2})
		p.RequestEnded(penstock.Request{Tenant: tenant, Status: penstock.StatusSucceeded, FinishedAt: time.Unix(0, int64(d)), StartedAt: time.Unix(0, 0)})
	}
	p.RequestEnded(penstock.Request{Tenant: tenant, Status: penstock.StatusFailed})
}

// An overview adds up what several processes counted, written or not, and keeps tenants apart. A restart loses nothing that
// was written.
func TestOverview(t *testing.T) {
	t.Parallel()
	r := newRig()
	one := r.process("one")
	work(one, "acme", 60, 100*time.Millisecond)
	if err := one.runOnce(t.Context()); err != nil { // and then it is killed
		t.Fatal(err)
	}
	r.now, r.depth = r.now.Add(time.Minute), 40
	two := r.process("two")
	work(two, "acme", 30, 400*time.Millisecond)
	work(two, "umbra", 1, time.Second)
	if err := two.runOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	work(two, "acme", 30, 400*time.Millisecond)
	for tenant, want := range map[penstock.TenantID]struct{ requests, jobs int64 }{"acme": {123, 120}, "umbra": {2, 1}, "": {125, 121}, "nobody": {}} {
		v, err := NewOverviews(two, r).Overview(t.Context(), tenant, Hour)
		if err != nil {
			t.Fatal(err)
		}
		var requests, jobs, depth int64
		for _, lane := range v.Lanes {
			for _, p := range lane.Points {
				requests, jobs, depth = requests+p.Requests, jobs+p.Jobs, max(depth, p.Depth)
			}
		}
		if requests != want.requests || jobs != want.jobs || len(v.Lanes[0].Points) != 60 || len(v.Spend.Series) != 60 {
			t.Errorf("%q made %d requests and %d jobs, want %+v", tenant, requests, jobs, want)
		}
		if v.Spend.Today != 5 || v.DeadLetters != (Unresolved{10_000, true}) || *v.QueueDepth.Value != 7 || tenant == "acme" && depth != 40 {
			t.Errorf("%q: %+v, depth %d", tenant, v, depth)
		}
		if last := v.Spend.Series[59]; tenant == "acme" && last != 120 {
			t.Errorf("the last minute cost %d", last)
		}
	}
	v, _ := NewOverviews(two, r).Overview(t.Context(), "acme", Day)
	if rate := *v.SuccessRate.Value; math.Abs(rate-240.0/243) > 1e-9 || *v.P95LatencyMS.Value < 300 || *v.P95LatencyMS.Value > 600 || len(v.JobsPerSecond.Series) != 96 {
		t.Errorf("of the day: %v, %v", rate, *v.P95LatencyMS.Value)
	}
	targets, err := two.Targets(t.Context())
	if err != nil || targets["main"].Attempts != 121 || *targets["main"].P50MS < 80 {
		t.Errorf("%+v, %v", targets, err)
	}
	r.now = r.now.Add(time.Hour)
	v, _ = NewOverviews(two, r).Overview(t.Context(), "acme", Hour)
	if *v.JobsPerSecond.Value != 0 || *v.JobsPerSecond.Previous == 0 || v.SuccessRate.Value != nil || *v.SuccessRate.Previous == 0 {
		t.Errorf("an hour later: %+v, %+v", v.JobsPerSecond, v.SuccessRate)
	}
}

// Memory and the table are bounded, also while the table is away.
func TestBounds(t *testing.T) {
	t.Parallel()
	r := newRig()
	p := r.process("one")
	for n := range 3 * maxSums {
		p.JobAccepted(penstock.TenantID(string(rune('a'+n%26))+time.Duration(n).String()), penstock.LaneBulk)
	}
	if n := len(p.rows(func(period) bool { return true })); n > 2*(maxSums+1) {
		t.Errorf("%d sums", n)
	}
	if v, err := p.Read(t.Context(), Query{Span: Minute, From: r.now}); err != nil || len(v) != 1 || v[0].Jobs != 3*maxSums {
		t.Errorf("all tenants: %+v, %v", v, err)
	}
	r.table.away = context.DeadlineExceeded
	for range 60 {
		r.now = r.now.Add(time.Hour)
		p.JobAccepted("acme", penstock.LaneBulk)
		if p.runOnce(t.Context()) == nil {
			t.Fatal("it was written")
		}
	}
	if len(p.periods) > 2*60 {
		t.Errorf("%d periods in memory", len(p.periods))
	}
	r.table.away = nil
	if err := p.runOnce(t.Context()); err != nil || len(p.periods) > 2 {
		t.Errorf("%d periods after a write, %v", len(p.periods), err)
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	var h Histogram
	if _, ok := h.Quantile(0.5); ok {
		t.Error("an empty histogram has a median")
	}
	for ms := range 1000 {
		h.add(time.Duration(ms+1) * time.Millisecond)
	}
	h.add(100 * time.Hour)
	for q, want := range map[float64]float64{0.5: 500, 0.95: 950, 0.1: 100} {
		if d, _ := h.Quantile(q); math.Abs(d.Seconds()*1000-want) > 0.2*want {
			t.Errorf("the quantile %v is %v, want about %v ms", q, d, want)
		}
	}
	text, err := h.MarshalText()
	var back Histogram
	if err != nil || back.UnmarshalText(text) != nil || back != h {
		t.Errorf("%s reads as %v", text, back)
	}
}

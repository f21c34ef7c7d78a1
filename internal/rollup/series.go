package rollup

import (
	"context"
	"time"

	"penstock"
)

// series adds rows up by step, for a window and the window before.
type series struct {
	from   time.Time
	step   Span
	steps  int
	lanes  map[penstock.Lane][]Sum
	all    []Sum
	before Sum
	quick  []Histogram // the latencies that callers wait for
	slow   Histogram   // the same in the window before
}

func newSeries(from time.Time, step Span, steps int) *series {
	s := &series{from: from, step: step, steps: steps, lanes: map[penstock.Lane][]Sum{}, all: make([]Sum, steps), quick: make([]Histogram, steps)}
	for _, lane := range penstock.Lanes {
		s.lanes[lane] = make([]Sum, steps)
	}
	return s
}

func (s *series) add(r Row) {
	if r.Target != "" {
		return
	}
	i := int(r.At.Sub(s.from) / time.Duration(s.step))
	switch {
	case r.At.Before(s.from):
		depth := s.before.Depth
		s.before = s.before.Plus(r.Sum)
		s.before.Depth = max(depth, r.Depth)
		if r.Lane == penstock.LaneRealtime {
			s.slow.merge(&r.Latency)
		}
		return
	case i >= s.steps:
		return
	}
	if lane := s.lanes[r.Lane]; lane != nil {
		lane[i] = lane[i].Plus(r.Sum)
	}
	s.all[i] = s.all[i].Plus(r.Sum)
	if r.Lane == penstock.LaneRealtime {
		s.quick[i].merge(&r.Latency)
	}
}

// fill puts the sums into an overview.
func (s *series) fill(v *Overview, now time.Time) {
	length := now.Sub(s.from).Seconds()
	before := time.Duration(s.step).Seconds() * float64(s.steps)
	var whole Sum
	var quick Histogram
	depths := make([]int64, s.steps)
	for i := range s.all {
		seconds := min(time.Duration(s.step).Seconds(), now.Sub(s.from.Add(time.Duration(i)*time.Duration(s.step))).Seconds())
		sum := s.all[i]
		whole = whole.Plus(sum)
		quick.merge(&s.quick[i])
		v.JobsPerSecond.Series = append(v.JobsPerSecond.Series, perSecond(sum.Jobs, seconds))
		v.RequestsPerSecond.Series = append(v.RequestsPerSecond.Series, perSecond(sum.Requests, seconds))
		v.SuccessRate.Series = append(v.SuccessRate.Series, sum.successRate())
		v.P95LatencyMS.Series = append(v.P95LatencyMS.Series, quantile(&s.quick[i], 0.95))
		v.Spend.Series = append(v.Spend.Series, sum.Cost)
		for _, lane := range penstock.Lanes {
			depths[i] += s.lanes[lane][i].Depth
		}
		depth := float64(depths[i])
		v.QueueDepth.Series = append(v.QueueDepth.Series, &depth)
	}
	v.JobsPerSecond.Value, v.JobsPerSecond.Previous = perSecond(whole.Jobs, length), perSecond(s.before.Jobs, before)
	v.RequestsPerSecond.Value, v.RequestsPerSecond.Previous = perSecond(whole.Requests, length), perSecond(s.before.Requests, before)
	v.SuccessRate.Value, v.SuccessRate.Previous = whole.successRate(), s.before.successRate()
	v.P95LatencyMS.Value, v.P95LatencyMS.Previous = quantile(&quick, 0.95), quantile(&s.slow, 0.95)
	deepest := float64(s.before.Depth)
	v.QueueDepth.Previous = &deepest
	for _, lane := range penstock.Lanes {
		v.Lanes = append(v.Lanes, LaneSeries{Lane: lane, Points: s.points(lane)})
	}
}

// points are the steps of a lane.
func (s *series) points(lane penstock.Lane) []Point {
	points := make([]Point, s.steps)
	for i, sum := range s.lanes[lane] {
		points[i] = Point{
			At: s.from.Add(time.Duration(i) * time.Duration(s.step)), Jobs: sum.Jobs, Requests: sum.Requests, Succeeded: sum.Succeeded, Failed: sum.Failed, Depth: sum.Depth,
			P50MS: quantile(&sum.Latency, 0.5), P95MS: quantile(&sum.Latency, 0.95),
		}
	}
	return points
}

func perSecond(n int64, seconds float64) *float64 {
	if seconds <= 0 {
		return nil
	}
	rate := float64(n) / seconds
	return &rate
}

func (s Sum) successRate() *float64 {
	if s.Succeeded+s.Failed == 0 {
		return nil
	}
	rate := float64(s.Succeeded) / float64(s.Succeeded+s.Failed)
	return &rate
}

func quantile(h *Histogram, q float64) *float64 {
	d, ok := h.Quantile(q)
	if !ok {
		return nil
	}
	ms := float64(d.Microseconds()) / 1000
	return &ms
}

// TargetFigures are the recent attempts of a target.
type TargetFigures struct {
	Attempts int64    `json:"attempts"`
	Failed   int64    `json:"failed"`
	P50MS    *float64 `json:"p50_ms"`
	P95MS    *float64 `json:"p95_ms"`
}

// targetWindow is how far back the figures of targets go.
const targetWindow = 15 * time.Minute

// Targets returns the attempts of the last 15 minutes of each target, over all processes.
func (r *Recorder) Targets(ctx context.Context) (map[string]TargetFigures, error) {
	rows, err := r.Read(ctx, Query{Span: Minute, From: r.Clock().Add(-targetWindow)})
	if err != nil {
		return nil, err
	}
	sums := map[string]Sum{}
	for _, row := range rows {
		if row.Target != "" {
			sums[row.Target] = sums[row.Target].Plus(row.Sum)
		}
	}
	all := make(map[string]TargetFigures, len(sums))
	for target, s := range sums {
		all[target] = TargetFigures{Attempts: s.Succeeded + s.Failed, Failed: s.Failed, P50MS: quantile(&s.Latency, 0.5), P95MS: quantile(&s.Latency, 0.95)}
	}
	return all, nil
}

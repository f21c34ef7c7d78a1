package forecast

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// upstream is a target as it really behaves.
type upstream struct {
	Upstream
	index    int
	believed penstock.Target // as it is configured
	random   *rand.Rand
	limits   []*meter
	odds     []odd
	outages  []Fault // in the order they begin

	running int
	peak    int
	busy    time.Duration // of all calls together
	targetFigures
}

// odd is how likely an error is.
type odd struct {
	kind provider.Kind
	p    float64
}

func newUpstream(name string, t Target, random *rand.Rand) *upstream {
	u := &upstream{Upstream: t.Upstream, random: random, believed: penstock.Target{
		Name: name, Concurrency: t.Limits.Concurrency, RequestsPerMinute: t.Limits.RequestsPerMinute,
		InputTokensPerMinute: t.Limits.InputTokensPerMinute, OutputTokensPerMinute: t.Limits.OutputTokensPerMinute,
	}}
	l := u.Upstream.Limits
	for _, m := range []*meter{
		{resource: "requests", perMinute: l.RequestsPerMinute, cost: func(*item) int64 { return 1 }},
		{resource: "input_tokens", perMinute: l.InputTokensPerMinute, cost: func(it *item) int64 { return int64(it.input) }},
		{resource: "output_tokens", perMinute: l.OutputTokensPerMinute, cost: func(it *item) int64 { return int64(it.output) }},
	} {
		if m.perMinute > 0 {
			m.step = u.Window / meterSteps
			m.allowed = max(1, int64(float64(m.perMinute)*u.Window.Minutes()))
			u.limits = append(u.limits, m)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(u.Errors)) {
		u.odds = append(u.odds, odd{provider.Kind(kind), u.Errors[kind]})
	}
	return u
}

// refusalTime is how long an upstream takes to refuse a call, or to be found away.
const refusalTime = 20 * time.Millisecond

// begin takes a call, and says how long it takes and what comes of it.
func (u *upstream) begin(now time.Duration, it *item) (took time.Duration, out outcome) {
	for _, f := range u.outages {
		if f.From <= now && now < f.To {
			return refusalTime, outcome{kind: f.Kind}
		}
	}
	took, out = u.answer(now, it)
	for _, f := range u.outages {
		if now < f.From && f.From < now+took {
			return f.From - now, outcome{kind: provider.KindNetwork}
		}
	}
	return took, out
}

func (u *upstream) answer(now time.Duration, it *item) (time.Duration, outcome) {
	if limit := u.Upstream.Limits.Concurrency; limit > 0 && u.running >= limit {
		return refusalTime, outcome{provider.KindOverloaded, u.RetryAfter}
	}
	for _, m := range u.limits {
		if !m.allows(now, it) {
			return refusalTime, outcome{provider.KindRateLimited, u.RetryAfter}
		}
	}
	for _, m := range u.limits {
		m.use(now, it)
	}
	took := u.Latency.Base + time.Duration(it.output)*u.Latency.PerOutputToken
	took += time.Duration(float64(took) * u.Latency.Jitter * (2*u.random.Float64() - 1))
	chance := u.random.Float64()
	for _, o := range u.odds {
		if chance -= o.p; chance < 0 {
			return took, outcome{o.kind, u.RetryAfter}
		}
	}
	return took, outcome{}
}

// meterSteps is in how many steps a window slides. What was used falls out of it up to a step early: no
// upstream is stricter than its limit.
const meterSteps = 1000

// meter allows so much in any window of time, wherever that begins: the strictest way to count a limit.
type meter struct {
	resource  string
	perMinute int64
	cost      func(*item) int64
	allowed   int64 // in a window
	step      time.Duration
	steps     [meterSteps]int64
	at        int64 // the newest step
	inWindow  int64
	used      int64 // since the figures began
}

func (m *meter) allows(now time.Duration, it *item) bool {
	newest := int64(now / m.step)
	for range min(newest-m.at, int64(len(m.steps))) {
		m.at++
		oldest := &m.steps[m.at%int64(len(m.steps))]
		m.inWindow -= *oldest
		*oldest = 0
	}
	m.at = newest
	return m.inWindow+m.cost(it) <= m.allowed
}

func (m *meter) use(now time.Duration, it *item) {
	n := m.cost(it)
	m.steps[int64(now/m.step)%int64(len(m.steps))] += n
	m.inWindow += n
	m.used += n
}

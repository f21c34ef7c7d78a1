package forecast

import (
	"encoding/json"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// Result is what a scenario came to. Figures leave the warm-up out.
type Result struct {
	About     string  `json:"about,omitempty"`
	Seed      int64   `json:"seed"`
	Seconds   float64 `json:"seconds"`         // that figures were taken for
	WarmUp    float64 `json:"warm_up_seconds"` // before that
	Processes int     `json:"processes"`
	Slots     int     `json:"slots"`      // of all processes
	SlotsUsed float64 `json:"slots_used"` // on average, as a part of all
	// PoolRefreshes is how often processes asked for their part of the shared limits, per second.
	PoolRefreshes float64        `json:"pool_refreshes_per_second"`
	Lanes         []Row          `json:"lanes"`
	Tenants       []Row          `json:"tenants"`
	Targets       []TargetResult `json:"targets"`
}

// Row is how the items of a lane or of a group of tenants fared.
type Row struct {
	Name    string        `json:"name"`
	Lane    penstock.Lane `json:"lane"`
	Tenants int           `json:"tenants"`

	Submitted int64 `json:"submitted"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Expired   int64 `json:"expired"`
	Refused   int64 `json:"refused"` // calls for which there was no capacity in time
	Waiting   int   `json:"waiting"` // at the end
	Running   int   `json:"running"` // at the end
	Attempts  int64 `json:"attempts"`
	Retries   int64 `json:"retries"`

	ItemsPerSecond  float64 `json:"items_per_second"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	Wait            Spread  `json:"wait"`  // from due to start
	Total           Spread  `json:"total"` // from arrival to success

	// Judged is how many tenants waited for long enough to tell whether they got their due. Due is what
	// part of it they got together, 0 for none; Jain is Jain's index over their parts, 0 for fewer than two.
	Judged int     `json:"judged"`
	Due    float64 `json:"due,omitempty"`
	Jain   float64 `json:"jain,omitempty"`
}

// TargetResult is how a target was used.
type TargetResult struct {
	Name     string                  `json:"name"`
	Attempts int64                   `json:"attempts"`
	Answers  int64                   `json:"answers"`
	Limited  int64                   `json:"limited"` // refused with 429
	Errors   map[provider.Kind]int64 `json:"errors,omitempty"`

	ItemsPerSecond  float64 `json:"items_per_second"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	Latency         Spread  `json:"latency"`
	Running         float64 `json:"running"` // calls at a time, on average
	Peak            int     `json:"peak"`
	// Used is what part of each limit was used that the upstream enforces.
	Used map[string]float64 `json:"used,omitempty"`
}

// Spread is how durations are distributed.
type Spread struct{ P50, P95, P99, Max time.Duration }

// MarshalJSON writes milliseconds.
func (s Spread) MarshalJSON() ([]byte, error) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return json.Marshal(map[string]float64{"p50_ms": ms(s.P50), "p95_ms": ms(s.P95), "p99_ms": ms(s.P99), "max_ms": ms(s.Max)})
}

func (h *histogram) spread() Spread {
	return Spread{h.quantile(0.50), h.quantile(0.95), h.quantile(0.99), h.max}
}

func (s *sim) result() *Result {
	s.now = s.ended
	seconds := (s.ended - s.WarmUp).Seconds()
	r := &Result{
		About: s.About, Seed: s.Seed, Seconds: seconds, WarmUp: s.WarmUp.Seconds(),
		Processes: s.Processes.Count, Slots: s.Processes.Count * s.Processes.Slots,
	}
	refreshes := int64(0)
	slots := s.measure.slots
	for _, p := range s.processes {
		for _, it := range p.held {
			if it.tenant.group.Kind == Jobs {
				slots += s.measured(it.held)
			}
			if !it.waits {
				it.target.busy += s.measured(it.began)
			}
		}
		if p.pools != nil {
			refreshes += p.pools.refreshes
		}
	}
	if seconds > 0 {
		r.SlotsUsed = slots.Seconds() / seconds / float64(r.Slots)
		r.PoolRefreshes = float64(refreshes) / s.ended.Seconds()
	}
	for _, g := range s.groups {
		r.Tenants = append(r.Tenants, rowOf(g.Name, seconds, g))
	}
	for _, l := range s.lanes {
		var in []*group
		for _, g := range s.groups {
			if g.Lane == l.name {
				in = append(in, g)
			}
		}
		if len(in) > 0 {
			r.Lanes = append(r.Lanes, rowOf(string(l.name), seconds, in...))
		}
	}
	for _, u := range s.targets {
		r.Targets = append(r.Targets, u.result(seconds))
	}
	return r
}

// rowOf adds groups up.
func rowOf(name string, seconds float64, groups ...*group) Row {
	r := Row{Name: name, Lane: groups[0].Lane}
	var waits, totals histogram
	var parts []float64
	var tokens int64
	var got, fair float64
	for _, g := range groups {
		r.Tenants += g.Count
		r.Submitted += g.submitted
		r.Succeeded += g.ends[succeeded]
		r.Failed += g.ends[failed]
		r.Expired += g.ends[expired]
		r.Refused += g.ends[refused]
		r.Attempts += g.attempts
		r.Retries += g.retries
		r.Waiting += g.waiting
		r.Running += g.running
		tokens += g.tokens
		waits.merge(&g.waits)
		totals.merge(&g.totals)
		for _, t := range g.tenants {
			t.settle(t)
			if part, enough := t.judged(); enough {
				parts = append(parts, part)
				got += t.got
				fair += t.fair
			}
		}
	}
	if seconds > 0 {
		r.ItemsPerSecond, r.TokensPerSecond = float64(r.Succeeded)/seconds, float64(tokens)/seconds
	}
	r.Wait, r.Total = waits.spread(), totals.spread()
	if r.Judged = len(parts); r.Judged > 0 {
		r.Due = got / fair
	}
	if r.Judged > 1 {
		r.Jain = jain(parts)
	}
	return r
}

func (u *upstream) result(seconds float64) TargetResult {
	r := TargetResult{
		Name: u.believed.Name, Attempts: u.attempts, Answers: u.answers, Limited: u.errors[provider.KindRateLimited],
		Errors: u.errors, Latency: u.latency.spread(), Peak: u.peak, Used: map[string]float64{},
	}
	if seconds == 0 {
		return r
	}
	r.ItemsPerSecond = float64(u.answers) / seconds
	r.TokensPerSecond = float64(u.input+u.output) / seconds
	r.Running = u.busy.Seconds() / seconds
	for _, m := range u.limits {
		r.Used[m.resource] = float64(m.used) / (float64(m.perMinute) * seconds / 60)
	}
	if limit := u.Upstream.Limits.Concurrency; limit > 0 {
		r.Used["concurrency"] = r.Running / float64(limit)
	}
	return r
}

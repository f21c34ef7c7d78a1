package forecast

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/fair"
	"penstock/internal/provider"
)

// anyLimits are few enough to matter.
func anyLimits(t *rapid.T) Limits {
	switch rapid.IntRange(0, 3).Draw(t, "limit") {
	case 0:
		return Limits{Concurrency: rapid.IntRange(1, 12).Draw(t, "concurrency")}
	case 1:
		return Limits{RequestsPerMinute: rapid.Int64Range(60, 3000).Draw(t, "requests")}
	case 2:
		return Limits{OutputTokensPerMinute: rapid.Int64Range(10_000, 500_000).Draw(t, "output")}
	}
	return Limits{}
}

func anyTarget(t *rapid.T) Target {
	believed := anyLimits(t)
	real := believed
	if rapid.Bool().Draw(t, "wrong belief") {
		real = anyLimits(t)
	}
	target := Target{Limits: believed, Upstream: Upstream{
		Limits: real, Window: rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "window"),
		Latency:    Latency{Base: rapid.SampledFrom([]time.Duration{time.Millisecond, 200 * time.Millisecond, 2 * time.Second}).Draw(t, "base"), Jitter: 0.3},
		RetryAfter: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "retry after"),
	}}
	if rapid.Bool().Draw(t, "errors") {
		target.Upstream.Errors = map[string]float64{"server_error": 0.1, "rejected": 0.05, "timeout": 0.05}
	}
	return target
}

func anyGroup(t *rapid.T, name string) Group {
	g := Group{
		Name: name, Count: rapid.IntRange(1, 5).Draw(t, "count"), Weight: rapid.Int64Range(1, 4).Draw(t, "weight"), Kind: Jobs,
		Lane: rapid.SampledFrom(penstock.Lanes).Draw(t, "lane"), Jobs: 3, MaxTokens: 400, MaxAttempts: 3,
		Models:       rapid.SampledFrom([][]string{{"one"}, {"two"}, {"one", "two"}}).Draw(t, "models"),
		InputTokens:  Tokens{Fixed: 100},
		OutputTokens: Tokens{Min: 10, Max: 300},
		Deadline:     rapid.SampledFrom([]time.Duration{5 * time.Second, time.Hour}).Draw(t, "deadline"),
		Arrivals: Arrivals{
			Rate: rapid.SampledFrom([]float64{0, 1, 20}).Draw(t, "rate"), Backlog: rapid.IntRange(1, 100).Draw(t, "backlog"),
			Burst: rapid.IntRange(0, 20).Draw(t, "burst"), At: 2 * time.Second, Every: 3 * time.Second, Until: MaxDuration,
		},
	}
	if rapid.IntRange(0, 3).Draw(t, "calls") == 0 {
		g.Kind, g.Lane = Calls, penstock.LaneRealtime
	}
	return g
}

// anyScenario is small, and as unpleasant as can be.
func anyScenario(t *rapid.T) *Scenario {
	s := &Scenario{
		Duration: 20 * time.Second, Seed: rapid.Int64Range(1, 1000).Draw(t, "seed"),
		Processes: Processes{Count: rapid.IntRange(1, 3).Draw(t, "processes"), Slots: rapid.IntRange(1, 20).Draw(t, "slots"), LeaseTimeout: 3 * time.Second},
		Lanes:     LaneWeights{64, 8, 1},
		Targets:   map[string]Target{"a": anyTarget(t), "b": anyTarget(t)},
		Models:    map[string][]string{"one": {"a", "b"}, "two": {"b"}},
	}
	for _, name := range []string{"x", "y", "z"} {
		s.Tenants = append(s.Tenants, anyGroup(t, name))
	}
	if rapid.Bool().Draw(t, "outage") {
		s.Faults = append(s.Faults, Fault{Target: "a", Kind: provider.KindConnect, From: 4 * time.Second, To: 9 * time.Second})
	}
	if rapid.Bool().Draw(t, "kill") {
		to := rapid.SampledFrom([]time.Duration{6 * time.Second, time.Minute}).Draw(t, "until")
		s.Faults = append(s.Faults, Fault{Process: rapid.IntRange(1, s.Processes.Count).Draw(t, "killed"), From: 5 * time.Second, To: to})
	}
	return s
}

// Whatever happens, every item is somewhere, once.
func TestItemsAreConserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(anyScenario(t))
		s.inspect = func() {
			live, held := 0, 0
			for _, g := range s.groups {
				ended := int64(0)
				for _, n := range g.ends {
					ended += n
				}
				if g.waiting < 0 || g.running < 0 || g.submitted != ended+int64(g.waiting+g.running) {
					t.Fatalf("at %v, %s: %d submitted, %d ended, %d waiting, %d running", s.now, g.Name, g.submitted, ended, g.waiting, g.running)
				}
				live += g.waiting + g.running
			}
			for _, p := range s.processes {
				jobs := 0
				for _, it := range p.held {
					if it.tenant.group.Kind == Jobs {
						jobs++
					}
				}
				if p.alive && p.free+jobs != s.Processes.Slots {
					t.Fatalf("at %v a process has %d slots free and %d in use of %d", s.now, p.free, jobs, s.Processes.Slots)
				}
				held += len(p.held)
			}
			for _, u := range s.targets {
				held -= u.running
			}
			for _, p := range s.processes {
				held -= p.waiting
			}
			if live != s.live || held != 0 {
				t.Fatalf("at %v: %d items live, of %d that are known; %d are held and nowhere", s.now, live, s.live, held)
			}
		}
		if err := s.run(t.Context(), func(Progress) {}); err != nil {
			t.Fatal(err)
		}
	})
}

// No slot is free while an item is ready and a target of it has capacity.
func TestWorkIsConserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(anyScenario(t))
		s.inspect = func() {
			for _, p := range s.processes {
				if looks := p.refreshAt >= 0 && p.refreshAt-s.now <= time.Microsecond; !p.alive || p.free == 0 || looks {
					continue // pools count microseconds: in the last case it looks in this very moment
				}
				for _, l := range s.lanes {
					for _, m := range s.models {
						if len(l.models[m.index]) > 0 && hasCapacity(p, m) && l.models[m.index][0].items[0].deadline > s.now {
							t.Fatalf("at %v process %d has %d slots free, and capacity for %s, which is ready in %s; it looks at %v", s.now, p.index, p.free, m.name, l.name, p.refreshAt)
						}
					}
				}
			}
		}
		if err := s.run(t.Context(), func(Progress) {}); err != nil {
			t.Fatal(err)
		}
	})
}

func hasCapacity(p *process, m *model) bool {
	for _, u := range m.targets {
		if p.tracker.Look(&u.believed).Reason == "" {
			return true
		}
	}
	return false
}

// steady is a target that all lanes and tenants compete for.
func steady(t *rapid.T) *Scenario {
	return &Scenario{
		Duration: time.Minute, Seed: rapid.Int64Range(1, 1000).Draw(t, "seed"),
		Processes: Processes{Count: rapid.IntRange(1, 2).Draw(t, "processes"), Slots: rapid.IntRange(2, 20).Draw(t, "slots"), LeaseTimeout: 10 * time.Second},
		Lanes:     LaneWeights{64, 8, 1},
		Targets:   map[string]Target{"a": {Limits: Limits{Concurrency: 10}, Upstream: Upstream{Limits: Limits{Concurrency: 10}, Window: time.Minute, Latency: Latency{Base: 100 * time.Millisecond, Jitter: 0.5}}}},
		Models:    map[string][]string{"one": {"a"}},
	}
}

func backlogged(t *rapid.T, name string, lane penstock.Lane) Group {
	return Group{
		Name: name, Count: 1, Weight: rapid.Int64Range(1, 5).Draw(t, "weight"), Kind: Jobs, Lane: lane, Models: []string{"one"}, Jobs: 1,
		MaxTokens: 500, MaxAttempts: 3, Deadline: time.Hour, Arrivals: Arrivals{Backlog: 10_000, Until: MaxDuration},
		InputTokens: Tokens{Fixed: rapid.Int64Range(1, 800).Draw(t, "input")}, OutputTokens: Tokens{Min: 10, Max: 500},
	}
}

// However heavy the others are, no lane stands still.
func TestNoLaneStarves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := steady(t)
		for _, lane := range penstock.Lanes {
			s.Tenants = append(s.Tenants, backlogged(t, string(lane), lane))
		}
		r, err := Run(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, lane := range r.Lanes {
			if lane.Waiting == 0 || lane.Succeeded == 0 {
				t.Fatalf("%s: %d of %d items done", lane.Name, lane.Succeeded, lane.Submitted)
			}
		}
	})
}

// Tenants that always wait get what their weights entitle them to, but for one turn and what is under way.
func TestSharesAreWithinATurn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := steady(t)
		for _, name := range []string{"x", "y", "z"} {
			s.Tenants = append(s.Tenants, backlogged(t, name, penstock.LaneBulk))
		}
		m := newSim(s)
		if err := m.run(t.Context(), func(Progress) {}); err != nil {
			t.Fatal(err)
		}
		slots := float64(s.Processes.Count * s.Processes.Slots)
		for _, g := range m.groups {
			mine := g.tenants[0]
			mine.settle(mine)
			largest := float64(800*bytesPerToken + 500)
			if off := mine.got - mine.fair; off > fair.QuantumTokens+slots*largest || -off > fair.QuantumTokens+slots*largest {
				t.Fatalf("%s got %.0f tokens, its due is %.0f", g.Name, mine.got, mine.fair)
			}
			if part := mine.got / mine.fair; mine.fair > 2_000_000 && (part < 0.97 || part > 1.03) {
				t.Fatalf("%s got %.1f %% of its due", g.Name, 100*part)
			}
		}
	})
}

func TestRunsAreDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyScenario(t)
		first, err := Run(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Run(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

package forecast

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/queue"
)

// sim is a scenario while it is played.
type sim struct {
	*Scenario
	now    time.Duration
	events agenda
	random *rand.Rand // of retries

	lanes     []*lane // as penstock.Lanes
	groups    []*group
	models    []*model
	targets   []*upstream
	processes []*process
	pools     *capacity.Memory // nil when one process shares with nobody
	idle      bitset           // processes with a free slot
	turn      int              // the process that looks first for what comes next

	items      []*item // that ended and can be used again
	itemSeq    uint64
	live       int // items that have not ended
	mostLive   int // their bound
	arrivals   int // planned
	endedItems int64

	ended   time.Duration // when it was over
	measure measure
	inspect func() // tests look after each event; nil for nobody
}

// epoch is when every scenario begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *sim) clock() time.Time { return epoch.Add(s.now) }

// The streams of random numbers. Each part has its own, so that a change to one leaves the others alone.
const (
	streamRetries = iota
	streamTargets = 1 << 20
	streamGroups  = 1 << 21
)

func (s *sim) stream(n int) *rand.Rand { return rand.New(rand.NewPCG(uint64(s.Seed), uint64(n))) }

func newSim(scenario *Scenario) *sim {
	s := &sim{Scenario: scenario, mostLive: MaxLive, idle: newBitset(scenario.Processes.Count)}
	s.random = s.stream(streamRetries)
	s.addModels()
	for _, name := range penstock.Lanes {
		s.lanes = append(s.lanes, &lane{name: name, models: make([]modelQueueHeap, len(s.models))})
	}
	if s.Processes.Count > 1 {
		s.pools = capacity.NewMemory(s.clock)
	}
	s.addFaults()
	if s.WarmUp > 0 {
		s.events.push(event{at: s.WarmUp, what: warm})
	}
	s.addGroups()
	for i := range s.Processes.Count {
		s.processes = append(s.processes, &process{sim: s, index: i})
	}
	for _, p := range s.processes {
		p.start()
	}
	return s
}

// addModels makes the targets and the models over them, by name: the order of a map is not.
func (s *sim) addModels() {
	byName := map[string]*upstream{}
	for i, name := range slices.Sorted(maps.Keys(s.Targets)) {
		u := newUpstream(name, s.Targets[name], s.stream(streamTargets+i))
		u.index = i
		s.targets = append(s.targets, u)
		byName[name] = u
	}
	for i, name := range slices.Sorted(maps.Keys(s.Models)) {
		m := &model{name: name, index: i, open: newBitset(s.Processes.Count)}
		for _, t := range s.Models[name] {
			m.targets = append(m.targets, byName[t])
		}
		s.models = append(s.models, m)
	}
}

func (s *sim) addFaults() {
	for i, f := range s.Faults {
		if f.Process > 0 {
			s.events.push(event{at: f.From, what: outage, n: int32(i)})
			s.events.push(event{at: f.To, what: recovery, n: int32(i)})
			continue
		}
		u := s.targets[slices.IndexFunc(s.targets, func(u *upstream) bool { return u.believed.Name == f.Target })]
		u.outages = append(u.outages, f)
	}
	for _, u := range s.targets {
		slices.SortFunc(u.outages, func(a, b Fault) int { return cmp.Compare(a.From, b.From) })
	}
}

func (s *sim) addGroups() {
	arenas := s.arenas()
	index := 0
	for i := range s.Tenants {
		spec := &s.Tenants[i]
		g := &group{Group: spec, index: i, random: s.stream(streamGroups + i)}
		for _, name := range spec.Models {
			g.models = append(g.models, s.models[slices.IndexFunc(s.models, func(m *model) bool { return m.name == name })])
		}
		l := laneIndex(spec.Lane)
		for range spec.Count {
			t := &tenant{group: g, index: index, lane: s.lanes[l], arena: arenas[l][g.models[0].index]}
			t.share = &share{tenant: t}
			t.share.Weight = spec.Weight
			g.tenants = append(g.tenants, t)
			index++
		}
		s.groups = append(s.groups, g)
	}
	for _, g := range s.groups {
		s.plan(g)
	}
}

// arenas finds, for every lane and model, where its tenants compete: models that share a target, or that
// one tenant uses in turn, are one arena.
func (s *sim) arenas() [][]*arena {
	root := make([]int, len(s.models))
	for i := range root {
		root[i] = i
	}
	join := func(a, b int) {
		from, to := root[a], root[b]
		for i := range root {
			if root[i] == from {
				root[i] = to
			}
		}
	}
	for i, a := range s.models {
		for j, b := range s.models[:i] {
			if slices.ContainsFunc(a.targets, func(u *upstream) bool { return slices.Contains(b.targets, u) }) {
				join(i, j)
			}
		}
	}
	index := func(name string) int {
		return slices.IndexFunc(s.models, func(m *model) bool { return m.name == name })
	}
	for _, g := range s.Tenants {
		for _, name := range g.Models {
			join(index(name), index(g.Models[0]))
		}
	}
	all := make([][]*arena, len(s.lanes))
	for l := range all {
		all[l] = make([]*arena, len(s.models))
		for i := range all[l] {
			if all[l][root[i]] == nil {
				all[l][root[i]] = new(arena)
			}
			all[l][i] = all[l][root[i]]
		}
	}
	return all
}

func (s *sim) weights() queue.LaneWeights {
	return queue.LaneWeights{
		penstock.LaneRealtime: s.Lanes.Realtime, penstock.LaneStandard: s.Lanes.Standard, penstock.LaneBulk: s.Lanes.Bulk,
	}
}

// anyReady says whether any lane has work.
func (s *sim) anyReady() bool {
	return slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.ready > 0 })
}

// done says that nothing is left to come.
func (s *sim) done() bool {
	return s.live == 0 && s.arrivals == 0 && s.now >= s.WarmUp && !slices.ContainsFunc(s.groups, func(g *group) bool {
		return g.Arrivals.Burst > 0 && (s.now <= g.Arrivals.At || (g.Arrivals.Every > 0 && s.now+g.Arrivals.Every < g.Arrivals.Until))
	})
}

func (s *sim) play(e event) {
	if e.item != nil && e.item.age != e.age {
		return
	}
	switch e.what {
	case arrival:
		s.arrive(s.groups[e.n])
	case burst:
		s.burst(s.groups[e.n])
	case ring:
		s.call(e.item)
	case answer:
		s.answered(e.item)
	case due:
		s.queue(e.item)
	case patience:
		s.giveUp(e.item)
	case rescue:
		s.rescue(e.item)
	case refresh:
		if p := s.processes[e.n]; p.refreshAt == e.at {
			p.refresh()
		}
	case outage:
		s.processes[s.Faults[e.n].Process-1].kill()
	case recovery:
		s.processes[s.Faults[e.n].Process-1].start()
	case expiry:
		s.processes[e.n].vacate()
	case warm:
		s.beginFigures()
	}
}

// planItem puts the next step of an item on the agenda, and voids the one that was planned before.
func (s *sim) planItem(it *item, in time.Duration, what happening) {
	it.age++
	s.events.push(event{at: s.now + in, what: what, item: it, age: it.age})
}

func (s *sim) newItem() *item {
	it := new(item)
	if n := len(s.items); n > 0 {
		it, s.items = s.items[n-1], s.items[:n-1]
		*it = item{age: it.age}
	}
	s.itemSeq++
	it.seq = s.itemSeq
	return it
}

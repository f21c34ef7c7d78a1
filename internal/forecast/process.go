package forecast

import (
	"context"
	"strconv"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/fair"
	"penstock/internal/queue"
	"penstock/internal/store"
)

// maxClaim is how many items one claim takes at the most, as package work has it.
const maxClaim = 256

// process is one process of Penstock: its slots, its capacity tracker, and the line of calls that wait for capacity.
type process struct {
	sim   *sim
	index int
	alive bool
	epoch int // how often it was started
	free  int // slots
	held  []*item

	lanes     *queue.Stride
	given     map[penstock.Lane]int64 // tokens of the claim under way
	rested    bool                    // the last claim found nothing
	tracker   *capacity.Tracker
	pools     *countedPools
	dead      []*countedPools // of its earlier lives, whose leases have not ended
	refreshAt time.Duration   // when a refresh is planned, -1 for never
	refreshed time.Duration   // when the last one was
	used      []correction
	expected  fair.Expectations

	none    targets // that refused since capacity last came back
	blocked []bool  // models, none of whose targets has capacity
	line    [3]line // those who wait, by the urgency of their lanes
	waiting int
}

// correction is what an item used beyond what was charged for it.
type correction struct {
	tenant *tenant
	tokens int64
}

// countedPools counts what a process asks of the shared pools. It remembers the permits, which a dead process must give up.
type countedPools struct {
	capacity.Pools
	permits   map[string]int // pools, and their caps
	refreshes int64
}

// Withdraw implements capacity.Pools.
func (t *countedPools) Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error) {
	t.refreshes++
	for _, d := range w.Permits {
		if d.Cap > 0 {
			t.permits[d.Pool] = d.Cap
		}
	}
	return t.Pools.Withdraw(ctx, w)
}

// start begins to work with nothing known of the targets.
func (p *process) start() {
	p.alive, p.free, p.epoch = true, p.sim.Processes.Slots, p.epoch+1
	p.lanes, p.rested = queue.NewStride(p.sim.weights()), false
	p.given = make(map[penstock.Lane]int64, len(penstock.Lanes))
	p.none, p.waiting, p.used, p.expected = 0, 0, nil, make(fair.Expectations)
	p.blocked = make([]bool, len(p.sim.models))
	cfg := capacity.Config{Clock: p.sim.clock}
	if p.sim.pools != nil {
		name := strconv.Itoa(p.index) + "." + strconv.Itoa(p.epoch)
		p.pools = &countedPools{Pools: p.sim.pools.Process(name), permits: map[string]int{}}
		cfg.Pools = p.pools
	}
	p.tracker = capacity.New(cfg)
	p.tracker.Notify(p.capacityBack)
	p.refreshAt, p.refreshed = -1, p.sim.now-refreshSpacing
	p.sim.idle.add(p.index)
	for _, m := range p.sim.models {
		m.open.add(p.index)
	}
	p.fill()
}

// kill ends a process without a word. Its items stay taken until its lease ends; its calls are lost.
func (p *process) kill() {
	if !p.alive {
		return
	}
	p.alive, p.free, p.waiting, p.refreshAt = false, 0, 0, -1
	p.sim.idle.remove(p.index)
	p.line = [3]line{}
	held := p.held
	p.held = nil
	for _, it := range held {
		p.sim.lose(it)
	}
	if p.pools != nil {
		p.dead = append(p.dead, p.pools)
	}
	p.sim.events.push(event{at: p.sim.now + p.sim.Processes.LeaseTimeout, what: expiry, n: int32(p.index)})
}

// vacate gives up the permits of a process whose lease ended.
func (p *process) vacate() {
	if len(p.dead) == 0 {
		return
	}
	var w store.Withdrawal
	for pool, permits := range p.dead[0].permits {
		w.Permits = append(w.Permits, store.PermitDraw{Pool: pool, Cap: permits})
	}
	_, _ = p.dead[0].Withdraw(context.Background(), w) // in memory, it cannot fail
	p.dead = p.dead[1:]
}

// fill claims until slots or work are used up.
func (p *process) fill() {
	for p.free > 0 && p.alive {
		wanted := min(p.free, maxClaim)
		if p.claim(wanted) < wanted {
			return
		}
	}
}

// claim takes items for free slots: lane by lane, as the stride orders them.
func (p *process) claim(wanted int) (taken int) {
	for _, c := range p.used {
		c.tenant.lane.correct(c.tenant, c.tokens)
	}
	p.used = p.used[:0]
	if p.rested && !p.sim.anyReady() {
		return 0 // the lanes know already that they have nothing
	}
	order := p.lanes.Order()
	clear(p.given)
	for _, name := range order {
		l := p.sim.lanes[laneIndex(name)]
		if l.ready == 0 || taken == wanted {
			continue
		}
		c := laneClaim{lane: l, process: p, sim: p.sim, limit: wanted - taken}
		c.pick()
		taken += c.taken
		p.given[name] = c.given
	}
	p.lanes.Claimed(order, p.given, wanted-taken)
	p.rested = taken == 0
	return taken
}

// take takes capacity for an item of the first target that was not tried and has some.
func (p *process) take(it *item) bool {
	for _, u := range it.model.targets {
		if it.tried.has(u) || p.none.has(u) {
			continue
		}
		reservation, ok := p.tracker.Take(capacity.Ask{
			Target: &u.believed, InputTokens: int64(it.input), MaxOutputTokens: it.tenant.group.MaxTokens,
		})
		if ok {
			it.reservation, it.target = reservation, u
			if p.pools != nil {
				p.refreshSoon()
			}
			return true
		}
		p.none.add(u)
		if look := p.tracker.Refused(&u.believed); look.Wait != capacity.Forever {
			p.planRefresh(p.sim.now + max(look.Wait, time.Microsecond))
		}
		p.refreshSoon()
	}
	return false
}

// block notes that there is no capacity for a model.
func (p *process) block(m *model) {
	p.blocked[m.index] = true
	m.open.remove(p.index)
}

// capacityBack looks whether capacity came back, and gives it to those in line first.
func (p *process) capacityBack() {
	if !p.tracker.Wake() {
		p.refreshSoon() // what was full may be at its rate limit now, which is a matter of time
		return
	}
	p.none = 0
	for i, m := range p.sim.models {
		p.blocked[i] = false
		m.open.add(p.index)
	}
	p.serve()
	p.fill()
}

// hold gives an item to the process; items of jobs take a slot.
func (p *process) hold(it *item) {
	it.process, it.place, it.held = p, int32(len(p.held)), p.sim.now
	p.held = append(p.held, it)
	if it.tenant.group.Kind == Jobs {
		if p.free--; p.free == 0 {
			p.sim.idle.remove(p.index)
		}
	}
}

// letGo takes an item away from the process that has it.
func (p *process) letGo(it *item) {
	last := p.held[len(p.held)-1]
	p.held[it.place], last.place = last, it.place
	p.held[len(p.held)-1] = nil
	p.held = p.held[:len(p.held)-1]
	if it.tenant.group.Kind == Jobs {
		p.sim.measure.slots += p.sim.measured(it.held)
		p.free++
		p.sim.idle.add(p.index)
	}
}

// refreshSpacing is how often a tracker may ask the shared pools. It decides itself whether it does.
const refreshSpacing = 20 * time.Millisecond

// refreshSoon has the tracker looked at as soon as it may have something to ask. One that shares with nobody
// asks nothing, but knows when there is capacity again.
func (p *process) refreshSoon() {
	if p.pools != nil {
		p.planRefresh(max(p.sim.now, p.refreshed+refreshSpacing))
		return
	}
	p.refreshWhenDue()
}

// refreshWhenDue has the tracker looked at when it wants to be.
func (p *process) refreshWhenDue() {
	if wait := p.tracker.Next(); wait != capacity.Forever {
		p.planRefresh(p.sim.now + max(wait, time.Microsecond))
	}
}

func (p *process) planRefresh(at time.Duration) {
	if p.refreshAt < 0 || at < p.refreshAt {
		p.refreshAt = at
		p.sim.events.push(event{at: at, what: refresh, n: int32(p.index)})
	}
}

// refresh lets the tracker ask the shared pools, and looks whether capacity came back.
func (p *process) refresh() {
	p.refreshAt, p.refreshed = -1, p.sim.now
	_ = p.tracker.Refresh(context.Background()) // in memory, it cannot fail; it tells capacityBack
	p.refreshWhenDue()
}

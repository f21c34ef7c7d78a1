package work

import (
	"context"
	"runtime"

	"penstock"
	"penstock/internal/queue"
)

// SlotPool is a number of slots that are reserved for some models, so that a slow model cannot take all slots.
type SlotPool struct {
	Models []string
	Slots  int
}

// pool is a number of slots and the goroutine that fills them. All pools but the last are for certain models; the last
// runs the items of all others.
type pool struct {
	models []string // whose items run here; none for all
	except []string // whose items run in other pools
	slots  chan struct{}
	lanes  *queue.Stride   // used by the claiming goroutine alone
	pace   *queue.Pace     // of starts that are not urgent; under the pool's lock
	paced  bool            // the pace kept the last claim from taking more
	counts readyCounts     // used by the claiming goroutine alone
	work   <-chan struct{} // items may be ready
	freed  <-chan struct{} // a target has capacity again

	suspects bool              // suspects run here, and nothing else
	after    penstock.TenantID // the tenant of the last suspect
}

func newSlotPools(cfg Config, deps Deps) []*pool {
	var pools []*pool
	var elsewhere []string
	add := func(models, except []string, slots int) {
		b := &pool{
			models: models, except: except, slots: make(chan struct{}, slots),
			lanes: queue.NewStride(queue.DefaultLaneWeights), work: deps.Work.SubscribeAll().C,
			pace: queue.NewPace(slots),
		}
		if deps.Freed != nil {
			b.freed = deps.Freed.SubscribeAll().C
		}
		pools = append(pools, b)
	}
	for _, b := range cfg.SlotPools {
		add(b.Models, nil, b.Slots)
		elsewhere = append(elsewhere, b.Models...)
	}
	add(nil, elsewhere, cfg.Slots)
	if cfg.Suspects > 0 {
		// Suspects are rare: they are found by polling, without notifications.
		pools = append(pools, &pool{
			suspects: true, slots: make(chan struct{}, cfg.Suspects), lanes: queue.NewStride(queue.DefaultLaneWeights), pace: queue.NewPace(cfg.Suspects),
		})
	}
	return pools
}

// slotsOf is how many items can run at a time.
func slotsOf(pools []*pool) (n int) {
	for _, b := range pools {
		n += cap(b.slots)
	}
	return n
}

// InUse is how many slots are taken.
func (p *Pool) InUse() int { return p.slotsInUse() }

func (p *Pool) slotsInUse() (n int) {
	for _, b := range p.pools {
		if !b.suspects {
			n += len(b.slots)
		}
	}
	return n
}

// takeSlots waits for one free slot and takes as many more as there are, up to MaxClaim. It takes
// none when ctx has ended.
func (b *pool) takeSlots(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case b.slots <- struct{}{}:
	}
	runtime.Gosched() // lets items that are about to end free their slots
	taken := 1
	for taken < MaxClaim {
		select {
		case b.slots <- struct{}{}:
			taken++
		default:
			return taken
		}
	}
	return taken
}

func (b *pool) giveSlots(n int) {
	for range n {
		<-b.slots
	}
}

// charge charges the lanes for their claimed items.
func (b *pool) charge(lanes []penstock.Lane, claimed []*granted, wanted int) {
	given := make(map[penstock.Lane]int64, len(lanes))
	for i := range claimed {
		given[claimed[i].Lane] += max(claimed[i].Estimate, 1)
	}
	b.lanes.Claimed(lanes, given, wanted-len(claimed))
}

package work

import (
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
	slots  *queue.Slots
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
			models: models, except: except, slots: queue.NewSlots(slots),
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
			suspects: true, slots: queue.NewSlots(cfg.Suspects), lanes: queue.NewStride(queue.DefaultLaneWeights), pace: queue.NewPace(cfg.Suspects),
		})
	}
	return pools
}

// slotsOf is how many items can run at a time.
func slotsOf(pools []*pool) (n int) {
	for _, b := range pools {
		n += b.slots.Size()
	}
	return n
}

// InUse is how many slots are taken.
func (p *Pool) InUse() int { return p.slotsInUse() }

func (p *Pool) slotsInUse() (n int) {
	for _, b := range p.pools {
		if !b.suspects {
			n += b.slots.InUse()
		}
	}
	return n
}

// charge charges the lanes for their claimed items.
func (b *pool) charge(lanes []penstock.Lane, claimed []*granted, wanted int) {
	given := make(map[penstock.Lane]int64, len(lanes))
	for i := range claimed {
		given[claimed[i].Lane] += max(claimed[i].Estimate, 1)
	}
	b.lanes.Claimed(lanes, given, wanted-len(claimed))
}

package forecast

import (
	"container/heap"
	"math"
	"slices"

	"penstock"
	"penstock/internal/fair"
)

// lane is the ready items of a lane, by model and tenant: what the store keeps in rows.
type lane struct {
	name   penstock.Lane
	ready  int
	models []modelQueueHeap // by the model's index
	idle   int64            // the highest virtual time of a tenant that became idle
}

// share is a tenant's standing in its lane, with what it has ready.
type share struct {
	fair.Share
	tenant      *tenant
	modelQueues []*modelQueue // one for each of its models
	ready       int           // items on all of them
	done        bool          // it has nothing more to give to the claim that looks at it
}

// modelQueue is what a tenant has ready for one model.
type modelQueue struct {
	share *share
	model *model
	items itemHeap
	place int // in the heap of its lane and model, -1 when it is in none
}

// modelQueueHeap orders the model queues of a lane and a model by whose turn it is.
type modelQueueHeap []*modelQueue

func (h modelQueueHeap) Len() int           { return len(h) }
func (h modelQueueHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h modelQueueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *modelQueueHeap) Push(x any) {
	s := x.(*modelQueue)
	s.place = len(*h)
	*h = append(*h, s)
}
func (h *modelQueueHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	s.place = -1
	*h = (*h)[:last]
	return s
}

func (s *modelQueue) before(o *modelQueue) bool {
	if c := fair.Compare(s.share.Share, o.share.Share); c != 0 {
		return c < 0
	}
	return s.share.tenant.index < o.share.tenant.index
}

// put makes an item ready. A tenant that had nothing ready comes back where the others are.
func (l *lane) put(it *item) {
	s := it.tenant.share
	if s.ready == 0 {
		s.VTime = fair.Rejoin(s.VTime, l.least())
		it.tenant.arena.admit(it.tenant)
	}
	l.ready++
	s.ready++
	modelQueue := s.modelQueue(it.model)
	modelQueue.items.push(it)
	it.queued = true
	if modelQueue.place < 0 {
		heap.Push(&l.models[it.model.index], modelQueue)
	}
}

func (s *share) modelQueue(m *model) *modelQueue {
	for _, sh := range s.modelQueues {
		if sh.model == m {
			return sh
		}
	}
	sh := &modelQueue{share: s, model: m, place: -1}
	s.modelQueues = append(s.modelQueues, sh)
	return sh
}

// least is the virtual time of the tenant whose turn it is, or the highest of all if all are idle.
func (l *lane) least() int64 {
	least := int64(math.MaxInt64)
	for _, h := range l.models {
		if len(h) > 0 {
			least = min(least, h[0].share.VTime)
		}
	}
	if least == math.MaxInt64 {
		return l.idle
	}
	return least
}

// remove takes the first item off a model queue.
func (l *lane) remove(s *modelQueue) *item {
	it := s.items.pop()
	it.queued = false
	l.ready--
	s.share.ready--
	if s.share.ready == 0 {
		it.tenant.arena.leave(it.tenant)
	}
	return it
}

// correct charges a tenant for what its items really used. Idle tenants bank nothing anyway.
func (l *lane) correct(t *tenant, tokens int64) {
	if t.share.ready == 0 {
		return
	}
	l.charge(t.share, tokens)
}

// charge notes what a tenant was given, and moves it back.
func (l *lane) charge(s *share, tokens int64) {
	s.Charge(tokens)
	if s.ready == 0 {
		l.idle = max(l.idle, s.VTime)
	}
	for _, sh := range s.modelQueues {
		if sh.place >= 0 {
			heap.Fix(&l.models[sh.model.index], sh.place)
		}
	}
}

// The windows of a claim, as the store has them: how many model queues are looked at together, and how often.
const (
	shareWindow = 16
	maxWindows  = 64
)

// laneClaim picks items of one lane for a process, from the tenants in the order of their shares.
type laneClaim struct {
	*lane
	process *process
	limit   int
	sim     *sim

	taken   int
	given   int64    // tokens, by their estimates
	shares  []*share // that take part, in the order they joined
	window  int      // how many model queues may still join
	windows int
}

// pick takes ready items that may start, fairly among the tenants.
func (c *laneClaim) pick() {
	c.window, c.windows = shareWindow, 1
	for c.taken < c.limit {
		s := c.next()
		if s == nil {
			break
		}
		c.takeTurn(s)
	}
	for _, s := range c.shares {
		s.done = false
		for _, sh := range s.modelQueues {
			if len(sh.items) > 0 && sh.place < 0 {
				heap.Push(&c.models[sh.model.index], sh)
			}
		}
	}
}

// next is the tenant whose turn it is, nil when none has anything to give. Tenants join the claim as their
// turn comes: those that the store looks at beyond them are in nobody's way.
func (c *laneClaim) next() *share {
	var least *share
	for _, s := range c.shares {
		if !s.done && (least == nil || fair.Compare(s.Share, least.Share) < 0) {
			least = s
		}
	}
	if c.window == 0 && least == nil && c.windows < maxWindows {
		c.window, c.windows = shareWindow, c.windows+1
	}
	if c.window == 0 {
		return least
	}
	if first := c.first(); first != nil && (least == nil || fair.Compare(first.Share, least.Share) < 0) {
		c.join(first)
		return first
	}
	return least
}

// first is the tenant whose turn it is among those that have not joined yet.
func (c *laneClaim) first() *share {
	var first *modelQueue
	for i, h := range c.models {
		if len(h) > 0 && !c.process.blocked[i] && (first == nil || h[0].before(first)) {
			first = h[0]
		}
	}
	if first == nil {
		return nil
	}
	return first.share
}

// join lets a tenant take part: its model queues leave the heaps until the claim is over.
func (c *laneClaim) join(s *share) {
	for _, sh := range s.modelQueues {
		if sh.place >= 0 && !c.process.blocked[sh.model.index] {
			heap.Remove(&c.models[sh.model.index], sh.place)
			c.window = max(0, c.window-1)
		}
	}
	if !slices.Contains(c.shares, s) {
		c.shares = append(c.shares, s)
	}
	s.done = false
}

// takeTurn gives a tenant its turn: items in the order of their deadlines.
func (c *laneClaim) takeTurn(s *share) {
	var turn fair.Turn
	for !turn.Over() && c.taken < c.limit {
		sh := c.earliest(s)
		if sh == nil {
			s.done = true
			break
		}
		it := sh.items[0]
		if it.deadline <= c.sim.now {
			c.sim.expire(c.remove(sh))
			continue
		}
		if !c.process.take(it) {
			c.process.block(sh.model) // what follows is for the same targets
			continue
		}
		it.charged = fair.Tokens(c.process.expected.Of(it.model.name, it.estimate()))
		turn.Add(it.charged)
		c.given += max(it.estimate(), 1)
		c.taken++
		it.tenant.arena.give(it.tenant, it.tokens())
		c.remove(sh)
		c.sim.claimed(c.process, it)
	}
	c.charge(s, turn.Tokens)
}

// earliest is the tenant's model queue with the earliest deadline in front, nil when there is none.
func (c *laneClaim) earliest(s *share) *modelQueue {
	var first *modelQueue
	for _, sh := range s.modelQueues {
		if len(sh.items) == 0 || c.process.blocked[sh.model.index] {
			continue
		}
		if first == nil || sh.items[0].before(first.items[0]) {
			first = sh
		}
	}
	return first
}

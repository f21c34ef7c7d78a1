package forecast

import (
	"container/heap"
	"time"

	"penstock/internal/capacity"
	"penstock/internal/provider"
)

// item is an item of a job, or a synchronous call.
type item struct {
	tenant      *tenant
	model       *model
	process     *process // that has it
	target      *upstream
	reservation *capacity.Reservation
	lent        bool // its last call was a probe of a broken target

	seq            uint64
	born           time.Duration
	due            time.Duration // since when it could be started
	deadline       time.Duration
	held           time.Duration // since when it has its slot
	began          time.Duration // its call
	input, output  int32         // tokens
	charged        int64         // tokens, for its claim
	tries, counted int32
	place          int32  // among those that its process has
	age            uint32 // grows with every step, so that what was planned for an earlier one is void
	tried          targets
	waits          bool // for capacity, in its process's line
	queued         bool
	outcome        outcome // of its last call
	verdict        outcome // what its calls since it was claimed come to

	prev, next *item // in the line
}

// outcome is how a call ends.
type outcome struct {
	kind       provider.Kind // "" for a good answer
	retryAfter time.Duration
}

// tokens is what the item uses.
func (it *item) tokens() int64 { return int64(it.input) + int64(it.output) }

// bytesPerToken is how large an input is. Estimates are upper bounds, and take every byte for a token.
const bytesPerToken = 4

// estimate is the most that the item can use.
func (it *item) estimate() int64 { return int64(it.input)*bytesPerToken + it.tenant.group.MaxTokens }

// before orders the items of a tenant: by deadline, then by age.
func (it *item) before(o *item) bool {
	return it.deadline < o.deadline || (it.deadline == o.deadline && it.seq < o.seq)
}

// itemHeap is a heap of items by deadline and age.
type itemHeap []*item

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h itemHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *itemHeap) Push(x any)        { *h = append(*h, x.(*item)) }
func (h *itemHeap) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}

func (h *itemHeap) push(it *item) { heap.Push(h, it) }
func (h *itemHeap) pop() *item    { return heap.Pop(h).(*item) }

// targets is a set of targets, by their index.
type targets uint64

func (t targets) has(u *upstream) bool { return t&(1<<u.index) != 0 }
func (t *targets) add(u *upstream)     { *t |= 1 << u.index }

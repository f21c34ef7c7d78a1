package cache

import (
	"container/list"
	"time"

	"penstock"
)

// share are the stored answers of one tenant.
type share struct {
	tenant  penstock.TenantID
	entries map[digest]*entry
	order   list.List // of *entry, the one used last in front
	bytes   int64
	at      int // where it stands in the heap
}

// entry is a stored answer and its lifetime.
type entry struct {
	digest digest
	answer *Answer
	ttl    time.Duration
	place  *list.Element
}

// shareHeap has the largest share on top.
type shareHeap []*share

func (h shareHeap) Len() int           { return len(h) }
func (h shareHeap) Less(i, j int) bool { return h[i].bytes > h[j].bytes }

func (h shareHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *shareHeap) Push(x any) {
	s := x.(*share)
	s.at = len(*h)
	*h = append(*h, s)
}

func (h *shareHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

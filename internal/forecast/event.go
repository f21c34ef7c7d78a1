package forecast

import "time"

// happening is what an event is about.
type happening uint8

const (
	arrival  happening = iota // of an item of group n, at random
	burst                     // of items of group n
	ring                      // a call comes in
	answer                    // the call of an item is over
	due                       // an item may be tried again
	patience                  // an item, or a call, has waited for capacity long enough
	rescue                    // an item is taken from a dead process
	refresh                   // process n looks at what its tracker wants
	outage                    // fault n begins: its process is killed
	recovery                  // fault n ends: its process starts
	expiry                    // the lease of dead process n ends
	warm                      // figures begin
)

// event is something that happens at a time. Of those at the same time, the one that was planned first is
// first.
type event struct {
	at   time.Duration
	seq  uint64
	item *item
	age  uint32 // of the item, when it was planned: an item that moved on has no use for it
	n    int32
	what happening
}

func (e *event) before(o *event) bool { return e.at < o.at || (e.at == o.at && e.seq < o.seq) }

// agenda is the events to come: a heap with four children to a node, which has fewer levels than two.
type agenda struct {
	heap []event
	seq  uint64
}

func (a *agenda) push(e event) {
	a.seq++
	e.seq = a.seq
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = e
}

func (a *agenda) pop() (event, bool) {
	if len(a.heap) == 0 {
		return event{}, false
	}
	first, n := a.heap[0], len(a.heap)-1
	last := a.heap[n]
	a.heap[n] = event{}
	a.heap = a.heap[:n]
	if n > 0 {
		a.sink(last)
	}
	return first, true
}

// sink puts an event in the place of the first one.
func (a *agenda) sink(e event) {
	i, n := 0, len(a.heap)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, n); child++ {
			if a.heap[child].before(&a.heap[least]) {
				least = child
			}
		}
		if !a.heap[least].before(&e) {
			break
		}
		a.heap[i] = a.heap[least]
		i = least
	}
	a.heap[i] = e
}

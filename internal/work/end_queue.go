package work

import (
	"runtime"
	"sync"
)

// endQueue holds the ends of items for one recorder, in groups that are recorded together. An item that ends never waits here: the
// bounds of the pool hold back the next claims instead, so at most as many ends wait as items may be unrecorded or in a slot.
// It is safe for concurrent use; one goroutine takes groups.
type endQueue struct {
	arrived chan struct{} // has a value if ends arrived since the last wait

	mu     sync.Mutex
	groups []*endings // all are full but the last
	spare  []*endings // groups that were recorded, to be used again; at most maxSpare
	closed bool
}

// maxSpare is how many groups are kept: under load, one is recorded, one is full and one is filled.
const maxSpare = 3

func newEndQueue() *endQueue { return &endQueue{arrived: make(chan struct{}, 1)} }

// add adds the end of an item to the last group.
func (q *endQueue) add(f finished) {
	q.mu.Lock()
	last := len(q.groups) - 1
	if last < 0 || len(q.groups[last].finishes) == MaxFinishGroup {
		q.groups = append(q.groups, q.empty())
		last++
	}
	q.groups[last].add(f)
	q.mu.Unlock()
	q.notify()
}

// empty returns an empty group. The lock is held.
func (q *endQueue) empty() *endings {
	last := len(q.spare) - 1
	if last < 0 {
		return newEndings(MaxFinishGroup)
	}
	group := q.spare[last]
	q.spare = q.spare[:last]
	return group
}

// take waits for ends and takes their first group. It returns nil when the queue is closed and empty.
func (q *endQueue) take() *endings {
	for {
		runtime.Gosched() // lets items that are about to end join the group
		group, closed := q.first()
		if group != nil || closed {
			return group
		}
		<-q.arrived
	}
}

func (q *endQueue) first() (group *endings, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.groups) == 0 {
		return nil, q.closed
	}
	group = q.groups[0]
	q.groups[0] = nil
	q.groups = q.groups[1:]
	return group, q.closed
}

// reuse keeps a group whose ends are recorded for later ends.
func (q *endQueue) reuse(group *endings) {
	group.clear()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.spare) < maxSpare {
		q.spare = append(q.spare, group)
	}
}

// close ends the queue: no end is added after it.
func (q *endQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.notify()
}

func (q *endQueue) notify() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

package itemstore

import (
	"slices"
	"sync"

	"penstock"
)

const (
	// recentBytes bounds the input groups that are kept in memory beside the database.
	recentBytes = 8 << 20
	// minOrder is how many names of groups that are gone do not matter.
	minOrder = 64
)

// Recent keeps the input groups that this process wrote last. Most often the process claims them next, and reading them
// back is the largest part of a claim. A group never changes, and no claim asks for a group whose job is gone, so nothing
// in it is ever out of date. It is safe for concurrent use; the zero value is empty.
type Recent struct {
	mu     sync.Mutex
	groups map[GroupKey]InputGroup
	order  []GroupKey // the oldest first; some may be gone
	bytes  int
}

// Keep adds the groups of a job that was committed and removes the oldest of others for them. A group of one item is
// read from the database as fast as it is found here, and is not kept.
func (r *Recent) Keep(job penstock.ID, groups []InputGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range groups {
		if len(g.Facts) == 1 {
			continue
		}
		if r.groups == nil {
			r.groups = make(map[GroupKey]InputGroup)
		}
		key := GroupKey{job, g.First}
		r.groups[key], r.order, r.bytes = g, append(r.order, key), r.bytes+g.weight()
	}
	for r.bytes > recentBytes {
		r.remove(r.order[0])
		r.order = r.order[1:]
	}
	if len(r.order) > 2*len(r.groups)+minOrder { // most were taken since
		r.order = slices.DeleteFunc(r.order, func(key GroupKey) bool { _, kept := r.groups[key]; return !kept })
	}
}

func (r *Recent) remove(key GroupKey) {
	if g, ok := r.groups[key]; ok {
		r.bytes -= g.weight()
		delete(r.groups, key)
	}
}

// weight is about how many bytes a group takes in memory.
func (g *InputGroup) weight() int {
	const each = 120 // bytes of a fact
	return len(g.Facts)*each + len(g.encoded) + len(g.sealed)
}

// Find returns a group, if it is here, to a caller that takes items from it up to the given index. A group whose last
// item is taken is removed: if the claim fails after all, the next one reads it from the database.
func (r *Recent) Find(key GroupKey, upTo int) (Inputs, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, ok := r.groups[key]
	if !ok {
		return Inputs{}, false
	}
	if upTo >= g.Last() {
		r.remove(key)
	}
	return Inputs{key: key, facts: g.Facts, sealed: g.sealed}, true
}

package sqlstore

import (
	"slices"
	"sync"

	"penstock"
)

const (
	// recentBytes bounds what is kept of input groups beside the database.
	recentBytes = 8 << 20
	// minOrder is how many names of input groups that are gone do not matter.
	minOrder = 64
)

// recent has the input groups that were accepted here last, as they are stored. Most often they are claimed here next, and to read
// them back is the largest part of a claim. An input group never changes, and no claim asks for one whose job is gone, so what is
// kept cannot be out of date. It is safe for concurrent use; the zero value is empty.
type recent struct {
	mu          sync.Mutex
	inputGroups map[inputGroupOf]inputGroup
	order       []inputGroupOf // the oldest first; some may be gone
	bytes       int
}

// keep remembers the input groups of a job that was committed, and forgets the oldest of others for them. One item is read
// back as fast as it is found here.
func (r *recent) keep(job penstock.ID, inputGroups []inputGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range inputGroups {
		if len(b.facts) == 1 {
			continue
		}
		if r.inputGroups == nil {
			r.inputGroups = make(map[inputGroupOf]inputGroup)
		}
		of := inputGroupOf{job, b.first}
		r.inputGroups[of], r.order, r.bytes = b, append(r.order, of), r.bytes+b.weight()
	}
	for r.bytes > recentBytes {
		r.forget(r.order[0])
		r.order = r.order[1:]
	}
	if len(r.order) > 2*len(r.inputGroups)+minOrder { // most were taken meanwhile
		r.order = slices.DeleteFunc(r.order, func(of inputGroupOf) bool { _, kept := r.inputGroups[of]; return !kept })
	}
}

func (r *recent) forget(of inputGroupOf) {
	if b, ok := r.inputGroups[of]; ok {
		r.bytes -= b.weight()
		delete(r.inputGroups, of)
	}
}

// weight is about how many bytes an input group takes in memory.
func (b inputGroup) weight() int {
	const each = 96 // of a fact
	return len(b.facts)*each + len(b.encoded) + len(b.inputs)
}

// find fills in the input group of a range, if it is there. One of which the rest is wanted is not kept any longer: should it not be
// taken after all, it can be read.
func (r *recent) find(of *readyRange, wanted int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.inputGroups[of.inputGroupOf()]
	if !ok {
		return false
	}
	of.facts, of.inputs = b.facts, b.inputs
	if wanted >= of.size() && of.last == b.first+len(b.facts)-1 {
		r.forget(of.inputGroupOf())
	}
	return true
}

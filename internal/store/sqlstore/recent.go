package sqlstore

import (
	"slices"
	"sync"

	"penstock"
)

const (
	// recentBytes bounds what is kept of bundles beside the database.
	recentBytes = 8 << 20
	// minOrder is how many names of bundles that are gone do not matter.
	minOrder = 64
)

// recent has the bundles that were accepted here last, as they are stored. Most often they are claimed here next, and to read
// them back is the largest part of a claim. A bundle never changes, and no claim asks for one whose job is gone, so what is
// kept cannot be out of date. It is safe for concurrent use; the zero value is empty.
type recent struct {
	mu      sync.Mutex
	bundles map[bundleOf]bundle
	order   []bundleOf // the oldest first; some may be gone
	bytes   int
}

// keep remembers the bundles of a job that was committed, and forgets the oldest of others for them. One item is read
// back as fast as it is found here.
func (r *recent) keep(job penstock.ID, bundles []bundle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range bundles {
		if len(b.facts) == 1 {
			continue
		}
		if r.bundles == nil {
			r.bundles = make(map[bundleOf]bundle)
		}
		of := bundleOf{job, b.first}
		r.bundles[of], r.order, r.bytes = b, append(r.order, of), r.bytes+b.weight()
	}
	for r.bytes > recentBytes {
		r.forget(r.order[0])
		r.order = r.order[1:]
	}
	if len(r.order) > 2*len(r.bundles)+minOrder { // most were taken meanwhile
		r.order = slices.DeleteFunc(r.order, func(of bundleOf) bool { _, kept := r.bundles[of]; return !kept })
	}
}

func (r *recent) forget(of bundleOf) {
	if b, ok := r.bundles[of]; ok {
		r.bytes -= b.weight()
		delete(r.bundles, of)
	}
}

// weight is about how many bytes a bundle takes in memory.
func (b bundle) weight() int {
	const each = 96 // of a fact
	return len(b.facts)*each + len(b.encoded) + len(b.inputs)
}

// find fills in the bundle of a range, if it is there. One of which the rest is wanted is not kept any longer: should it not be
// taken after all, it can be read.
func (r *recent) find(of *readyRange, wanted int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.bundles[of.bundleOf()]
	if !ok {
		return false
	}
	of.facts, of.inputs = b.facts, b.inputs
	if wanted >= of.size() && of.last == b.first+len(b.facts)-1 {
		r.forget(of.bundleOf())
	}
	return true
}

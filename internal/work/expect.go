package work

import "penstock/internal/store"

// charge is what a claim charges for an item.
func (p *Pool) charge(c store.Candidate) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expected.Of(c.Model, c.Estimate)
}

package work

import (
	"time"

	"penstock"
	"penstock/internal/gopool"
	"penstock/internal/route"
	"penstock/internal/store"
)

// Gate decides what may be claimed now. No item is claimed that would only wait: for a target's capacity, or for
// an operator who paused something that it needs.
type Gate interface {
	// Closed returns what must not be claimed now.
	Closed() Closed
	// Reserve reserves calls for ready items, at most one for each item and n for each model. The caller releases every
	// call that it does not use.
	Reserve(ready []store.Ready, n int) []Reservation
}

// Reservation is a number of calls that were reserved at one target.
type Reservation struct {
	store.Reserved
	Choices []*route.Choice // one for each call; nil where the items need no capacity
}

// Closed are the models, lanes and tenants whose items must not be claimed.
type Closed struct {
	Lanes   []penstock.Lane
	Models  []string
	Tenants []penstock.TenantID
}

// open is a gate without restrictions: every item finds its target when it runs.
type open struct{}

func (open) Closed() Closed { return Closed{} }

func (open) Reserve(ready []store.Ready, n int) []Reservation {
	all := make([]Reservation, len(ready))
	for i, r := range ready {
		all[i].Reserved = store.Reserved{Model: r.Model, Calls: min(r.Items, n)}
	}
	return all
}

// reservedCalls are the calls of one claim, by their numbers.
type reservedCalls struct {
	reserved []store.Reserved
	choices  []*route.Choice // of all calls in order; nil for those that need no capacity
}

// reserve reserves calls for items that are ready, at most n for each model. Suspects share no call.
func (p *Pool) reserve(b *pool, ready []store.Ready, n int) *reservedCalls {
	c := &reservedCalls{reserved: []store.Reserved{}}
	for _, r := range p.Gate.Reserve(ready, n) {
		if b.suspects {
			r.SharedInputs = 0
		}
		choices := make([]*route.Choice, r.Calls)
		copy(choices, r.Choices)
		c.reserved, c.choices = append(c.reserved, r.Reserved), append(c.choices, choices...)
	}
	return c
}

// match gives every claimed item its reserved call, and returns the calls that no item uses. A call was reserved for an item
// of average size; from here on it counts with the size of its first item.
func (c *reservedCalls) match(b *pool, claimed []*store.Claimed) []*granted {
	users := make([]int, len(c.choices))
	for _, item := range claimed {
		if at := item.Call.Number - 1; at >= 0 {
			users[at]++
		}
	}
	all := make([]*granted, len(claimed))
	used := make([]bool, len(c.choices))
	var chunk []granted // memory of the next ones: few share it, so that an item which runs for long keeps little of it
	for i, item := range claimed {
		if len(chunk) == 0 {
			chunk = make([]granted, min(gopool.InARow, len(claimed)-i))
		}
		all[i], chunk = &chunk[0], chunk[1:]
		*all[i] = granted{Claimed: item, pool: b}
		at := item.Call.Number - 1
		switch {
		case at < 0 || c.choices[at] == nil:
		case used[at]:
			all[i].choice = c.choices[at].Share()
		default:
			if used[at] = true; users[at] > 1 {
				c.choices[at] = c.choices[at].Shared()
			}
			c.choices[at].Amend(sizeOf(item))
			all[i].choice = c.choices[at]
		}
	}
	for at, choice := range c.choices {
		if choice != nil && !used[at] {
			choice.Return()
		}
	}
	return all
}

// sizeOf is the likely input of an item, and the most output.
func sizeOf(item *store.Claimed) (input, output int64) {
	if item.Endpoint == penstock.EndpointRerank { // it generates nothing, and reads its query again for each document
		return penstock.InputTokens(item.Estimate), 0
	}
	return penstock.InputTokens(item.InputBytes), max(0, item.Estimate-item.InputBytes)
}

// notUrgent is how many items outside the realtime lane may start now in a slot pool, at most n.
func (p *Pool) notUrgent(b *pool, n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(n, b.pace.Starts(p.Clock()))
}

// started reports claimed items to a slot pool's pace.
func (p *Pool) started(b *pool, claimed []*store.Claimed) (notUrgent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock()
	for _, c := range claimed {
		if c.Lane == penstock.LaneRealtime {
			b.pace.Urgent(now)
		} else {
			b.pace.Take(now)
			notUrgent++
		}
	}
	return notUrgent
}

// paceLeft is how long until an item that is not urgent may start in a slot pool.
func (p *Pool) paceLeft(b *pool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.pace.Next(p.Clock())
}

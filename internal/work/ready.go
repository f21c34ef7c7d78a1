package work

import (
	"context"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

const (
	// readAhead is how many ready items of a model are counted at the most.
	readAhead = 16 * MaxClaim
	// readFor is how long the counts are used. Meanwhile full claims follow each other, and the items of a model that had nothing
	// ready are not looked for.
	readFor = 20 * time.Millisecond
)

// readyCounts are the ready items of the last read, less the claimed ones: while there are more of them than free slots, a claim need
// not read them again. Which of them a claim gets is decided in its transaction.
type readyCounts struct {
	want  store.Want // what was asked for
	ready []store.Ready
	more  bool // not everything was counted
	at    time.Time
}

// enough reports whether the counts are recent and fill a claim.
func (c *readyCounts) enough(want store.Want, now time.Time) bool {
	if now.Sub(c.at) > readFor || !sameQueues(c.want, want) {
		return false
	}
	items := 0
	for _, r := range c.ready {
		items += r.Items
	}
	return items >= want.Limit
}

// sameQueues reports whether two claims look at the same queues, in any order.
func sameQueues(a, b store.Want) bool {
	return len(a.Lanes) == len(b.Lanes) && !slices.ContainsFunc(a.Lanes, func(l penstock.Lane) bool { return !slices.Contains(b.Lanes, l) }) &&
		slices.Equal(a.Models, b.Models) && slices.Equal(a.ExceptModels, b.ExceptModels) && slices.Equal(a.ExceptTenants, b.ExceptTenants)
}

// claimed takes claimed items from the counts. A claim that is not full shows that the counts are wrong, or that what they count
// cannot be claimed now: the next claim reads again.
func (c *readyCounts) claimed(all []*granted, want store.Want) {
	if len(all) < want.Limit {
		*c = readyCounts{}
		return
	}
	taken := make(map[string]int)
	for _, g := range all {
		taken[g.Model]++
	}
	for i := range c.ready {
		c.ready[i].Items -= min(c.ready[i].Items, taken[c.ready[i].Model])
	}
	c.ready = slices.DeleteFunc(c.ready, func(r store.Ready) bool { return r.Items == 0 })
}

// ready is how many items of each model a claim would find, at most as many as it wants. It reports whether there are more models.
func (p *Pool) ready(ctx context.Context, b *pool, want store.Want) (ready []store.Ready, more bool, err error) {
	if b.suspects {
		return p.Ready.ReadySuspects(ctx, want)
	}
	if now := p.Clock(); !b.counts.enough(want, now) {
		ahead := want
		ahead.Limit = readAhead
		b.counts = readyCounts{want: want, at: now}
		if b.counts.ready, b.counts.more, err = p.Ready.ReadyItems(ctx, ahead); err != nil {
			b.counts = readyCounts{}
			return nil, false, err
		}
	}
	ready = slices.Clone(b.counts.ready)
	for i := range ready {
		ready[i].Items = min(ready[i].Items, want.Limit)
	}
	return ready, b.counts.more, nil
}

package backlog

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// level is a group that numbers are summed over: a lane, a tenant, a model, one tenant's work in one lane, or one tenant's
// work for one model in one lane. The empty level is everything.
type level struct {
	lane   penstock.Lane
	tenant penstock.TenantID
	model  string
}

// levels are the levels that a row counts for.
func levels(b *store.Backlog) [6]level {
	return [6]level{
		{}, {lane: b.Lane}, {tenant: b.Tenant}, {model: b.Model}, {lane: b.Lane, tenant: b.Tenant},
		{lane: b.Lane, tenant: b.Tenant, model: b.Model},
	}
}

// picture is the queue at one moment, with the rates measured up to it. It is never changed.
type picture struct {
	at    time.Time
	flows map[level]*flow
	// whole means that no row was left out: a row that is not here did not exist.
	whole bool
	// quiet is the rate of a level without rows: nothing moved since the first read.
	quiet rate
	// waiting counts, for each lane, the tenants with ready items.
	waiting map[penstock.Lane]int

	processes []store.Process
}

// flow is the queued work at a level, and its rates.
type flow struct {
	ready, parked, running  int64
	tokens, bytes           int64
	waited                  time.Duration // of the longest-waiting item among the next items
	drainedItems, drainedTk int64         // odometers, of a single row
	busyAt                  time.Time     // when an item was last open, arrived or moved; zero for never

	moved   rate // whatever was there to move
	drain   rate // while there was something to drain
	service little
	arrive  rate
}

func (f *flow) queued() int64 { return f.ready + f.parked }

// of returns the flow of a level, or an empty flow.
func (p *picture) of(l level) flow {
	if f := p.flows[l]; f != nil {
		return *f
	}
	return flow{}
}

// next is the picture after a new read. Progress is computed row by row, so that new and removed rows do not count as
// finished work.
func (p *picture) next(rows []store.Backlog, at time.Time) *picture {
	if p == nil {
		p = new(picture)
	}
	n := &picture{
		at: at, flows: make(map[level]*flow, len(p.flows)+len(levels(&store.Backlog{}))),
		whole: len(rows) < store.MaxBacklogs, waiting: make(map[penstock.Lane]int), quiet: p.quiet,
	}
	progress := make(map[level]step, len(p.flows))
	waiting := make(map[level]bool)
	for i := range rows {
		b := &rows[i]
		moved := p.progress(b)
		for _, l := range levels(b) {
			n.flow(p, l).add(b)
			progress[l] = progress[l].plus(moved)
		}
		if here := (level{lane: b.Lane, tenant: b.Tenant}); b.Ready > 0 && !waiting[here] {
			waiting[here] = true
			n.waiting[b.Lane]++
		}
	}
	if elapsed := at.Sub(p.at).Seconds(); !p.at.IsZero() && elapsed > 0 {
		n.quiet.observe(elapsed, step{})
		for l, f := range n.flows {
			if progress[l].items != 0 {
				f.busyAt = at // also if it came and ended between two reads
			}
			f.observe(p.of(l), progress[l], elapsed)
		}
	}
	for _, f := range n.flows {
		if f.queued()+f.running > 0 {
			f.busyAt = at
		}
	}
	return n
}

// flow returns the flow of a level of the new picture, with its earlier rates. A new level starts with the rates of a
// quiet level: otherwise one burst would look like a steady rate, and too many workers would be started.
func (p *picture) flow(before *picture, l level) *flow {
	if f := p.flows[l]; f != nil {
		return f
	}
	f := new(flow)
	if was := before.flows[l]; was != nil {
		f.moved, f.drain, f.service, f.arrive, f.busyAt = was.moved, was.drain, was.service, was.arrive, was.busyAt
	} else if before.whole {
		f.moved, f.arrive = before.quiet, before.quiet
	}
	p.flows[l] = f
	return f
}

func (f *flow) add(b *store.Backlog) {
	f.ready += b.Ready
	f.parked += b.Parked + b.Unsplit
	f.running += b.Running
	f.tokens += b.Tokens
	f.bytes += b.Bytes
	f.waited = max(f.waited, b.Waited)
	f.drainedItems += b.DrainedItems
	f.drainedTk += b.DrainedTokens
}

// step is the progress of a row between two reads.
type step struct{ items, tokens float64 }

func (s step) plus(o step) step { return step{s.items + o.items, s.tokens + o.tokens} }

// progress is the work of a row that started since the last picture. For a new row it is the whole odometer, if the
// last picture was complete.
func (p *picture) progress(b *store.Backlog) step {
	was, known := p.flows[level{b.Lane, b.Tenant, b.Model}]
	switch {
	case known && was.drainedItems-b.DrainedItems > was.running:
		// More items than were running cannot have returned: the row was removed and created again.
		return step{float64(b.DrainedItems), float64(b.DrainedTokens)}
	case known:
		return step{float64(b.DrainedItems - was.drainedItems), float64(b.DrainedTokens - was.drainedTk)}
	case p.whole:
		return step{float64(b.DrainedItems), float64(b.DrainedTokens)}
	}
	return step{}
}

// observe measures an interval that began with the earlier flow.
func (f *flow) observe(was flow, moved step, seconds float64) {
	f.moved.observe(seconds, moved)
	f.service.observe(seconds, float64(was.running+f.running)/2, moved.items)
	arrived := float64(f.queued()-was.queued()) + moved.items
	f.arrive.observe(seconds, step{items: max(arrived, 0)})
	if was.ready > 0 && f.ready > 0 {
		f.drain.observe(seconds, moved)
		return
	}
	// The queue was empty for a while: it can drain at least as fast, and how much faster is unknown.
	if r, ok := f.drain.items(); ok && moved.items/seconds > r {
		f.drain.observe(seconds, moved)
	}
}

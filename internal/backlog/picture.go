package backlog

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// level is what numbers are summed up over: a lane, a tenant, a model, one tenant's work for one model in
// one lane, or, being empty, everything.
type level struct {
	lane   penstock.Lane
	tenant penstock.TenantID
	model  string
}

// levels are those that a row counts for.
func levels(b *store.Backlog) [5]level {
	return [5]level{
		{}, {lane: b.Lane}, {tenant: b.Tenant}, {model: b.Model},
		{lane: b.Lane, tenant: b.Tenant, model: b.Model},
	}
}

// picture is the queue at one moment, with the rates measured up to it. It is never changed.
type picture struct {
	at    time.Time
	flows map[level]*flow
	// whole says that no row was left out: one that is not here did not exist.
	whole bool
	// quiet is the rate of what was not there: nothing moved, for as long as anybody has looked.
	quiet rate
	// waiting counts, for each lane, the tenants that have something ready there.
	waiting map[penstock.Lane]int

	processes []store.Process
}

// flow is what is queued at a level, and how it moves.
type flow struct {
	ready, parked, running  int64
	tokens, bytes           int64
	waited                  time.Duration // of the item that waited longest among those that are next
	drainedItems, drainedTk int64         // odometers, of a single row
	busyAt                  time.Time     // when something was last open, came or moved; zero for never

	moved   rate // whatever was there to move
	drain   rate // while there was something to drain
	service little
	arrive  rate
}

func (f *flow) queued() int64 { return f.ready + f.parked }

// of returns the flow of a level, an empty one if nothing is known of it.
func (p *picture) of(l level) flow {
	if f := p.flows[l]; f != nil {
		return *f
	}
	return flow{}
}

// next is the picture that a new read gives. Progress is taken row by row, so that rows which come or go
// do not look like work done.
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

// flow returns the flow of a level in the making, with the rates it had before. One that was not there was quiet: were
// its rates to begin with what came first, a burst would look like a stream of such bursts, and be scaled for.
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

// step is by how much a row moved between two reads.
type step struct{ items, tokens float64 }

func (s step) plus(o step) step { return step{s.items + o.items, s.tokens + o.tokens} }

// progress is what was drained of a row since the picture. Of a row that was not there before, all of it
// was, provided that it would have been seen.
func (p *picture) progress(b *store.Backlog) step {
	was, known := p.flows[level{b.Lane, b.Tenant, b.Model}]
	switch {
	case known && was.drainedItems-b.DrainedItems > was.running:
		// More than ran cannot have come back: the row was forgotten, and made anew.
		return step{float64(b.DrainedItems), float64(b.DrainedTokens)}
	case known:
		return step{float64(b.DrainedItems - was.drainedItems), float64(b.DrainedTokens - was.drainedTk)}
	case p.whole:
		return step{float64(b.DrainedItems), float64(b.DrainedTokens)}
	}
	return step{}
}

// observe measures an interval that began with what was there before.
func (f *flow) observe(was flow, moved step, seconds float64) {
	f.moved.observe(seconds, moved)
	f.service.observe(seconds, float64(was.running+f.running)/2, moved.items)
	arrived := float64(f.queued()-was.queued()) + moved.items
	f.arrive.observe(seconds, step{items: max(arrived, 0)})
	if was.ready > 0 && f.ready > 0 {
		f.drain.observe(seconds, moved)
		return
	}
	// The queue was empty for a while: it can drain at least as fast, and nobody knows how much faster.
	if r, ok := f.drain.items(); ok && moved.items/seconds > r {
		f.drain.observe(seconds, moved)
	}
}

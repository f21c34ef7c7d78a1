package forecast

import (
	"time"

	"penstock/internal/capacity"
	"penstock/internal/route"
)

// line is items that wait for capacity, in the order they came.
type line struct{ first, last *item }

func (l *line) push(it *item) {
	it.prev, it.next = l.last, nil
	if l.last == nil {
		l.first = it
	} else {
		l.last.next = it
	}
	l.last = it
}

func (l *line) remove(it *item) {
	if it.prev == nil {
		l.first = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.last = it.prev
	} else {
		it.next.prev = it.prev
	}
	it.prev, it.next = nil, nil
}

// How long capacity is waited for, as packages api and work have it.
const (
	callPatience = 2 * time.Second
	itemPatience = 5 * time.Second
)

func (it *item) patience() time.Duration {
	if it.tenant.group.Kind == Calls {
		return callPatience
	}
	return itemPatience
}

// admit starts an item as soon as there is capacity: at once, or from the line. It reports false when there is
// no point in waiting.
func (p *process) admit(it *item) bool {
	if p.take(it) {
		p.sim.begin(it)
		return true
	}
	if p.waiting >= route.MaxWaiting || p.allRest(it) {
		return false
	}
	it.waits = true
	p.waiting++
	p.line[laneIndex(it.tenant.group.Lane)].push(it)
	p.sim.planItem(it, it.patience(), patience)
	return true
}

// allRest says that every target is to be left alone for longer than the item waits, or that none is left.
func (p *process) allRest(it *item) bool {
	for _, u := range it.model.targets {
		if it.tried.has(u) {
			continue
		}
		look := p.tracker.Look(&u.believed)
		if (look.Reason != capacity.Resting && look.Reason != capacity.Broken) || look.Wait <= it.patience() {
			return false
		}
	}
	return true
}

// step takes an item out of the line.
func (p *process) step(it *item) {
	p.line[laneIndex(it.tenant.group.Lane)].remove(it)
	it.waits = false
	p.waiting--
}

// serve starts those in line for whom there is capacity, the more urgent lane first. Whoever waits for other
// targets does not hold up those behind.
func (p *process) serve() {
	all := targets(1)<<len(p.sim.targets) - 1
	for i := range p.line {
		for it := p.line[i].first; it != nil && p.none != all; {
			next := it.next
			if p.take(it) {
				p.step(it)
				p.sim.begin(it)
			}
			it = next
		}
	}
}

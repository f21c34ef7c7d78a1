package backlog

import "penstock"

// weight is the items, bytes and tokens that a job adds to the queue.
type weight struct{ items, tokens, bytes int64 }

func (w weight) plus(o weight) weight {
	return weight{w.items + o.items, w.tokens + o.tokens, w.bytes + o.bytes}
}

func (w weight) negative() weight { return weight{-w.items, -w.tokens, -w.bytes} }

// tally sums weights up by level.
type tally map[level]weight

func (t tally) add(l level, w weight) {
	for _, at := range [3]level{{}, {tenant: l.tenant}, l} {
		if sum := t[at].plus(w); sum == (weight{}) {
			delete(t, at)
		} else {
			t[at] = sum
		}
	}
}

func (t tally) addAll(o tally) {
	for l, w := range o {
		t[l] = t[l].plus(w)
	}
}

// arrivals are the jobs that this process admitted and the picture does not contain yet.
type arrivals struct {
	open     tally // admitted, not committed yet
	fresh    tally // committed since the last read began
	settling tally // committed before the read that is under way began
}

func newArrivals() arrivals { return arrivals{open: tally{}, fresh: tally{}, settling: tally{}} }

// beginRead is called before the store is read: the read will contain all jobs that are fresh now.
func (a *arrivals) beginRead() {
	a.settling.addAll(a.fresh)
	a.fresh = tally{}
}

// endRead is called when the store was read, or could not be.
func (a *arrivals) endRead(err error) {
	if err == nil {
		a.settling = tally{}
	}
}

// at is the sum of the arrivals at a level.
func (a *arrivals) at(l level) weight { return a.open[l].plus(a.fresh[l]).plus(a.settling[l]) }

// Arrival is a job that is being admitted to the queue.
type Arrival struct {
	Lane   penstock.Lane
	Tenant penstock.TenantID
	Model  string
	Items  int
	Tokens int64 // upper bound of all its items
	Bytes  int64 // of their inputs
}

func (a Arrival) level() level { return level{a.Lane, a.Tenant, a.Model} }

func (a Arrival) weight() weight { return weight{int64(a.Items), a.Tokens, a.Bytes} }

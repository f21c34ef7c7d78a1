// Package fair is the policy by which tenants share a lane: virtual token counters.
//
// Every tenant has a virtual time, which grows by the tokens that the tenant got, divided by its weight. The tenant
// with the lowest virtual time is served next. The policy knows only tenants, so splitting work over jobs, keys or
// models gains nothing. A tenant that returns starts at the lowest virtual time of the others, so it gains nothing by
// being idle. If all are idle, it starts at the highest, so nobody pays for work that was done alone.
//
// It is pure: it has no clock, no lock and no state. The store applies it to rows, and package forecast to simulated
// rows.
package fair

import "cmp"

const (
	// scale keeps small charges over large weights exact.
	scale = 1 << 10
	// QuantumTokens is how much a tenant is given before the next one is looked at.
	QuantumTokens = 16 << 10
	// ItemsPerTurn bounds a turn of small items.
	ItemsPerTurn = 16
)

// Share is a tenant's standing in a lane.
type Share struct {
	VTime  int64
	Weight int64 // 0 counts as 1
}

// Charge notes that the tenant was given tokens; a negative number takes some back.
func (s *Share) Charge(tokens int64) { s.VTime += Cost(tokens, s.Weight) }

// Cost is by how much tokens move a virtual time.
func Cost(tokens, weight int64) int64 { return tokens * scale / max(weight, 1) }

// Compare orders shares by whose turn it is.
func Compare(a, b Share) int { return cmp.Compare(a.VTime, b.VTime) }

// Rejoin is where a tenant starts that comes back: where it was, or where the others are by now.
func Rejoin(own, least int64) int64 { return max(own, least) }

// Turn is what a tenant has been given in one go.
type Turn struct {
	Items  int
	Tokens int64
}

// Add notes an item with its estimate.
func (t *Turn) Add(estimate int64) {
	t.Items++
	t.Tokens += Tokens(estimate)
}

// Over says that it is the next tenant's turn.
func (t *Turn) Over() bool { return t.Items >= ItemsPerTurn || t.Tokens >= QuantumTokens }

// Tokens is what an item is charged at the least: work without tokens is not free.
func Tokens(estimate int64) int64 { return max(estimate, 1) }

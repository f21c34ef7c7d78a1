package admit

import (
	"time"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

// Most is the most that an inference can use.
type Most struct {
	Tokens int64
	Cost   penstock.NanoUSD
}

func (m Most) plus(n Most) Most { return Most{m.Tokens + n.Tokens, m.Cost + n.Cost} }

// reservedFor is the sum of the reservations of items.
func reservedFor(items []store.NewItem) (sum Most) {
	for i := range items {
		sum = sum.plus(Most{items[i].EstimateTokens, items[i].Reserved})
	}
	return sum
}

// MaxReservation is the most that is reserved for one attempt.
const MaxReservation = penstock.MaxCost

// Terms are what the price of an inference depends on besides its tokens.
type Terms struct {
	From time.Time // the earliest time at which it may run
	Lane penstock.Lane
}

// Bound is the most that one attempt at an inference can use on any of the targets. Announced future prices count too.
func Bound(targets []*penstock.Target, inf dialect.Inference, terms Terms) Most {
	q := quote{weight: inf.Weigh()}
	return q.bound(targets, terms)
}

package admit

import (
	"time"

	"penstock"
	"penstock/internal/dialect"
)

// Most is the most that an inference can use.
type Most struct {
	Tokens int64
	Cost   penstock.NanoUSD
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

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

// MaxReservation is the most that is set aside for one attempt.
const MaxReservation = penstock.MaxCost

// Terms are what the price of an inference depends on beside its tokens.
type Terms struct {
	From time.Time // when it may run, or any time later
	Lane penstock.Lane
}

// Bound is the most that one attempt at an inference can use on any of the targets. Prices that are announced count from now on.
func Bound(targets []*penstock.Target, inf dialect.Inference, terms Terms) Most {
	q := quote{weight: inf.Weigh()}
	return q.bound(targets, terms)
}

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
	return bound(targets, inf.Weigh(), terms)
}

func bound(targets []*penstock.Target, weight dialect.Weight, terms Terms) (most Most) {
	for _, t := range targets {
		charge := weight.On(t)
		charge.Lane = terms.Lane
		most.Tokens = max(most.Tokens, charge.Usage.InputTokens+charge.Usage.OutputTokens)
		most.Cost = max(most.Cost, t.MostFrom(terms.From, charge))
	}
	most.Cost = min(most.Cost, MaxReservation)
	return most
}

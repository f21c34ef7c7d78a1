package admit

import (
	"math"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
)

// The reservation of a job with the most items, each of which asks for as much as a number can say, is still a sum
// that an int64 holds: a sum that overflowed would pass any budget.
func TestReservationsDoNotOverflow(t *testing.T) {
	t.Parallel()
	target := newRig(t).Config.Current().Targets["cheap"]
	bound := Bound([]*penstock.Target{target}, dialect.Inference{MaxOutputTokens: math.MaxInt64, Choices: math.MaxInt64}, Terms{From: now, Lane: penstock.LaneStandard})
	if bound.Cost != MaxReservation || bound.Cost > math.MaxInt64/config.MaxInputs {
		t.Errorf("one item reserves $%s, and a job has up to %d of them", bound.Cost.Short(), config.MaxInputs)
	}
}

// Parameters that only some servers obey raise the reservation and never lower it: without another bound, the reservation
// covers at least the most that the target generates.
func TestFurtherNamesOnlyRaise(t *testing.T) {
	t.Parallel()
	target := *newRig(t).Config.Current().Targets["cheap"]
	target.MaxOutputTokens = 100
	for _, tt := range []struct {
		bound   int64
		further dialect.Further
		want    int64
	}{
		{0, dialect.Further{}, 100}, {7, dialect.Further{}, 7}, {0, dialect.Further{Output: 5}, 100}, {7, dialect.Further{Output: 5}, 7}, {7, dialect.Further{Output: 50}, 50},
		{0, dialect.Further{Output: 500}, 500}, {7, dialect.Further{Added: 3}, 10}, {0, dialect.Further{Added: 3}, 103}, {7, dialect.Further{Thinking: 6}, 7}, {7, dialect.Further{Thinking: 7}, 14},
	} {
		inf := dialect.Inference{MaxOutputTokens: tt.bound, Further: tt.further}
		if got := Bound([]*penstock.Target{&target}, inf, Terms{From: now, Lane: penstock.LaneStandard}).Tokens; got != tt.want {
			t.Errorf("%+v: %d tokens, want %d", inf, got, tt.want)
		}
	}
}

package admit

import (
	"math"
	"testing"

	"penstock"
	"penstock/internal/config"
)

// What is set aside for a job of the most items, each of which asks for as much as a number can say, is still a sum
// that a number holds: one that turned around would pass any budget.
func TestReservationsDoNotOverflow(t *testing.T) {
	t.Parallel()
	target := newRig(t).Config.Current().Targets["cheap"]
	bound := Bound([]*penstock.Target{target}, Inference{MaxOutputTokens: math.MaxInt64, Choices: math.MaxInt64}, Terms{From: now, Lane: penstock.LaneStandard})
	if bound.Cost != MaxReservation || bound.Cost > math.MaxInt64/config.MaxInputs {
		t.Errorf("one item sets $%s aside, and a job has up to %d of them", bound.Cost.Short(), config.MaxInputs)
	}
}

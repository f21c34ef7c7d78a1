package fair

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTurnEndsByItemsOrTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		estimate int64
		want     int
	}{
		{"small items", 1, ItemsPerTurn},
		{"items without tokens", 0, ItemsPerTurn},
		{"a large item", QuantumTokens, 1},
		{"middling items", QuantumTokens / 4, 4},
	} {
		var turn Turn
		for !turn.Over() {
			turn.Add(tt.estimate)
		}
		if turn.Items != tt.want {
			t.Errorf("%s: a turn of %d, want %d", tt.name, turn.Items, tt.want)
		}
	}
}

func TestIdlenessBanksNothing(t *testing.T) {
	t.Parallel()
	if got := Rejoin(5, 100); got != 100 {
		t.Errorf("one that was idle starts at %d, want 100, where the others are", got)
	}
	if got := Rejoin(200, 100); got != 200 {
		t.Errorf("one that was ahead starts at %d, want 200, where it was", got)
	}
}

// While all have work, what tenants are given over their weights differs by no more than one turn.
func TestTenantsAreServedByWeight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(1, 50), 2, 8).Draw(t, "weights")
		shares, given := make([]Share, len(weights)), make([]int64, len(weights))
		for i, w := range weights {
			shares[i].Weight = w
		}
		const largest = 4096
		for range 2000 {
			next := slices.Index(shares, slices.MinFunc(shares, Compare))
			var turn Turn
			for !turn.Over() {
				turn.Add(rapid.Int64Range(1, largest).Draw(t, "tokens"))
			}
			shares[next].Charge(turn.Tokens)
			given[next] += turn.Tokens
		}
		for i := range given {
			for j := range given {
				ahead := float64(given[i])/float64(weights[i]) - float64(given[j])/float64(weights[j])
				if bound := float64(QuantumTokens+largest)/float64(weights[i]) + 1; ahead > bound {
					t.Fatalf("tenant %d of weight %d is %.0f tokens ahead of tenant %d, want at most %.0f", i, weights[i], ahead, j, bound)
				}
			}
		}
	})
}

package penstock

import (
	"math"
	"testing"
	"time"
)

func TestSurcharged(t *testing.T) {
	t.Parallel()
	target := &Target{
		Name: "a", Price: Price{Input: 3, Output: 1000, PerRequest: 10},
		PriceChanges: []PriceChange{{From: time.Unix(1, 0), Price: Price{Input: 5}}},
		Surcharges: map[string]Surcharge{
			"tier": {Factor: 1500}, "search": {PerUse: 100, MaxUses: 3, InputTokens: 7}, "plain": {}, "huge": {Factor: math.MaxInt64, PerUse: math.MaxInt64, MaxUses: math.MaxInt64},
		},
	}
	if got, missing := target.Surcharged(nil); got != target || missing != "" {
		t.Errorf("without features: %v, %q", got, missing)
	}
	if got, missing := target.Surcharged([]string{"tier", "other"}); got != nil || missing != "other" {
		t.Errorf("with an unknown one: %v, %q", got, missing)
	}
	got, _ := target.Surcharged([]string{"tier", "search", "plain"})
	// Rates are rounded up, so that nothing is given away.
	if want := (Price{Input: 5, Output: 1500, PerRequest: 15 + 300}); got.Price != want || got.AddedInputTokens != 7 {
		t.Errorf("%+v and %d tokens, want %+v", got.Price, got.AddedInputTokens, want)
	}
	if change := got.PriceChanges[0].Price; change.Input != 8 || change.PerRequest != 300 {
		t.Errorf("a later price: %+v", change)
	}
	if target.Price.Input != 3 || target.PriceChanges[0].Price.Input != 5 {
		t.Error("the target itself was changed")
	}
	if got, _ := target.Surcharged([]string{"huge"}); got.Price.Input <= 0 || got.Price.PerRequest <= 0 {
		t.Errorf("an overflow: %+v", got.Price)
	}
}

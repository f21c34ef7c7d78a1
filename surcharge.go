package penstock

import "math"

// Surcharge bounds the cost of a feature of a request on a target, besides the price of the tokens in its body. With
// it, hard budgets pay for the feature.
type Surcharge struct {
	// Factor is the factor on the price of all tokens of a call, in thousandths. 0 for 1000: the price itself.
	Factor int64 `json:"factor,omitzero"`
	// PerUse is what one use of the feature costs, and MaxUses how many uses one call can make.
	PerUse  NanoUSD `json:"per_use,omitzero"`
	MaxUses int64   `json:"max_uses,omitzero"`
	// InputTokens are the most tokens that the feature adds to the input.
	InputTokens int64 `json:"input_tokens,omitzero"`
}

// PlainFactor is the factor of a surcharge that leaves the price of tokens as it is.
const PlainFactor = 1000

// Surcharged is the target with the surcharges for the features of a call: with their prices and their added input. It
// is the target itself if the call has no features. missing is the first feature that the target has no surcharge for,
// "" for none.
func (t *Target) Surcharged(features []string) (priced *Target, missing string) {
	if len(features) == 0 {
		return t, ""
	}
	one := *t
	one.PriceChanges = append([]PriceChange(nil), t.PriceChanges...)
	for _, name := range features {
		s, ok := t.Surcharges[name]
		if !ok {
			return nil, name
		}
		one.Price = one.Price.with(s)
		for i := range one.PriceChanges {
			one.PriceChanges[i].Price = one.PriceChanges[i].Price.with(s)
		}
		one.AddedInputTokens += s.InputTokens
	}
	return &one, ""
}

// with is a price with a surcharge. All uses of the feature count as made: upstreams do not report them in one form.
func (p Price) with(s Surcharge) Price {
	if s.Factor > PlainFactor {
		for _, rate := range []*Rate{&p.Input, &p.CachedInput, &p.CacheWrite, &p.CacheWrite1h, &p.AudioInput, &p.Output, &p.Reasoning, &p.AudioOutput,
			&p.InputAbove200k, &p.OutputAbove200k} {
			*rate = Rate(times(int64(*rate), s.Factor))
		}
		for _, amount := range []*NanoUSD{&p.PerRequest, &p.PerImage, &p.PerSearch} {
			*amount = NanoUSD(times(int64(*amount), s.Factor))
		}
	}
	var uses total
	uses.add(s.MaxUses, int64(s.PerUse))
	p.PerRequest = p.PerRequest.Plus(uses.over(1))
	return p
}

// times multiplies by thousandths and rounds up. It saturates.
func times(n, thousandths int64) int64 {
	var product total
	product.add(n, thousandths)
	return int64(min(product.over(PlainFactor), math.MaxInt64))
}

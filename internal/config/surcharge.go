package config

import (
	"math"

	"penstock"
)

// Surcharge is the upper bound of the price of a feature, besides the tokens in the body. A hard budget pays all of it
// for every call with the feature, because upstreams do not report the uses of features in one form.
type Surcharge struct {
	// Factor is the factor on the price of all tokens of a call, such as 2 for a service tier at twice the price. From
	// 1 to 100, with at most three decimals. Zero: 1.
	Factor float64 `yaml:"factor,omitempty"`

	// PerUse is the price of one use, in dollars with at most nine decimals. Zero: nothing.
	PerUse string `yaml:"per_use,omitempty"`

	// MaxUses is how many uses one call can make. If the format of a request has such a bound, a request without it, or
	// with a higher bound, is refused. Required with PerUse. Up to 1000000. Zero: uses are not counted.
	MaxUses int64 `yaml:"max_uses,omitempty"`

	// InputTokens are the most tokens that the feature adds to the input, such as those of the pages that a search reads.
	// Up to 100000000. Zero: none.
	InputTokens int64 `yaml:"input_tokens,omitempty"`
}

const (
	maxFactor         = 100
	maxUses           = 1_000_000
	maxSurchargeName  = 128
	maxSurchargeCount = 100
)

// surcharges checks the surcharges of a target.
func (c *checker) surcharges(at path, all map[string]Surcharge) {
	if len(all) > maxSurchargeCount {
		c.fail(at, "has %d entries; at most %d are allowed", len(all), maxSurchargeCount)
	}
	for name, s := range all {
		at := at.key(name)
		if len(name) > maxSurchargeName || !isPrintable(name) {
			c.fail(at, "the name of a feature must be at most %d bytes of printable text", maxSurchargeName)
		}
		if s.Factor != 0 && within(c, at+".factor", s.Factor, bounds[float64]{1, maxFactor}) && s.Factor*penstock.PlainFactor != math.Round(s.Factor*penstock.PlainFactor) {
			c.fail(at+".factor", "must have at most three decimals")
		}
		c.amount(at+".per_use", s.PerUse)
		within(c, at+".max_uses", s.MaxUses, bounds[int64]{0, maxUses})
		if s.PerUse != "" && s.MaxUses == 0 {
			c.fail(at+".max_uses", "is required with per_use: how many uses one call can make")
		}
		within(c, at+".input_tokens", s.InputTokens, bounds[int64]{0, maxContextTokens})
	}
}

// surcharges reads checked surcharges.
func (t TargetConfig) surcharges() map[string]penstock.Surcharge {
	if len(t.Surcharges) == 0 {
		return nil
	}
	all := make(map[string]penstock.Surcharge, len(t.Surcharges))
	for name, s := range t.Surcharges {
		all[name] = penstock.Surcharge{
			Factor: int64(math.Round(s.Factor * penstock.PlainFactor)), PerUse: checkedAmount(s.PerUse), MaxUses: s.MaxUses, InputTokens: s.InputTokens,
		}
	}
	return all
}

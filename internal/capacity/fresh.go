package capacity

import (
	"math"

	"penstock"
)

// fresh is what counts of the input of calls to a target: all of it, or what it did not read from its cache.
type fresh struct {
	only bool // what was read does not count

	// Sums over the calls of late, of which each weighs less than the next: all input, and what of it counted.
	all, counted float64
}

// estimate is how much is likely to count of an input of so many tokens: as great a part as of late.
func (f *fresh) estimate(inputTokens int64) int64 {
	if !f.only || f.all <= 0 {
		return inputTokens
	}
	return int64(math.Ceil(float64(inputTokens) * f.counted / f.all))
}

// count is what counts of what a call used, and learns from it.
func (f *fresh) count(u penstock.Usage) penstock.Usage {
	if !f.only {
		return u
	}
	all := max(0, u.InputTokens)
	u.InputTokens = max(0, all-max(0, u.CachedInputTokens))
	f.all += float64(all) - f.all*expectWeight
	f.counted += float64(u.InputTokens) - f.counted*expectWeight
	return u
}

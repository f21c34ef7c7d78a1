package capacity

import (
	"math"

	"penstock"
)

// fresh computes the input tokens that count against a target's limits: all of them, or those that it did not read from its
// cache.
type fresh struct {
	only bool // cached input does not count

	// Decaying sums over recent calls: all input tokens, and those that counted.
	all, counted float64
}

// estimate is the number of tokens of an input that are likely to count: the same part as of recent calls.
func (f *fresh) estimate(inputTokens int64) int64 {
	if !f.only || f.all <= 0 {
		return inputTokens
	}
	return int64(math.Ceil(float64(inputTokens) * f.counted / f.all))
}

// count returns the part of a call's use that counts, and learns from it.
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

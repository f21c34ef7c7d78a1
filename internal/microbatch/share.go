package microbatch

import (
	"cmp"
	"math/bits"
	"slices"

	"penstock"
)

// Share divides a number in proportion to weights, which are above 0. The parts are whole and add up to it; the remainder
// goes to the parts that lost the most by rounding, the first of equals first.
func Share(total int64, weights []int64) []int64 {
	parts := make([]int64, len(weights))
	var sum uint64
	for _, w := range weights {
		sum += uint64(w)
	}
	if total <= 0 || sum == 0 {
		return parts
	}
	lost, left := make([]uint64, len(weights)), total
	order := make([]int, len(weights))
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(total), uint64(w))
		part, rest := bits.Div64(hi, lo, sum)
		parts[i], lost[i], order[i] = int64(part), rest, i
		left -= parts[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost[b], lost[a]) })
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}

// ShareUsage divides the usage of a call among its members.
func ShareUsage(u penstock.Usage, weights []int64) []penstock.Usage {
	all := make([]penstock.Usage, len(weights))
	cached := Share(min(u.CachedInputTokens, u.InputTokens), weights)
	fresh := Share(u.InputTokens-min(u.CachedInputTokens, u.InputTokens), weights)
	output := Share(u.OutputTokens, weights)
	for i := range all {
		all[i] = penstock.Usage{InputTokens: fresh[i] + cached[i], CachedInputTokens: cached[i], OutputTokens: output[i]}
	}
	return all
}

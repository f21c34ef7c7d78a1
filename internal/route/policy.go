package route

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"penstock"
)

const (
	// nearEqual is how far below the best a score may be and count as equal: noise in latency and headroom
	// must not send all calls to the same target.
	nearEqual = 0.05
	// nearlyAsFast is the same where latency alone counts: medians of targets that are alike differ by some percent.
	nearlyAsFast = 0.15
	// MaxPrefixBytes is the length of the prefix of a body that decides which target a call sticks to. Upstreams cache
	// prompts from about a thousand tokens on; shorter bodies stick to no target.
	MaxPrefixBytes = 4 << 10
)

// TargetStats is the state of a target that a policy decides by.
type TargetStats struct {
	Cost        penstock.NanoUSD // of a call like the one at hand
	Latency     time.Duration    // of its recent calls, 0 while that is unknown
	Quality     float64
	Headroom    float64
	Weight      int     // its share, for weighted
	Credit      float64 // how far it is behind its share, for weighted
	PromptCache bool
	Pull        float64 // its rendezvous hash with the prefix of the call, 0 without a prefix
}

// Score is the rating of a target, from 0 to 1: the parts, and their weighted mean.
type Score struct {
	Total    float64
	Cost     float64 // that of the cheapest, divided by its own
	Latency  float64 // that of the fastest, divided by its own; 1 while it is unknown, so that the target gets calls
	Quality  float64
	Headroom float64
}

// scores rates targets against each other.
func scores(all []TargetStats, w penstock.ScoreWeights) []Score {
	cheapest, fastest := penstock.NanoUSD(math.MaxInt64), time.Duration(math.MaxInt64)
	for _, s := range all {
		cheapest = min(cheapest, s.Cost)
		if s.Latency > 0 {
			fastest = min(fastest, s.Latency)
		}
	}
	rated := make([]Score, len(all))
	for i, s := range all {
		r := Score{Cost: 1, Latency: 1, Quality: s.Quality, Headroom: s.Headroom}
		if s.Cost > 0 {
			r.Cost = float64(cheapest) / float64(s.Cost)
		}
		if s.Latency > 0 {
			r.Latency = float64(fastest) / float64(s.Latency)
		}
		sum := w.Cost*r.Cost + w.Latency*r.Latency + w.Quality*r.Quality + w.Headroom*r.Headroom
		r.Total = sum / (w.Cost + w.Latency + w.Quality + w.Headroom)
		rated[i] = r
	}
	return rated
}

// pick is why a target is first.
type pick int

const (
	byRank      pick = iota
	byPrefix         // the prefix of the call sticks to it
	byChance         // it has more headroom than another of the near-equals, both drawn at random
	byExploring      // it was not the fastest when it was last measured, long ago
)

// byScore orders targets from the best to the worst. Of the targets within the tolerance of the best, one comes first: the
// one that the prefix sticks to, else the one with more headroom of two drawn at random. If every call went to the best
// target, it would be overloaded before its score showed it.
func byScore(all []TargetStats, rated []Score, tolerance float64, draw func(n int) int) ([]int, pick) {
	order := indices(len(all))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rated[b].Total, rated[a].Total) })
	near := 0
	for near < len(order) && rated[order[near]].Total >= rated[order[0]].Total-tolerance {
		near++
	}
	if near < 2 {
		return order, byRank
	}
	if at, ok := sticky(all, order[:near]); ok {
		return toFront(order, at), byPrefix
	}
	one, two := draw(near), draw(near-1)
	if two >= one {
		two++
	}
	if all[order[two]].Headroom > all[order[one]].Headroom {
		one = two
	}
	return toFront(order, one), byChance
}

// byWeight orders targets by how far they are behind their share, which spreads the calls of each evenly (a
// smooth weighted round robin). A prefix sticks to the same target each time, and prefixes keep to the same shares.
func byWeight(all []TargetStats) ([]int, pick) {
	order := indices(len(all))
	due := func(i int) float64 { return all[i].Credit + float64(all[i].Weight) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(due(b), due(a)) })
	if at, ok := sticky(all, order); ok {
		return toFront(order, at), byPrefix
	}
	return order, byRank
}

// settle deducts the turn from the credit of the chosen target. Targets before it in the order had no capacity: they get no
// credit, so that a target which was unavailable does not get all calls when it is back.
func settle(all []TargetStats, order []int, chosen int) {
	var total float64
	for _, i := range order[chosen:] {
		all[i].Credit += float64(all[i].Weight)
		total += float64(all[i].Weight)
	}
	all[order[chosen]].Credit -= total
}

// sticky returns the target that a prefix sticks to, if any of the targets caches prompts.
func sticky(all []TargetStats, among []int) (at int, ok bool) {
	caches := func(i int) bool { return all[i].PromptCache && all[i].Pull > 0 }
	for n, i := range among {
		if caches(i) && (!ok || all[i].Pull > all[among[at]].Pull) {
			at, ok = n, true
		}
	}
	return at, ok
}

// toFront moves the entry at a place to the front.
func toFront(order []int, at int) []int {
	first := order[at]
	copy(order[1:at+1], order[:at])
	order[0] = first
	return order
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Prefix is the hash of the beginning of a body; 0 for a body that is too short.
func Prefix(model string, body []byte) uint64 {
	if len(body) < MaxPrefixBytes {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(model))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(body[:MaxPrefixBytes])
	return max(1, h.Sum64())
}

// pull is the weighted rendezvous hash of a prefix and a target: the highest wins, each target in proportion to its
// weight, and when a target is removed only its own prefixes move.
func pull(prefix uint64, target string, weight int) float64 {
	if prefix == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(target))
	x := h.Sum64() ^ prefix
	// FNV alone leaves the high bits of short names alike; this is the finish of SplitMix64.
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	x ^= x >> 31
	part := (float64(x>>11) + 0.5) / (1 << 53)
	return float64(max(weight, 1)) / -math.Log(part)
}

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
	// nearEqual is how far below the best a score may be to count as equal: noise in latency and headroom
	// must not send everybody to the same target.
	nearEqual = 0.05
	// nearlyAsFast is the same where latency alone counts: medians of targets that are alike differ by some percent.
	nearlyAsFast = 0.15
	// MaxPrefixBytes is how much of a body decides which target a call sticks to. Upstreams cache prompts
	// from about a thousand tokens on; shorter bodies stick to nothing.
	MaxPrefixBytes = 4 << 10
)

// TargetStats is what a policy knows of a target at one moment.
type TargetStats struct {
	Cost        penstock.NanoUSD // of a call like the one at hand
	Latency     time.Duration    // of its calls lately, 0 while that is not known
	Quality     float64
	Headroom    float64
	Weight      int     // its share, for weighted
	Credit      float64 // how far it is behind its share, for weighted
	PromptCache bool
	Pull        float64 // how strongly the prefix of the call draws to it, 0 without a prefix
}

// Score is how good a target is, from 0 to 1: the parts, and their weighted mean.
type Score struct {
	Total    float64
	Cost     float64 // that of the cheapest, divided by its own
	Latency  float64 // that of the fastest, divided by its own; 1 while it is not known, so that it becomes known
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

// pick is why a target comes first.
type pick int

const (
	byRank      pick = iota
	byPrefix         // it is drawn to by how the call begins
	byChance         // it is the emptier of two that were drawn from near-equals
	byExploring      // it is not the fastest, as far as is known, but that is long ago
)

// byScore orders targets from the best to the worst. Of those that are about as good as the best, one comes first:
// that which the prefix draws to, else the emptier of two that are drawn by lot. Sending every call to the
// one that looks best would make it the worst before that is noticed. The tolerance is how much worse than the best is as good.
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
// smooth weighted round robin). A prefix draws to the same target each time, and by the same shares.
func byWeight(all []TargetStats) ([]int, pick) {
	order := indices(len(all))
	due := func(i int) float64 { return all[i].Credit + float64(all[i].Weight) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(due(b), due(a)) })
	if at, ok := sticky(all, order); ok {
		return toFront(order, at), byPrefix
	}
	return order, byRank
}

// settle makes the chosen target pay for its turn. Those before it in the order had no capacity: they earn nothing,
// so that a target which was away does not get everything when it is back.
func settle(all []TargetStats, order []int, chosen int) {
	var total float64
	for _, i := range order[chosen:] {
		all[i].Credit += float64(all[i].Weight)
		total += float64(all[i].Weight)
	}
	all[order[chosen]].Credit -= total
}

// sticky finds the target that a prefix draws to, if any of these caches prompts.
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

// Prefix is what calls that begin alike have in common; 0 for a body too short to be worth it.
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

// pull is how strongly a prefix draws to a target (weighted rendezvous hashing): the strongest wins, each as
// often as its weight says, and when one is gone only its own prefixes move.
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

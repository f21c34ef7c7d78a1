package route

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock"
)

func TestScores(t *testing.T) {
	t.Parallel()
	all := []TargetStats{
		{Cost: 100, Latency: time.Second, Quality: 0.5, Headroom: 0.5},
		{Cost: 400, Latency: 250 * time.Millisecond, Quality: 1, Headroom: 1},
		{Cost: 0, Quality: 0.2, Headroom: 0},
	}
	for _, tt := range []struct {
		name    string
		all     []TargetStats
		weights penstock.ScoreWeights
		want    []float64
	}{
		{"cheapest", all[:2], penstock.ScoreWeights{Cost: 1}, []float64{1, 0.25}},
		{"free is cheaper than anything", all, penstock.ScoreWeights{Cost: 3}, []float64{0, 0, 1}},
		{"fastest, and the unknown is tried", all, penstock.ScoreWeights{Latency: 2}, []float64{0.25, 1, 1}},
		{"quality", all, penstock.ScoreWeights{Quality: 1}, []float64{0.5, 1, 0.2}},
		{"headroom", all, penstock.ScoreWeights{Headroom: 1}, []float64{0.5, 1, 0}},
		{"mixed", all[:2], penstock.ScoreWeights{Cost: 1, Quality: 3}, []float64{0.625, 0.8125}},
		{"all free", []TargetStats{{}, {}}, penstock.ScoreWeights{Cost: 1}, []float64{1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for i, s := range scores(tt.all, tt.weights) {
				if math.Abs(s.Total-tt.want[i]) > 1e-9 {
					t.Errorf("target %d has %+v, want %v", i, s, tt.want[i])
				}
			}
		})
	}
}

func drawTargetStats(t *rapid.T) TargetStats {
	return TargetStats{
		Cost: penstock.NanoUSD(rapid.Int64Range(0, 1e9).Draw(t, "cost")), Latency: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "latency")),
		Quality: rapid.Float64Range(0, 1).Draw(t, "quality"), Headroom: rapid.Float64Range(0, 1).Draw(t, "headroom"),
		Weight: rapid.IntRange(1, 1000).Draw(t, "weight"), Credit: rapid.Float64Range(-1000, 1000).Draw(t, "credit"),
		PromptCache: rapid.Bool().Draw(t, "cache"), Pull: rapid.Float64Range(0, 10).Draw(t, "pull"),
	}
}

// Scores are from 0 to 1, every target keeps exactly one place, and the first is about as good as the best.
func TestOrderInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawTargetStats), 1, 6).Draw(t, "standings")
		weight := func(name string) float64 { return float64(rapid.IntRange(0, 3).Draw(t, name)) }
		w := penstock.ScoreWeights{Cost: 1, Latency: weight("l"), Quality: weight("q"), Headroom: weight("h")}
		rated := scores(all, w)
		best := 0.0
		for _, s := range rated {
			if math.IsNaN(s.Total) || s.Total < 0 || s.Total > 1+1e-9 {
				t.Fatalf("score %+v", s)
			}
			best = max(best, s.Total)
		}
		order, _ := byScore(all, rated, nearEqual, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") })
		if rated[order[0]].Total < best-nearEqual-1e-9 {
			t.Fatalf("%v comes first, the best is %v", rated[order[0]], best)
		}
		byShare, _ := byWeight(all)
		for _, o := range [][]int{order, byShare} {
			if sorted := slices.Sorted(slices.Values(o)); !slices.Equal(sorted, indices(len(all))) {
				t.Fatalf("the order is %v", o)
			}
		}
	})
}

// A target that becomes better in every way does not lose places.
func TestBetterIsNeverWorse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawTargetStats), 2, 5).Draw(t, "standings")
		w := penstock.ScoreWeights{Cost: 1, Latency: 1, Quality: 1, Headroom: 1}
		rank := func() int { // how many are better than the first
			rated, n := scores(all, w), 0
			for _, s := range rated[1:] {
				if s.Total > rated[0].Total+1e-9 {
					n++
				}
			}
			return n
		}
		before := rank()
		all[0].Quality, all[0].Headroom = 1, 1
		if after := rank(); after > before {
			t.Fatalf("%d are better than it, %d before", after, before)
		}
	})
}

func TestNearEquals(t *testing.T) {
	t.Parallel()
	rated := []Score{{Total: 0.90}, {Total: 0.93}, {Total: 0.50}, {Total: 0.91}}
	all := []TargetStats{{Headroom: 0.9}, {Headroom: 0.1}, {Headroom: 1}, {Headroom: 0.5}}
	draws := func(list ...int) func(int) int {
		return func(int) int { next := list[0]; list = list[1:]; return next }
	}
	// By score: 1, 3, 0 and, far behind, 2.
	for _, tt := range []struct {
		name string
		draw func(int) int
		want []int
	}{
		{"first and second: the second is emptier", draws(0, 0), []int{3, 1, 0, 2}},
		{"second and third: the third is emptier", draws(1, 1), []int{0, 1, 3, 2}},
		{"third and first: the third is emptier", draws(2, 0), []int{0, 1, 3, 2}},
	} {
		if got, pick := byScore(all, rated, nearEqual, tt.draw); !slices.Equal(got, tt.want) || pick != byChance {
			t.Errorf("%s: %v by %v, want %v", tt.name, got, pick, tt.want)
		}
	}
	all[3].PromptCache, all[3].Pull, all[2].PromptCache, all[2].Pull = true, 1, true, 9
	if got, pick := byScore(all, rated, nearEqual, nil); got[0] != 3 || pick != byPrefix {
		t.Errorf("%v by %v; want the near-equal that caches prompts, and not the far one", got, pick)
	}
}

// Each target gets its share of any long run of calls, and is never far ahead or behind.
func TestWeightedIsSmooth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 5).Draw(t, "weights")
		all, total := make([]TargetStats, len(weights)), 0
		for i, w := range weights {
			all[i].Weight = w
			total += w
		}
		given := make([]int, len(all))
		for n := 1; n <= 3*total; n++ {
			order, _ := byWeight(all)
			given[order[0]]++
			settle(all, order, 0)
			for i, got := range given {
				if due := float64(n*weights[i]) / float64(total); math.Abs(float64(got)-due) > float64(len(all)) {
					t.Fatalf("after %d calls target %d has %d, want about %.1f", n, i, got, due)
				}
			}
		}
	})
}

// A target that was without capacity for long has no credit when it is back.
func TestWeightedForgivesAbsence(t *testing.T) {
	t.Parallel()
	all := []TargetStats{{Weight: 1}, {Weight: 1}}
	for range 1000 {
		order, _ := byWeight(all)
		settle(all, order, slices.Index(order, 1))
	}
	given := [2]int{}
	for range 10 {
		order, _ := byWeight(all)
		given[order[0]]++
		settle(all, order, 0)
	}
	if given[0] < 4 || given[0] > 6 {
		t.Errorf("after an absence, %v of ten calls each; want about half", given)
	}
}

// Prefixes keep to the weights, stick to their target, and move only when it is removed.
func TestPrefixesStay(t *testing.T) {
	t.Parallel()
	weights := map[string]int{"a": 3, "b": 1, "c": 1}
	winner := func(prefix uint64, without string) (best string) {
		for _, name := range []string{"a", "b", "c"} {
			if name != without && (best == "" || pull(prefix, name, weights[name]) > pull(prefix, best, weights[best])) {
				best = name
			}
		}
		return best
	}
	given := map[string]int{}
	const prefixes = 10_000
	for i := range prefixes {
		body := fmt.Appendf(make([]byte, 0, MaxPrefixBytes), "%0*d", MaxPrefixBytes, i)
		prefix := Prefix("m", body)
		if longer := Prefix("m", append(body, "more"...)); longer != prefix {
			t.Fatal("the text after the prefix counts")
		}
		first := winner(prefix, "")
		given[first]++
		if first != "b" && winner(prefix, "b") != first {
			t.Fatalf("prefix %d moves away from %s when b is gone", i, first)
		}
	}
	for name, w := range weights {
		if part := float64(given[name]) / prefixes; math.Abs(part-float64(w)/5) > 0.02 {
			t.Errorf("%s has %.3f of all prefixes, want %.1f", name, part, float64(w)/5)
		}
	}
	if Prefix("m", make([]byte, MaxPrefixBytes-1)) != 0 || pull(0, "a", 1) != 0 {
		t.Error("a short body sticks to something")
	}
}

func TestSketch(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	var s sketch
	if _, ok := s.quantile(now, 0.5); ok {
		t.Error("a quantile of nothing")
	}
	for i := range 100 {
		s.add(now, time.Duration(i+1)*10*time.Millisecond)
	}
	for part, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.9: 900 * time.Millisecond} {
		if got, ok := s.quantile(now, part); !ok || math.Abs(float64(got-want)) > 0.15*float64(want) {
			t.Errorf("quantile %v is %v, want about %v", part, got, want)
		}
	}
	now = now.Add(5 * sketchHalf)
	for range 10 {
		s.add(now, 5*time.Second)
	}
	if got, _ := s.quantile(now, 0.5); got < 4*time.Second {
		t.Errorf("after five half-lives ten slow calls do not outweigh a hundred: %v", got)
	}
	if _, ok := s.quantile(now.Add(10*sketchHalf), 0.5); ok {
		t.Error("a sketch never forgets")
	}
}

func TestSketchStaysInBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_000_000, 0)
		var s sketch
		least, most := time.Duration(math.MaxInt64), time.Duration(0)
		for range rapid.IntRange(sketchEnough, 50).Draw(t, "calls") {
			d := time.Duration(rapid.Int64Range(int64(sketchLeast), int64(20*time.Minute)).Draw(t, "took"))
			least, most = min(least, d), max(most, d)
			s.add(now, d)
		}
		got, ok := s.quantile(now, rapid.Float64Range(0, 1).Draw(t, "part"))
		if !ok || float64(got) < float64(least)/sketchGrowth || float64(got) > float64(most)*sketchGrowth {
			t.Fatalf("quantile %v of durations from %v to %v", got, least, most)
		}
	})
}

package capacity

import (
	"testing"
	"time"

	"penstock"
)

// A target that does not count what it read from its cache is paced by the rest; one that does, by all of it.
func TestCachedInputMayBeFree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		free bool
		want int // calls in ten minutes
	}{{true, 590}, {false, 59}} {
		c := newClock()
		b := New(Config{Clock: c.Now})
		target := penstock.Target{Name: "a", InputTokensPerMinute: 6000, FreeCachedInput: tt.free}
		calls := 0
		for end := c.now.Add(11 * time.Minute); c.now.Before(end); c.Advance(100 * time.Millisecond) {
			reservation, ok := b.Take(Ask{Target: &target, InputTokens: 1000, MaxOutputTokens: 1})
			if !ok {
				continue
			}
			if c.now.After(end.Add(-10 * time.Minute)) { // by then it knows what is cached
				calls++
			}
			reservation.Done(Result{Usage: penstock.Usage{InputTokens: 1000, CachedInputTokens: 900, OutputTokens: 1}, UsageKnown: true, Took: time.Second})
		}
		if calls < tt.want-2 || calls > tt.want+2 {
			t.Errorf("free %t: %d calls, want about %d", tt.free, calls, tt.want)
		}
	}
}

// The estimate of a running call is the average of such calls, so that running calls do not block others for nothing.
func TestFreshInputIsEstimated(t *testing.T) {
	t.Parallel()
	var f fresh
	reported := penstock.Usage{InputTokens: 1000, CachedInputTokens: 900}
	if got := f.count(reported); got != reported || f.estimate(1000) != 1000 {
		t.Errorf("all of it counts, but %+v does, and %d are expected", got, f.estimate(1000))
	}
	f.only = true
	if got := f.estimate(1000); got != 1000 {
		t.Errorf("%d are expected before anything is known", got)
	}
	for range 3 {
		if got := f.count(reported); got.InputTokens != 100 || got.CachedInputTokens != 900 {
			t.Errorf("%+v counts", got)
		}
	}
	if got := f.estimate(500); got != 50 {
		t.Errorf("%d of 500 are expected, want a tenth", got)
	}
	for range 200 {
		f.count(penstock.Usage{InputTokens: 1000})
	}
	if got := f.estimate(500); got < 499 {
		t.Errorf("%d of 500 are expected once nothing is cached any more", got)
	}
	for _, odd := range []penstock.Usage{{InputTokens: 10, CachedInputTokens: 20}, {InputTokens: -1}, {InputTokens: 10, CachedInputTokens: -5}} {
		if got := f.count(odd).InputTokens; got < 0 || got > max(0, odd.InputTokens) {
			t.Errorf("%d of %+v count", got, odd)
		}
	}
}

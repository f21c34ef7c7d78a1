package store

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// No minute, wherever it begins, sees more than the allowance withdrawn, but for one unit.
func TestPoolKeepsEveryMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Pool{PerMinute: rapid.Int64Range(1, 100_000).Draw(t, "per minute")}
		type use struct {
			at time.Time
			n  int64
		}
		var uses []use
		now := noon
		for range rapid.IntRange(1, 300).Draw(t, "withdrawals") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			uses = append(uses, use{now, p.Serve(now, RateDraw{Want: rapid.Int64Range(0, 5000).Draw(t, "want")}).Units})
		}
		for i := range uses {
			sum := int64(0)
			for _, u := range uses[i:] {
				if u.at.Sub(uses[i].at) >= time.Minute {
					break
				}
				sum += u.n
			}
			if sum > p.PerMinute+1 {
				t.Fatalf("%d units in a minute, %d are allowed", sum, p.PerMinute)
			}
		}
	})
}

func TestPoolLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Pool{PerMinute: rapid.Int64Range(1, MaxPerMinute).Draw(t, "per minute")}
		p.Refill(noon)
		p.Withdraw(p.Burst())
		now, total := noon, int64(0)
		for now.Sub(noon) < 10*time.Second {
			pause := time.Duration(rapid.Int64Range(1, int64(900*time.Millisecond)).Draw(t, "pause"))
			now = now.Add(pause)
			p.Refill(now)
			total += p.Withdraw(MaxPerMinute)
		}
		want := float64(p.PerMinute) * now.Sub(noon).Minutes() * 59 / 60
		if got := float64(total); got > want+1 || got < want-1-want/1e4 {
			t.Fatalf("%d units in %v, want %.1f", total, now.Sub(noon), want)
		}
	})
}

func TestPoolDebtIsRepaidByTime(t *testing.T) {
	t.Parallel()
	p := Pool{PerMinute: 6000}
	p.Refill(noon)
	p.Overdraw(1084) // 101 are there
	if got := p.Units(); got != -983 {
		t.Fatalf("%d units, want -983", got)
	}
	if got := p.Withdraw(5); got != 0 {
		t.Errorf("%d units withdrawn from a debt", got)
	}
	p.Refill(noon.Add(10 * time.Second))
	if got := p.Units(); got != 0 {
		t.Errorf("%d units after ten seconds, want 0", got)
	}
	p.Overdraw(-5)
	if got := p.Units(); got != 5 {
		t.Errorf("%d units after putting back 5", got)
	}
	for _, n := range []int64{1 << 62, 1 << 62, -1 << 62, -1 << 62} { // nothing wraps around
		p.Overdraw(n)
	}
	if got := p.Units(); got != p.Burst() {
		t.Errorf("%d units after putting back too much, want %d", got, p.Burst())
	}
}

// A clock that is a little behind is a transaction that waited; one that is far behind was set back.
func TestPoolClocks(t *testing.T) {
	t.Parallel()
	p := Pool{PerMinute: 6000}
	p.Refill(noon)
	p.Withdraw(101)
	p.Refill(noon.Add(-time.Second))
	p.Refill(noon)
	if got := p.Units(); got != 0 {
		t.Errorf("a late refill made %d units", got)
	}
	p.Refill(noon.Add(-time.Hour))
	p.Refill(noon.Add(-time.Hour + time.Second))
	if got := p.Units(); got != 98 {
		t.Errorf("%d units a second after the clock was set back, want 98", got)
	}
}

func TestSharePermits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		permits := rapid.IntRange(0, 100).Draw(t, "permits")
		wants := rapid.SliceOfN(rapid.IntRange(0, 60), 0, 8).Draw(t, "wants")
		shares := SharePermits(permits, wants)
		sum, wanted, least := 0, 0, 1<<30
		for i, n := range shares {
			sum, wanted = sum+n, wanted+wants[i]
			if n > wants[i] || n < 0 {
				t.Fatalf("%v of %d permits for %v", shares, permits, wants)
			}
			if n < wants[i] {
				least = min(least, n)
			}
		}
		if sum != min(permits, wanted) {
			t.Fatalf("%v of %d permits for %v: some are wasted", shares, permits, wants)
		}
		for _, n := range shares {
			if n > least+1 { // a holder that wants more has at most one permit less than any other
				t.Fatalf("%v of %d permits for %v is not fair", shares, permits, wants)
			}
		}
	})
}

// With terms that leave out of the flow what may be used at once, no minute sees more than the allowance at all.
func TestPoolWithTermsKeepsEveryMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.Int64Range(2, 100_000).Draw(t, "per minute")
		burst := rapid.Float64Range(0.001, 0.5).Draw(t, "burst")
		p := Pool{PerMinute: perMinute, Terms: Terms{
			Hold: max(1, int64(burst*float64(perMinute))), Fill: max(1, int64(60*float64(perMinute)*(1-burst))),
		}}
		var times []time.Time
		var units []int64
		now := noon
		for range rapid.IntRange(1, 300).Draw(t, "withdrawals") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			times, units = append(times, now), append(units, p.Serve(now, RateDraw{Want: rapid.Int64Range(0, 5000).Draw(t, "want")}).Units)
		}
		for i := range times {
			sum := int64(0)
			for k := i; k < len(times) && times[k].Sub(times[i]) < time.Minute; k++ {
				sum += units[k]
			}
			if sum > perMinute {
				t.Fatalf("%d units in a minute, %d are allowed", sum, perMinute)
			}
		}
	})
}

func TestPoolOfADay(t *testing.T) {
	t.Parallel()
	p := Pool{PerMinute: 100, Terms: Terms{Hold: 100, Daily: true}}
	if got := p.Serve(noon, RateDraw{Want: 250}); !reflect.DeepEqual(got, RateGrant{Units: 100, Next: 12 * time.Hour}) {
		t.Errorf("at noon: %+v", got)
	}
	if got := p.Serve(noon.Add(11*time.Hour), RateDraw{Want: 1}); !reflect.DeepEqual(got, RateGrant{Next: time.Hour}) {
		t.Errorf("in the evening: %+v", got)
	}
	if got := p.Serve(noon.Add(12*time.Hour), RateDraw{Want: 1}); !reflect.DeepEqual(got, RateGrant{Units: 1, Left: 99}) {
		t.Errorf("at midnight: %+v", got)
	}
}

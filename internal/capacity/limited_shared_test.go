package capacity

import (
	"context"
	"errors"
	"testing"
	"time"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/store"
)

// twoTrackers are the trackers of processes that share shared pools and use one target.
func twoTrackers(t *testing.T, c *clock, pools *Memory, target *penstock.Target) [2]*Tracker {
	t.Helper()
	trackers := [2]*Tracker{}
	for i, name := range []string{"one", "two"} {
		trackers[i] = New(Config{Clock: c.Now, Pools: pools.Process(name)})
		for range 2 { // it has something of each configured limit
			trackers[i].Refused(target)
			refresh(t, trackers[i])
			c.Advance(refreshSpacing)
		}
		if look := trackers[i].Look(target); look.Reason != "" {
			t.Fatalf("process %s has no capacity: %+v", name, look)
		}
	}
	return trackers
}

// rests says how long a target rests as a whole, and each of its limits.
func rests(b *Tracker, target *penstock.Target, now time.Time) (time.Duration, store.LimitRests) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(target, now).restsLeft(now)
}

// After a refusal every process rests the same: the limit that the refusal names, or the target when it names none.
func TestOthersHearWhatRests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		res    Result
		rest   time.Duration
		limits store.LimitRests
		reason Reason
	}{
		{"a limit", refusedFor(provider.ResourceTokens, time.Minute, 30*time.Second), 0, store.LimitRests{"tokens": 30 * time.Second}, Limited},
		{"a limit, beyond its window", refusedFor(provider.ResourceRequests, time.Minute, time.Hour), 0, store.LimitRests{"requests": time.Minute}, Limited},
		{"a day's limit", refusedFor(provider.ResourceInput, 24*time.Hour, 20*time.Hour), 0, store.LimitRests{"input_tokens": maxDayRest}, Limited},
		{"no limit", refusedFor("", 0, 30*time.Second), 30 * time.Second, nil, Resting},
	} {
		for _, target := range []penstock.Target{{Name: "a"}, {Name: "a", RequestsPerMinute: 60_000, InputTokensPerMinute: 600_000, OutputTokensPerMinute: 600_000}} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				c := newClock()
				pools := NewMemory(c.Now)
				trackers := twoTrackers(t, c, pools, &target)
				reservation, ok := trackers[0].Take(Ask{Target: &target})
				if !ok {
					t.Fatal("no capacity")
				}
				reservation.Done(tt.res)
				refresh(t, trackers[0])
				late := New(Config{Clock: c.Now, Pools: pools.Process("three")}) // it never met the target before
				late.Refused(&target)
				refresh(t, late)
				c.Advance(permitRefresh)
				for _, b := range append(trackers[:], late) {
					b.Refused(&target)
					refresh(t, b)
				}
				for i, b := range append(trackers[:], late) {
					rest, limits := rests(b, &target, c.now)
					want := max(0, tt.rest-permitRefresh)
					if rest != want || len(limits) != len(tt.limits) {
						t.Errorf("process %d: the target rests for %v, limits for %v; want %v and %v", i+1, rest, limits, want, tt.limits)
					}
					for limit, d := range tt.limits {
						if limits[limit] != d-permitRefresh {
							t.Errorf("process %d: %s rests for %v, want %v", i+1, limit, limits[limit], d-permitRefresh)
						}
					}
					if look := b.Look(&target); look.Reason != tt.reason {
						t.Errorf("process %d: %+v", i+1, look)
					}
				}
			})
		}
	}
}

// A rest of the target does not make those of its limits longer, nor they it.
func TestRestsDoNotMix(t *testing.T) {
	t.Parallel()
	c := newClock()
	target := penstock.Target{Name: "a"}
	trackers := twoTrackers(t, c, NewMemory(c.Now), &target)
	var running [2]*Reservation
	for i := range running {
		running[i], _ = trackers[0].Take(Ask{Target: &target})
	}
	running[0].Done(refusedFor(provider.ResourceTokens, 24*time.Hour, time.Hour))
	running[1].Done(Result{Kind: provider.KindOverloaded, RetryAfter: 5 * time.Second})
	c.Advance(permitRefresh)
	for _, b := range trackers {
		b.Refused(&target)
		refresh(t, b)
	}
	for i, b := range trackers {
		rest, limits := rests(b, &target, c.now)
		if rest != 5*time.Second-permitRefresh || len(limits) != 1 || limits["tokens"] != time.Hour-permitRefresh {
			t.Errorf("process %d: the target rests for %v, limits for %v", i+1, rest, limits)
		}
	}
}

// flakyBank fails while away is set.
type flakyBank struct {
	Pools
	away bool
}

func (b *flakyBank) Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error) {
	if b.away {
		return store.Allotment{}, errors.New("the shared pools is closed")
	}
	return b.Pools.Withdraw(ctx, w)
}

// A failed refresh does not lose a rest that was to be reported, and rests of limits that only another version knows are ignored.
func TestRestOfALimitIsReportedAgain(t *testing.T) {
	t.Parallel()
	c := newClock()
	pools := NewMemory(c.Now)
	flaky := &flakyBank{Pools: pools.Process("one"), away: true}
	b := New(Config{Clock: c.Now, Pools: flaky})
	target := penstock.Target{Name: "a"}
	reservation, _ := b.Take(Ask{Target: &target})
	reservation.Done(refusedFor(provider.ResourceTokens, time.Minute, 30*time.Second))
	if err := b.Refresh(t.Context()); err == nil {
		t.Fatal("a refresh of shared pools that is away went well")
	}
	flaky.away = false
	c.Advance(refreshRetry)
	refresh(t, b)
	draw := store.PermitDraw{Pool: "target/a/permits", LimitRests: store.LimitRests{"of another version": time.Minute}}
	a, err := pools.Process("two").Withdraw(t.Context(), store.Withdrawal{Permits: []store.PermitDraw{draw}})
	if got := a.Permits[0]; err != nil || got.Rest != 0 || got.LimitRests["tokens"] != 30*time.Second-refreshRetry {
		t.Errorf("other processes get %+v, %v", got, err)
	}
	c.Advance(permitRefresh)
	b.Refused(&target)
	refresh(t, b)
	if rest, limits := rests(b, &target, c.now); rest != 0 || len(limits) != 1 {
		t.Errorf("the target rests for %v, limits for %v", rest, limits)
	}
}

package capacity

import (
	"fmt"
	"testing"
	"time"

	"penstock"
)

// A target that allows one call a minute gets no second one before a minute has passed, whatever became of the first, and
// whether the process is alone or shares the limit.
func TestOneCallAMinute(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Reservation){
		"answered": func(k *Reservation) { k.Done(good(1)) },
		"failed":   func(k *Reservation) { k.Done(Result{Kind: "server_error"}) },
		"running":  func(*Reservation) {},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", shared ", shared), func(t *testing.T) {
				t.Parallel()
				clock := newClock()
				cfg := Config{Clock: clock.Now}
				if shared {
					cfg.Pools = NewMemory(clock.Now).Process("one")
				}
				b, target := New(cfg), penstock.Target{Name: "slow", RequestsPerMinute: 1}
				began := clock.now
				var at []time.Duration
				for clock.now.Sub(began) < 3*time.Minute {
					if reservation, ok := b.Take(Ask{Target: &target}); ok {
						at = append(at, clock.now.Sub(began).Round(time.Second))
						end(reservation)
					} else {
						b.Refused(&target)
					}
					clock.Advance(50 * time.Millisecond)
					if shared {
						refresh(t, b)
					}
				}
				if len(at) < 3 {
					t.Fatalf("calls at %v: less than is allowed", at)
				}
				for i := 1; i < len(at); i++ {
					if at[i]-at[i-1] < time.Minute-time.Second {
						t.Errorf("calls at %v: two within a minute", at)
					}
				}
			})
		}
	}
}

// What a limit lets through at once is a sixtieth of it, and one.
func TestBurst(t *testing.T) {
	t.Parallel()
	for perMinute, want := range map[int64]int{1: 1, 59: 1, 60: 2, 600: 11} {
		clock := newClock()
		b := New(Config{Clock: clock.Now})
		if got := len(takeAll(b, penstock.Target{Name: "t", RequestsPerMinute: perMinute, Concurrency: 1000})); got != want {
			t.Errorf("%d a minute: %d calls at once, want %d", perMinute, got, want)
		}
	}
}

package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// retryAt is the moment that a refused call was given.
type retryAt struct {
	holder string
	at     time.Time
	place  int64         // once it waits for it
	late   time.Duration // how long it waited so far
}

// However often and whenever holders claim: no minute sees more than the limit, each holder that comes back at its moment
// passes, and places stay within their bounds. A holder that comes back may have to wait a moment: units of holders that are
// late for their own places may not fit into the pool.
func TestPlacesKeepEveryMinuteAndEveryPromise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.Int64Range(60, 600).Draw(t, "per minute")
		hold := perMinute / rapid.Int64Range(2, 20).Draw(t, "part") // what flows in during PlaceGrace fits
		p := Pool{PerMinute: perMinute, Terms: Terms{Hold: hold, Fill: 60 * (perMinute - hold)}}
		now := noon
		var passed []time.Time
		var due []retryAt
		claim := func(c Claim) ClaimGrant {
			c.Units, c.Weight = 1, 1
			g := p.Claim(now, c)
			if g.Granted {
				passed = append(passed, now)
			}
			return g
		}
		remember := func(m retryAt) {
			due = append(due, m)
			slices.SortStableFunc(due, func(a, b retryAt) int { return a.at.Compare(b.at) })
		}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			next := now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause")))
			// Calls that were given a moment return then; other calls arrive at any time.
			for len(due) > 0 && !due[0].at.After(next) {
				back := due[0]
				now, due = back.at, due[1:]
				if g := claim(Claim{Holder: back.holder, Place: back.place, Wait: 2 * time.Second}); !g.Granted {
					if back.late += g.In; back.late > 2*time.Second || g.Place == 0 {
						t.Fatalf("%s came at its moment and was given %v", back.holder, back.late)
					}
					back.at, back.place = now.Add(g.In), g.Place
					remember(back)
				}
			}
			now = next
			c := Claim{Holder: fmt.Sprint("key-", rapid.IntRange(0, 3).Draw(t, "key")), Try: TryFirst}
			if rapid.Bool().Draw(t, "hammers") {
				c.Holder, c.Try = "hammer", rapid.SampledFrom([]Try{TryUnknown, TryFirst, TryAgain}).Draw(t, "try")
			}
			g := claim(c)
			if !g.Granted && g.Place != 0 && c.Try == TryFirst && c.Holder != "hammer" {
				remember(retryAt{holder: c.Holder, at: now.Add(g.In)})
			}
			if len(p.Places) > MaxPlaces || (g.Place != 0 && g.In > PlaceHorizon) {
				t.Fatalf("%d places, the last in %v", len(p.Places), g.In)
			}
		}
		first := 0
		for i, at := range passed {
			for at.Sub(passed[first]) >= time.Minute {
				first++
			}
			if n := int64(i - first + 1); n > perMinute {
				t.Fatalf("%d in a minute, %d are allowed", n, perMinute)
			}
		}
	})
}

// Places of one or two other holders do not delay a holder far: a share of future units is left for holders without a place.
func TestGatheringPushesNobodyBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Pool{PerMinute: 60, Terms: Terms{Hold: 3, Fill: 60 * 57}}
		keys := rapid.IntRange(2, 3).Draw(t, "keys")
		for k := range keys {
			p.Claim(noon, Claim{Holder: fmt.Sprint("key-", k), Units: 1, Weight: 1, Look: true})
			p.Users.Saw(fmt.Sprint("key-", k), noon)
		}
		for k := range keys - 1 {
			for range rapid.IntRange(1, 60).Draw(t, "claims") {
				p.Claim(noon, Claim{Holder: fmt.Sprint("key-", k), Units: 1, Weight: 1, Try: TryFirst})
			}
		}
		g := p.Claim(noon, Claim{Holder: fmt.Sprint("key-", keys-1), Units: 1, Weight: 1, Try: TryFirst})
		const unit = time.Minute / 57
		if most := 10 * unit; !g.Granted && g.In > most {
			t.Fatalf("the last of %d keys is given %v, want %v at the most", keys, g.In, most)
		}
	})
}

// A place belongs to one call: other calls of its key do not overtake the call that waits for it, and an unused place lapses.
func TestPlaceBelongsToWhoWaits(t *testing.T) {
	t.Parallel()
	p := Pool{PerMinute: 60, Terms: Terms{Hold: 1, Fill: 60 * 59}}
	if g := p.Claim(noon, Claim{Holder: "a", Units: 1, Weight: 1}); !g.Granted {
		t.Fatal("a full pool has nothing")
	}
	waits := p.Claim(noon, Claim{Holder: "a", Units: 1, Weight: 1, Wait: 2 * time.Second})
	kept := p.Claim(noon, Claim{Holder: "a", Units: 1, Weight: 1})
	due := noon.Add(waits.In)
	if g := p.Claim(due, Claim{Holder: "a", Units: 1, Weight: 1}); g.Granted {
		t.Error("another call of the key took the place of one that waits")
	}
	if g := p.Claim(due, Claim{Holder: "a", Units: 1, Weight: 1, Place: waits.Place}); !g.Granted {
		t.Errorf("the call that waits for it is given %v", g.In)
	}
	late := noon.Add(kept.In + PlaceGrace)
	if g := p.Claim(late, Claim{Holder: "b", Units: 1, Weight: 1}); g.Granted {
		t.Error("a place is taken while it is kept")
	}
	if g := p.Claim(late.Add(4*time.Second), Claim{Holder: "b", Units: 1, Weight: 1}); !g.Granted {
		t.Errorf("places that have lapsed are kept: %+v", p.Places)
	}
}

// A holder whose calls all wait has no more places than one may have beside others, so that those find some. Alone it may have all.
func TestWaitingCallsLeavePlacesToOthers(t *testing.T) {
	t.Parallel()
	for others, most := range map[int]int{0: MaxPlaces, 1: MaxPlacesOfHolder} {
		p := Pool{PerMinute: 60_000, Terms: Terms{Hold: 1, Fill: 60 * 59_999}}
		for i := range others {
			p.See([]string{fmt.Sprint("other-", i)}, noon)
		}
		for range 2 * MaxPlaces {
			p.Claim(noon, Claim{Holder: "a", Units: 1, Weight: 1, Wait: 2 * time.Second, Try: TryFirst})
		}
		if len(p.Places) != most {
			t.Errorf("beside %d others a holder has %d places, want %d", others, len(p.Places), most)
		}
		g := p.Claim(noon, Claim{Holder: "other-0", Units: 1, Weight: 1, Wait: 2 * time.Second, Try: TryFirst})
		if others > 0 && (g.Place == 0 || g.In > 2*time.Second) {
			t.Errorf("another holder is given %+v", g)
		}
	}
}

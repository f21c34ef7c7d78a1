package storetest

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"penstock"
	"penstock/internal/store"
)

func poolCases() []testCase {
	return []testCase{
		{"a new pool is full and refills evenly", poolRefills},
		{"unused units can be returned", poolReturn},
		{"an upstream's word only lowers", poolLower},
		{"processes together never exceed the allowance", poolRace},
		{"pools do not mix", poolApart},
		{"a pool fills as its terms say", poolTerms},
		{"a day's pool is full again the next day", poolOfADay},
		{"places are kept for their holders", poolPlaces},
		{"calls that run as jobs take permits until their jobs end", permitsOfCalls},
		{"permits go to the processes that want them", permitsShared},
		{"a permit is given only when it is free", permitsReleased},
		{"permits end with the lease", permitsOfDeadLeases},
		{"a renewed lease has no permits", permitsComeBack},
		{"a process without a lease has no permits", permitsWithoutLease},
		{"processes together never exceed the cap", permitsRace},
		{"a rest applies to all processes", poolRest},
		{"a rest of a limit applies to that limit", poolLimitRest},
	}
}

const perMinute = 6000 // 100 a second: a burst of 101, filled at 98⅓ a second

func (r *rig) withdraw(l store.Lease, w store.Withdrawal) store.Allotment {
	r.t.Helper()
	a, err := r.s.Withdraw(r.t.Context(), l, w)
	r.must("withdraw", err)
	if len(a.Rates) != len(w.Rates) || len(a.Permits) != len(w.Permits) {
		r.t.Fatalf("%d and %d grants for %d and %d draws", len(a.Rates), len(a.Permits), len(w.Rates), len(w.Permits))
	}
	return a
}

// draw withdraws from one pool.
func (r *rig) draw(d store.RateDraw) store.RateGrant {
	r.t.Helper()
	if d.Pool == "" {
		d.Pool = "pool"
	}
	d.PerMinute = perMinute
	return r.withdraw(store.Lease{}, store.Withdrawal{Rates: []store.RateDraw{d}}).Rates[0]
}

// wantUnits draws more than there is and demands that it be n units.
func (r *rig) wantUnits(when string, d store.RateDraw, n int64) {
	r.t.Helper()
	d.Want = everything
	if got := r.draw(d); got.Units != n || got.Next <= 0 {
		r.t.Errorf("%s: drew %+v, want %d units and when there are more", when, got, n)
	}
}

func poolRefills(r *rig) {
	if got := r.draw(store.RateDraw{Want: 1}); !reflect.DeepEqual(got, store.RateGrant{Units: 1, Left: 100}) {
		r.t.Errorf("drew %+v from a full pool, want 1 unit", got)
	}
	r.wantUnits("the rest of a full pool", store.RateDraw{}, 100)
	r.wantUnits("an empty pool", store.RateDraw{}, 0)
	r.clock.Advance(600 * time.Millisecond)
	r.wantUnits("after 600 ms", store.RateDraw{}, 59)
	for range 10 { // looking often loses nothing
		r.clock.Advance(60 * time.Millisecond)
		r.draw(store.RateDraw{})
	}
	r.wantUnits("after 600 ms in steps", store.RateDraw{}, 59)
	r.clock.Advance(time.Hour)
	r.wantUnits("after an hour", store.RateDraw{}, 101)
	if got := r.draw(store.RateDraw{Want: 1}); got.Next <= 0 || got.Next > 11*time.Millisecond {
		r.t.Errorf("an empty pool says that there is more in %v, want 10 ms", got.Next)
	}
}

// poolTerms holds little, and fills at nine tenths of the allowance.
func poolTerms(r *rig) {
	terms := store.Terms{Hold: 10, Fill: 60 * perMinute * 9 / 10}
	r.wantUnits("at first", store.RateDraw{Terms: terms}, 10)
	r.clock.Advance(50 * time.Millisecond)
	got := r.draw(store.RateDraw{Terms: terms, Want: 1})
	if !reflect.DeepEqual(got, store.RateGrant{Units: 1, Left: 3}) {
		r.t.Errorf("50 ms later, of 90 a second: %+v", got)
	}
	r.clock.Advance(time.Second)
	r.wantUnits("when full", store.RateDraw{Terms: terms}, 10)
}

// poolOfADay does not grow before the day ends.
func poolOfADay(r *rig) {
	terms := store.Terms{Hold: perMinute, Daily: true}
	if got := r.draw(store.RateDraw{Terms: terms, Want: 1000}); got.Units != 1000 || got.Left != perMinute-1000 {
		r.t.Errorf("the first of a day: %+v", got)
	}
	r.clock.Advance(time.Microsecond)
	got := r.draw(store.RateDraw{Terms: terms, Want: 10 * perMinute})
	if got.Units != perMinute-1000 || got.Left != 0 || got.Next <= 0 || got.Next > 24*time.Hour {
		r.t.Errorf("the rest of a day: %+v", got)
	}
	r.clock.Advance(got.Next)
	r.wantUnits("at midnight", store.RateDraw{Terms: terms}, perMinute)
}

// poolPlaces keeps places that any process finds again, and that other calls do not take.
func poolPlaces(r *rig) {
	terms := store.Terms{Hold: 10, Fill: 60 * perMinute * 9 / 10} // 90 a second
	claim := func(c store.Claim) store.ClaimGrant {
		r.t.Helper()
		c.Units, c.Weight = 1, 1
		return r.draw(store.RateDraw{Terms: terms, Claims: []store.Claim{c}}).Claims[0]
	}
	r.wantUnits("at first", store.RateDraw{Terms: terms, Users: []string{"a", "b"}}, 10)
	place := claim(store.Claim{Holder: "a"})
	if place.Granted || place.Place == 0 || place.In <= 0 || place.In > 12*time.Millisecond {
		r.t.Fatalf("of an empty pool: %+v, want a place in 11 ms", place)
	}
	r.clock.Advance(place.In)
	if got := claim(store.Claim{Holder: "b"}); got.Granted || got.In <= 0 {
		r.t.Errorf("another holder got %+v of what is kept", got)
	}
	r.wantUnits("what is kept is not withdrawn ahead", store.RateDraw{Terms: terms}, 0)
	if got := claim(store.Claim{Holder: "a", Try: store.TryFirst}); got.Granted {
		r.t.Errorf("a first try took the place of another call: %+v", got)
	}
	if got := claim(store.Claim{Holder: "a", Try: store.TryAgain}); !got.Granted {
		r.t.Errorf("whom it is kept for got %+v", got)
	}
	r.clock.Advance(store.PlaceGrace + time.Second)
	r.wantUnits("after all have lapsed", store.RateDraw{Terms: terms}, 10)
	r.draw(store.RateDraw{Terms: terms, Owed: 90})
	if got := claim(store.Claim{Holder: "a"}); got.Granted || got.In < time.Second || got.In > 1100*time.Millisecond {
		r.t.Errorf("with 90 units owed: %+v", got)
	}
}

// permitsOfCalls counts calls by their jobs: those of the tenant, of the key, and for the model by either name.
func permitsOfCalls(r *rig) {
	l := r.lease("a")
	calls := func(c store.CallScope) int {
		r.t.Helper()
		return r.withdraw(l, store.Withdrawal{Permits: []store.PermitDraw{{Pool: "pool", Cap: 10, Want: 10, Calls: c}}}).Permits[0].Calls
	}
	sub := r.submission(1)
	sub.Job.Call, sub.Job.Key, sub.Job.Model = true, "app", "asked"
	r.submit(sub)
	r.submitN(1) // a job like others
	tenant := sub.Job.Tenant
	for c, want := range map[store.CallScope]int{
		{Tenant: tenant}: 1, {Tenant: tenant, Key: "app"}: 1, {Tenant: tenant, Key: "other"}: 0, {Tenant: tenant, Model: "asked"}: 1,
		{Tenant: tenant, Model: sub.Job.Resolved.Model}: 1, {Tenant: tenant, Model: "another"}: 0, {Tenant: "stranger"}: 0, {}: 0,
	} {
		if got := calls(c); got != want {
			r.t.Errorf("%d calls run of %+v, want %d", got, c, want)
		}
	}
	if g := r.withdraw(l, store.Withdrawal{Permits: []store.PermitDraw{{Pool: "pool", Cap: 1, Want: 1, Calls: store.CallScope{Tenant: tenant}}}}).Permits[0]; g.Permits != 0 {
		r.t.Errorf("a process got %d permits, beside a call that has the only one", g.Permits)
	}
	r.win(r.endings(r.claimN(l, 2), penstock.TransitionSucceed)...)
	if got := calls(store.CallScope{Tenant: tenant}); got != 0 {
		r.t.Errorf("%d calls run after their jobs have ended", got)
	}
}

func poolReturn(r *rig) {
	r.wantUnits("a full pool", store.RateDraw{}, 101)
	r.wantUnits("after returning some", store.RateDraw{Return: 40}, 40)
	r.draw(store.RateDraw{Return: everything})
	r.wantUnits("after returning too many", store.RateDraw{}, 101)
}

func poolLower(r *rig) {
	r.wantUnits("what an upstream says is left", store.RateDraw{Lower: true, Remaining: 7}, 7)
	r.wantUnits("when it says that more is left", store.RateDraw{Lower: true, Remaining: everything}, 0)
	r.clock.Advance(time.Hour)
	r.wantUnits("when it says nothing", store.RateDraw{Remaining: 7}, 101)
}

func poolRace(r *rig) {
	const processes, draws = 6, 30
	const step = 20 * time.Millisecond
	var mu sync.Mutex
	var group sync.WaitGroup
	var total int64
	began := r.clock.Now()
	for p := range processes {
		group.Go(func() {
			for v := range draws {
				if p == 0 {
					r.clock.Advance(step)
				}
				// In two orders, so that transactions that lock in the order given would block each other.
				names := []string{"a", "b"}
				if (p+v)%2 == 0 {
					names = []string{"b", "a"}
				}
				w := store.Withdrawal{}
				for _, name := range names {
					w.Rates = append(w.Rates, store.RateDraw{Pool: name, PerMinute: perMinute, Want: int64(5 + p)})
				}
				a, err := r.s.Withdraw(r.t.Context(), store.Lease{}, w)
				if err != nil {
					r.t.Errorf("withdraw: %v", err)
					return
				}
				mu.Lock()
				total += a.Rates[0].Units + a.Rates[1].Units
				mu.Unlock()
			}
		})
	}
	group.Wait()
	most := int64(2 * (101 + perMinute*r.clock.Now().Sub(began).Minutes()))
	if total > most || total < most*9/10 {
		r.t.Errorf("%d units were drawn, want close to and at most %d", total, most)
	}
}

func poolApart(r *rig) {
	r.wantUnits("one pool", store.RateDraw{Pool: "a"}, 101)
	r.wantUnits("another", store.RateDraw{Pool: "a "}, 101)
	w := store.Withdrawal{Rates: []store.RateDraw{
		{Pool: "z", PerMinute: 60, Want: 9}, {Pool: "c", PerMinute: 600, Want: 9}, {Pool: "a", PerMinute: 60, Want: 9},
	}}
	got := r.withdraw(store.Lease{}, w).Rates
	if got[0].Units != 2 || got[1].Units != 9 || got[2].Units != 0 {
		r.t.Errorf("drew %+v, want 2, 9 and 0 units in the order of the draws", got)
	}
}

// drawPermits draws on the permits of one pool with a cap of ten.
func (r *rig) drawPermits(l store.Lease, hold, want int) store.PermitGrant {
	r.t.Helper()
	d := store.PermitDraw{Pool: "pool", Cap: 10, Hold: hold, Want: want}
	return r.withdraw(l, store.Withdrawal{Permits: []store.PermitDraw{d}}).Permits[0]
}

func (r *rig) wantPermits(when string, got store.PermitGrant, permits, share int) {
	r.t.Helper()
	if got.Permits != permits || got.Share != share {
		r.t.Errorf("%s: got %d permits and a share of %d, want %d and %d", when, got.Permits, got.Share, permits, share)
	}
}

func permitsShared(r *rig) {
	a, b := r.lease("a"), r.lease("b")
	r.wantPermits("alone", r.drawPermits(a, 0, 50), 10, 10)
	r.wantPermits("beside one that wants little", r.drawPermits(b, 0, 2), 0, 2)
	r.wantPermits("giving up what the other wants", r.drawPermits(a, 8, 50), 8, 8)
	r.wantPermits("once it is given up", r.drawPermits(b, 0, 2), 2, 2)
	r.wantPermits("when both want all", r.drawPermits(b, 2, 50), 2, 5)
	r.wantPermits("coming down to the share", r.drawPermits(a, 5, 50), 5, 5)
	r.wantPermits("the other half", r.drawPermits(b, 2, 50), 5, 5)
	r.wantPermits("leaving", r.drawPermits(b, 0, 0), 0, 0)
	r.wantPermits("alone again", r.drawPermits(a, 5, 50), 10, 10)
}

func permitsReleased(r *rig) {
	a, b := r.lease("a"), r.lease("b")
	r.drawPermits(a, 0, 10)
	r.wantPermits("while all are held", r.drawPermits(b, 0, 10), 0, 5)
	r.wantPermits("who uses its permits keeps them", r.drawPermits(a, 9, 10), 9, 5)
	r.wantPermits("what was released", r.drawPermits(b, 0, 10), 1, 5)
	if g := r.drawPermits(a, 9, 10); g.For <= 0 || g.For > leaseTTL {
		r.t.Errorf("permits last %v, want as long as the lease", g.For)
	}
}

func permitsOfDeadLeases(r *rig) {
	b := r.lease("b")
	for what, end := range map[string]func(l store.Lease){
		"released": func(l store.Lease) { r.must("release", r.s.ReleaseLease(r.t.Context(), l)) },
		"fenced":   func(store.Lease) { r.lease("a") },
		"expired": func(store.Lease) {
			r.clock.Advance(leaseTTL - time.Second)
			r.must("renew", r.renew(b))
			r.clock.Advance(2 * time.Second)
		},
	} {
		a := r.lease("a")
		r.wantPermits(what+": before", r.drawPermits(a, 0, 10), 10, 10)
		end(a)
		r.wantPermits(what+": after", r.drawPermits(b, 0, 10), 10, 10)
		r.wantPermits(what+": the holder", r.drawPermits(a, 10, 10), 0, 0)
		r.wantPermits(what+": the next round", r.drawPermits(b, 0, 0), 0, 0)
	}
}

func permitsComeBack(r *rig) {
	a, b := r.lease("a"), r.lease("b")
	r.drawPermits(a, 0, 10)
	r.clock.Advance(pastLease)
	r.must("renew b", r.renew(b))
	r.wantPermits("the permits of an expired lease", r.drawPermits(b, 0, 10), 10, 10)
	r.must("renew a late", r.renew(a))
	r.wantPermits("the renewed lease", r.drawPermits(a, 10, 10), 0, 5)
}

func permitsWithoutLease(r *rig) {
	r.wantPermits("an unknown lease", r.drawPermits(store.Lease{Process: "unknown", Epoch: 1}, 0, 10), 0, 0)
	r.wantPermits("no lease", r.drawPermits(store.Lease{}, 0, 10), 0, 0)
	r.wantPermits("a good lease", r.drawPermits(r.lease("a"), 0, 10), 10, 10)
}

// permitsRace starts and ends processes, each of which uses only the permits that it was granted.
func permitsRace(r *rig) {
	const processes, draws, limit = 5, 25, 7
	var mu sync.Mutex
	var group sync.WaitGroup
	held := make([]int, processes)
	set := func(p, permits int) {
		mu.Lock()
		defer mu.Unlock()
		held[p] = permits
		sum := 0
		for _, n := range held {
			sum += n
		}
		if sum > limit {
			r.t.Errorf("%v permits are held, together more than %d", held, limit)
		}
	}
	for p := range processes {
		l := r.lease(fmt.Sprintf("process-%d", p))
		group.Go(func() {
			share := limit
			for v := range draws {
				want := (p*3 + v) % 9
				hold := min(held[p], share, want)
				set(p, hold) // given up before the store is called
				d := store.PermitDraw{Pool: "pool", Cap: limit, Hold: hold, Want: want}
				a, err := r.s.Withdraw(r.t.Context(), l, store.Withdrawal{Permits: []store.PermitDraw{d}})
				if err != nil {
					r.t.Errorf("withdraw: %v", err)
					return
				}
				set(p, a.Permits[0].Permits)
				share = a.Permits[0].Share
			}
		})
	}
	group.Wait()
}

func poolRest(r *rig) {
	rest := func(d time.Duration) time.Duration {
		r.t.Helper()
		return r.withdraw(store.Lease{}, store.Withdrawal{Permits: []store.PermitDraw{{Pool: "pool", Rest: d}}}).Permits[0].Rest
	}
	if got := rest(0); got != 0 {
		r.t.Errorf("a new pool rests for %v", got)
	}
	for _, step := range []struct{ reported, want time.Duration }{{5 * time.Second, 5 * time.Second}, {time.Second, 5 * time.Second}, {0, 5 * time.Second}} {
		if got := rest(step.reported); got != step.want {
			r.t.Errorf("reported %v: rests for %v, want %v", step.reported, got, step.want)
		}
	}
	r.clock.Advance(3 * time.Second)
	if got := rest(0); got != 2*time.Second {
		r.t.Errorf("rests for %v after 3s of 5", got)
	}
	r.clock.Advance(3 * time.Second)
	if got := rest(0); got != 0 {
		r.t.Errorf("rests for %v after its end", got)
	}
}

// poolLimitRest reports rests of single limits, which are neither rests of their pool nor of another.
func poolLimitRest(r *rig) {
	limits := func(reported store.LimitRests, rest time.Duration, want store.LimitRests) {
		r.t.Helper()
		draws := []store.PermitDraw{{Pool: "limits", LimitRests: reported}, {Pool: "limits"}, {Pool: "others"}}
		got := r.withdraw(store.Lease{}, store.Withdrawal{Permits: draws}).Permits
		for i, g := range got[:2] {
			if !maps.Equal(g.LimitRests, want) || g.Rest != rest {
				r.t.Errorf("reported %v, draw %d: rests for %v, limits for %v; want %v and %v", reported, i, g.Rest, g.LimitRests, rest, want)
			}
		}
		if g := got[2]; len(g.LimitRests) > 0 || g.Rest != 0 {
			r.t.Errorf("reported %v: another pool rests: %+v", reported, g)
		}
	}
	limits(nil, 0, nil)
	limits(store.LimitRests{"tokens": 5 * time.Second, "requests": 0}, 0, store.LimitRests{"tokens": 5 * time.Second})
	limits(store.LimitRests{"tokens": time.Second, "requests": time.Minute}, 0, store.LimitRests{"tokens": 5 * time.Second, "requests": time.Minute})
	r.withdraw(store.Lease{}, store.Withdrawal{Permits: []store.PermitDraw{{Pool: "limits", Rest: 2 * time.Second}}})
	limits(nil, 2*time.Second, store.LimitRests{"tokens": 5 * time.Second, "requests": time.Minute})
	r.clock.Advance(4 * time.Second)
	limits(nil, 0, store.LimitRests{"tokens": time.Second, "requests": 56 * time.Second})
	r.clock.Advance(2 * time.Second)
	limits(nil, 0, store.LimitRests{"requests": 54 * time.Second})
	limits(store.LimitRests{"input_tokens": time.Hour}, 0, store.LimitRests{"requests": 54 * time.Second, "input_tokens": time.Hour})
	r.clock.Advance(time.Hour)
	limits(nil, 0, nil)
}

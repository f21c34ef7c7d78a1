package capacity

import (
	"testing"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// refusedFor is a refusal that names a limit.
func refusedFor(r provider.Resource, window, wait time.Duration) Result {
	return Result{Kind: provider.KindRateLimited, RetryAfter: wait, Quota: provider.Quota{Resource: r, Window: window}}
}

func allowance(left, limit int64) provider.Allowance {
	return provider.Allowance{Limit: limit, Remaining: left, HasRemaining: true, Reset: time.Minute}
}

// A refusal rests the limit that it names, for as long as that limit counts at the most, and no other.
func TestOnlyTheNamedLimitRests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		res   Result
		wait  time.Duration // how long the target has no capacity
		rests resource      // the limit that does; resources for none of them
	}{
		{"requests of a minute", refusedFor(provider.ResourceRequests, time.Minute, 7*time.Second), 7 * time.Second, requests},
		{"tokens, beyond their minute", refusedFor(provider.ResourceTokens, time.Minute, time.Hour), time.Minute, tokens},
		{"input", refusedFor(provider.ResourceInput, time.Minute, 30*time.Second), 30 * time.Second, input},
		{"output", refusedFor(provider.ResourceOutput, time.Minute, 30*time.Second), 30 * time.Second, output},
		{"requests of a day", refusedFor(provider.ResourceRequests, 24*time.Hour, 40*time.Minute), 40 * time.Minute, requests},
		{"tokens of a day, for longer than is believed at once", refusedFor(provider.ResourceTokens, 24*time.Hour, 20*time.Hour), maxDayRest, tokens},
		{"tokens, without a time", refusedFor(provider.ResourceTokens, 0, time.Hour), MaxRest, tokens},
		{"tokens, without a wait", refusedFor(provider.ResourceTokens, time.Minute, 0), DefaultRest, tokens},
		{"images", refusedFor(provider.ResourceImages, time.Minute, 30*time.Second), 0, resources},
		{"nothing named", refusedFor("", 0, 30*time.Second), 30 * time.Second, resources},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			b := New(Config{Clock: c.Now})
			target := penstock.Target{Name: "a"}
			reservation, _ := b.Take(Ask{Target: &target, InputTokens: 1000, MaxOutputTokens: 10})
			reservation.Done(tt.res)
			r := b.entries[Name{Kind: KindTarget, Of: "a"}]
			for i := range r.rates {
				if rests := r.rates[i].restUntil.After(c.now); rests != (resource(i) == tt.rests) {
					t.Errorf("%s rests: %t", resourceNames[i], rests)
				}
			}
			if look := b.Look(&target); look.Wait != tt.wait {
				t.Errorf("it has capacity again in %v, want %v", look.Wait, tt.wait)
			}
			if got := statusOf(t, b); got.Rest != tt.wait || (got.Blocked != "") != (tt.wait > 0) || (tt.wait > 0 && got.Limit < firstWindow && tt.rests != resources) {
				t.Errorf("status %+v", got)
			}
			c.Advance(tt.wait)
			if look := b.Look(&target); look.Reason != "" {
				t.Errorf("after that it %s", look.Reason)
			}
		})
	}
}

// The limit that is named is emptied, and what is left of others can be used as soon as it is back.
func TestOtherLimitsGoOn(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a", RequestsPerMinute: 6000, InputTokensPerMinute: 600_000}
	reservation, _ := b.Take(Ask{Target: &target, InputTokens: 10, MaxOutputTokens: 1})
	reservation.Done(refusedFor(provider.ResourceInput, time.Minute, 2*time.Second))
	c.Advance(2 * time.Second)
	for i := range 100 {
		reservation, ok := b.Take(Ask{Target: &target, InputTokens: 10, MaxOutputTokens: 1})
		if !ok {
			t.Fatalf("call %d finds the target %s", i, b.Look(&target).Reason)
		}
		reservation.Done(good(1))
	}
}

// A call that asks for more than is left says nothing about smaller ones: the target does not rest while there is something
// left for those, and the window stays open.
func TestCallsTooLargeForWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, res := range []Result{
		{Kind: provider.KindRateLimited, RetryAfter: 50 * time.Second, Quota: provider.Quota{Resource: provider.ResourceTokens, Window: time.Minute, Plenty: true},
			Limits: provider.RateLimits{Tokens: allowance(9000, 30_000)}},
		{Kind: provider.KindRateLimited, RetryAfter: 50 * time.Second, Quota: provider.Quota{Resource: provider.ResourceTokens, Window: time.Minute},
			Limits: provider.RateLimits{Tokens: allowance(2000, 30_000)}}, // not plenty, but some calls
		{Kind: provider.KindRateLimited, RetryAfter: 50 * time.Second, Quota: provider.Quota{Plenty: true}},
		{Kind: provider.KindTooLarge, Quota: provider.Quota{Resource: provider.ResourceTokens, Window: time.Minute, Oversized: true}},
		{Kind: provider.KindForbidden},
	} {
		c := newClock()
		b := New(Config{Clock: c.Now})
		target := penstock.Target{Name: "a"}
		for range 50 {
			reservation, ok := b.Take(Ask{Target: &target, InputTokens: 1_000_000, MaxOutputTokens: 10, Tenant: "hostile"})
			if !ok {
				t.Fatalf("%s: the target %s", res.Kind, b.Look(&target).Reason)
			}
			reservation.Done(res)
			c.Advance(100 * time.Millisecond)
			small, ok := b.Take(Ask{Target: &target, InputTokens: 10, MaxOutputTokens: 10, Tenant: "victim"})
			if !ok {
				t.Fatalf("%s: the target %s for a small call", res.Kind, b.Look(&target).Reason)
			}
			small.Done(good(10))
		}
		if got := statusOf(t, b); got.Rest != 0 || got.Limit < firstWindow {
			t.Errorf("%s: %+v", res.Kind, got)
		}
	}
	// Nothing is left for any call: it rests.
	b := New(Config{Clock: newClock().Now})
	target := penstock.Target{Name: "a"}
	reservation, _ := b.Take(Ask{Target: &target})
	reservation.Done(Result{Kind: provider.KindRateLimited, RetryAfter: 9 * time.Second, Quota: provider.Quota{Resource: provider.ResourceTokens, Window: time.Minute},
		Limits: provider.RateLimits{Tokens: allowance(0, 30_000)}})
	if look := b.Look(&target); look.Reason != Limited || look.Wait < 9*time.Second {
		t.Errorf("%+v", look)
	}
}

// Headers about a limit per minute do not keep a day's limit from its rest.
func TestADaysLimitRestsWhateverItsMinuteHas(t *testing.T) {
	t.Parallel()
	for limit, rests := range map[int64]bool{200_000: true, 30_000: false} {
		b := New(Config{Clock: newClock().Now})
		target := penstock.Target{Name: "a"}
		reservation, _ := b.Take(Ask{Target: &target})
		reservation.Done(Result{Kind: provider.KindRateLimited, RetryAfter: 20 * time.Minute,
			Quota:  provider.Quota{Resource: provider.ResourceTokens, Window: 24 * time.Hour, Limit: limit},
			Limits: provider.RateLimits{Tokens: allowance(29_000, 30_000)}})
		if look := b.Look(&target); (look.Reason == Limited) != rests || (rests && look.Wait != 20*time.Minute) {
			t.Errorf("a day's limit of %d, of which a header about 30000 says that 29000 are left: %+v", limit, look)
		}
	}
}

// While calls of a tenant that are refused as too large are under way, they hold no tokens that others could use; once one
// passes, it pays.
func TestOversizedCallsHoldNoTokens(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a", InputTokensPerMinute: 60_000}
	take := func(tenant penstock.TenantID, input int64) *Reservation {
		t.Helper()
		reservation, ok := b.Take(Ask{Target: &target, InputTokens: input, MaxOutputTokens: 10, Tenant: tenant})
		if !ok {
			t.Fatalf("%s: the target %s", tenant, b.Look(&target).Reason)
		}
		return reservation
	}
	take("hostile", 90_000).Done(Result{Kind: provider.KindTooLarge})
	for range 10 {
		large := take("hostile", 100_000)
		take("victim", 10).Done(good(10))
		large.Done(Result{Kind: provider.KindTooLarge})
		c.Advance(time.Second)
	}
	large := take("hostile", 95_000)
	large.Done(Result{Usage: penstock.Usage{InputTokens: 95_000}, UsageKnown: true, Took: time.Second})
	if look := b.Look(&target); look.Reason != Limited {
		t.Errorf("after a large call that passed it looks like %+v", look)
	}
}

// Too many calls at a time make the window smaller than what runs; rates are not concerned.
func TestConcurrencyIsTheWindows(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a"}
	running := make([]*Reservation, 10)
	for i := range running {
		running[i], _ = b.Take(Ask{Target: &target})
	}
	running[0].Done(refusedFor(provider.ResourceConcurrency, 0, 5*time.Second))
	if got := statusOf(t, b); got.Limit >= 10 || got.Rest != 0 {
		t.Errorf("%+v", got)
	}
	for _, reservation := range running[1:] {
		reservation.Done(good(1))
	}
	if look := b.Look(&target); look.Reason != "" {
		t.Errorf("it %s", look.Reason)
	}
}

package capacity

import (
	"testing"
	"time"

	"penstock"
)

// takeFor takes capacity for a tenant's synchronous calls until a call is refused.
func takeFor(b *Tracker, target penstock.Target, tenant penstock.TenantID) (all []*Reservation) {
	for {
		reservation, ok := b.Take(Ask{Target: &target, InputTokens: 1, MaxOutputTokens: 1, Tenant: tenant})
		if !ok {
			return all
		}
		all = append(all, reservation)
	}
}

// A tenant has all of a target while it is alone, and leaves a part of it to others as soon as there are some.
func TestTenantsLeaveCapacityToOthers(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a", Concurrency: 20}
	noisy := takeFor(b, target, "noisy")
	if len(noisy) != 20 {
		t.Fatalf("alone it holds %d of 20", len(noisy))
	}
	if got := takeFor(b, target, "quiet"); len(got) != 0 {
		t.Fatalf("%d places appeared", len(got))
	}
	for i, call := range noisy { // each of its calls is followed by another, if that is let in
		call.Done(good(1))
		if again := takeFor(b, target, "noisy"); len(again) > 0 && 20-i > 15 {
			t.Fatalf("with %d calls it takes more, beside others", 19-i)
		} else if len(again) > 0 {
			break
		}
	}
	if look := b.LookFor(&target, "noisy"); look.Reason != TenantFull {
		t.Errorf("to the noisy one the target %q", look.Reason)
	}
	quiet := takeFor(b, target, "quiet")
	if len(quiet) != 5 {
		t.Errorf("another tenant finds %d places, want 5", len(quiet))
	}
	for _, call := range quiet {
		call.Done(good(1))
	}
	if got := takeAll(b, target); len(got) != 5 {
		t.Errorf("items of jobs, which their queue made fair, find %d places, want 5", len(got))
	} else {
		for _, call := range got {
			call.Release()
		}
	}
	if got := takeFor(b, target, "noisy"); len(got) != 0 {
		t.Errorf("a moment later it takes %d places more", len(got))
	}
	c.Advance(sharedFor)
	if got := takeFor(b, target, "noisy"); len(got) != 5 {
		t.Errorf("a minute later, alone, it finds %d places, want 5", len(got))
	}
}

func TestMaxShareIsConfigured(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]int{0.25: 5, 0.5: 10, 1: 19, 0.01: 1} {
		c := newClock()
		b := New(Config{Clock: c.Now})
		target := penstock.Target{Name: "a", Concurrency: 20, MaxShare: share}
		if _, ok := b.Take(Ask{Target: &target, Tenant: "other"}); !ok {
			t.Fatal("an idle target has no capacity")
		}
		if got := len(takeFor(b, target, "noisy")); got != want {
			t.Errorf("with a share of %v a tenant holds %d of 20 places, want %d", share, got, want)
		}
	}
}

// Idle limit scopes are not refreshed, and are forgotten in the end.
func TestIdleLimitScopesAreForgotten(t *testing.T) {
	t.Parallel()
	c := newClock()
	pools := NewMemory(c.Now)
	for name, b := range map[string]*Tracker{"alone": New(Config{Clock: c.Now}), "shared": New(Config{Clock: c.Now, Pools: pools.Process("p")})} {
		limits := penstock.Limits{RequestsPerMinute: 6000, Concurrency: 3, Burst: 0.1}
		scopes := []LimitScope{{Name{KindTenant, "a", ""}, "b", limits}, {Name{KindKey, "a", "b"}, "b", limits}}
		hold, _ := b.Admit(scopes, Use{})
		turn := b.NewTurn(scopes, Use{})
		for range 3 { // a process that shares has to visit first
			if hold != nil {
				break
			}
			if hold, _ = b.Queue(turn); hold != nil {
				break
			}
			c.Advance(refreshSpacing)
			refresh(t, b)
		}
		if hold == nil {
			t.Fatalf("%s: no capacity", name)
		}
		settle := func(d time.Duration) {
			for end := c.now.Add(d); c.now.Before(end); {
				c.Advance(min(max(b.Next(), time.Millisecond), time.Minute, end.Sub(c.now)))
				refresh(t, b)
			}
			b.Next()
		}
		settle(10 * time.Second)
		if len(b.busy) != 2 {
			t.Errorf("%s: %d limit scopes are busy while their call runs", name, len(b.busy))
		}
		hold.Done(penstock.Usage{})
		settle(5 * time.Second)
		if len(b.busy) != 0 || len(b.entries) != 2 {
			t.Errorf("%s: a moment later %d of %d limit scopes are busy, want 0 of 2", name, len(b.busy), len(b.entries))
		}
		settle(forgetAfter + 2*sweepEvery)
		if len(b.entries) != 0 {
			t.Errorf("%s: %d limit scopes are not forgotten", name, len(b.entries))
		}
	}
}

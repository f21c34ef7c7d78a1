package limit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fast is a model that answers for its own name.
var fast = penstock.ModelNames{Asked: "fast", Answers: "fast"}

func alone() *Limiter { return New(capacity.New(capacity.Config{Clock: time.Now}), nil) }

func admit(t *testing.T, b *Limiter, c penstock.Principal, u capacity.Use) (*capacity.LimitHold, *penstock.Error) {
	t.Helper()
	limitHold, err := b.Admit(t.Context(), &c, fast, u)
	if err != nil {
		return nil, penstock.AsError(err)
	}
	return limitHold, nil
}

func TestNoLimits(t *testing.T) {
	t.Parallel()
	var b *Limiter // nothing is asked of it
	limitHold, err := b.Admit(t.Context(), &penstock.Principal{}, fast, capacity.Use{})
	if limitHold != nil || err != nil || b.AppendLimitStates(nil, &penstock.Principal{}, fast) != nil {
		t.Errorf("%v, %v", limitHold, err)
	}
	limitHold.Done(penstock.Usage{})
	limitHold.Leave()
	limitHold.Release()
}

// Each limit refuses on its own, and says whose it is, how it stands and when to come back.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tenant := penstock.Tenant{ID: "search"}
	limited := func(l penstock.Limits) penstock.Principal {
		c := penstock.Principal{Tenant: tenant, Key: "app"}
		l.Burst, l.Wait = 0.05, penstock.NoLimitWait
		c.Tenant.Limits = l
		return c
	}
	key := penstock.Principal{Tenant: tenant, Key: "app", Limits: penstock.Limits{RequestsPerMinute: 60, Burst: 0.05, Wait: penstock.NoLimitWait}}
	model := penstock.Principal{Tenant: tenant, Key: "app"}
	model.Tenant.ModelLimits = map[string]penstock.Limits{"fast": {RequestsPerMinute: 60, Burst: 0.05, Wait: penstock.NoLimitWait}}
	for _, tt := range []struct {
		name   string
		caller penstock.Principal
		calls  int // that are let in
		says   string
		wait   time.Duration
	}{
		{"requests", limited(penstock.Limits{RequestsPerMinute: 60}), 3,
			"Tenant search is at its limit: 60 requests a minute, 3 at once; a place is kept for this key at 00:00:02Z (in 2 s).", 1053 * time.Millisecond},
		{"input", limited(penstock.Limits{InputTokensPerMinute: 6000}), 3,
			"Tenant search is at its limit: 6000 input tokens a minute, 300 at once; a place is kept for this key at 00:00:01Z (in 0.1 s).", 11 * time.Millisecond},
		{"output", limited(penstock.Limits{OutputTokensPerMinute: 1000}), 1,
			"Tenant search is at its limit: 1000 output tokens a minute, 50 at once; a place is kept for this key at 00:00:04Z (in 4 s).", 3221 * time.Millisecond},
		{"day", limited(penstock.Limits{DailyTokens: 400}), 2,
			"Tenant search is at its limit: 400 tokens a day; retry in 86400 s.", 24 * time.Hour},
		{"concurrency", limited(penstock.Limits{Concurrency: 2}), 2,
			"Tenant search runs 2 of 2 calls at a time; retry when one has ended, in 1 s.", time.Second},
		{"key", key, 3, "Key app of tenant search is at its limit: 60 requests a minute, 3 at once; a place is kept for this key at 00:00:02Z (in 2 s).", 1053 * time.Millisecond},
		{"model", model, 3, "Tenant search with model fast is at its limit: 60 requests a minute, 3 at once; a place is kept for this key at 00:00:02Z (in 2 s).", 1053 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // its time begins at a midnight
				b := alone()
				use := capacity.Use{InputTokens: 100, MaxOutputTokens: 100}
				for n := range tt.calls {
					if _, err := admit(t, b, tt.caller, use); err != nil {
						t.Fatalf("call %d: %v", n, err)
					}
				}
				_, err := admit(t, b, tt.caller, use)
				if err == nil || err.Code != penstock.CodeRateLimited || err.Message != tt.says || err.RetryAfter.Round(time.Millisecond) != tt.wait {
					t.Fatalf("%v, after %v; want %q after %v", err, err.RetryAfter, tt.says, tt.wait)
				}
				if tt.name == "concurrency" {
					return
				}
				time.Sleep(err.RetryAfter)
				if _, err := admit(t, b, tt.caller, use); err != nil {
					t.Errorf("after the time it was told: %v", err)
				}
			})
		})
	}
}

// What a call used replaces what it was taken for: less is given back, more is owed.
func TestEstimatesAreSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := penstock.Principal{Tenant: penstock.Tenant{ID: "search", Limits: penstock.Limits{InputTokensPerMinute: 6000, Burst: 0.05, Concurrency: 9, Wait: penstock.NoLimitWait}}}
		b := alone()
		left := func() int64 { return b.AppendLimitStates(nil, &caller, fast)[0].Left }
		limitHold, _ := admit(t, b, caller, capacity.Use{InputTokens: 200})
		if got := left(); got != 100 {
			t.Errorf("%d of 300 are left after an estimate of 200", got)
		}
		limitHold.Done(penstock.Usage{InputTokens: 50})
		if got := left(); got != 250 {
			t.Errorf("%d of 300 are left after a use of 50", got)
		}
		limitHold, _ = admit(t, b, caller, capacity.Use{InputTokens: 10})
		limitHold.Done(penstock.Usage{InputTokens: 1200})
		if _, err := admit(t, b, caller, capacity.Use{InputTokens: 1}); err == nil || err.RetryAfter < 9*time.Second || err.RetryAfter > 11*time.Second {
			t.Errorf("a debt of 950 tokens, of which 95 are repaid a second: %v", err)
		}
		time.Sleep(11 * time.Second)
		limitHold, err := admit(t, b, caller, capacity.Use{InputTokens: 1})
		if err != nil {
			t.Fatal(err)
		}
		was := left()
		limitHold.Release()
		if got := left(); got != was+1 {
			t.Errorf("a call that was not made cost %d tokens", got-was-1)
		}
	})
}

// A call is let in by all of its limits or counts for none.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := penstock.Principal{
			Tenant: penstock.Tenant{ID: "search", Limits: penstock.Limits{RequestsPerMinute: 6000, Burst: 0.05}},
			Key:    "app", Limits: penstock.Limits{Concurrency: 1, Burst: 0.05, Wait: penstock.NoLimitWait},
		}
		b := alone()
		first, _ := admit(t, b, caller, capacity.Use{})
		if _, err := admit(t, b, caller, capacity.Use{}); err == nil || !strings.HasPrefix(err.Message, "Key app") {
			t.Fatalf("a second call at a time: %v", err)
		}
		if got := b.AppendLimitStates(nil, &caller, fast)[0].Left; got != 299 {
			t.Errorf("a call that the key refused counts for the tenant: %d of 300 are left", got)
		}
		if limitHold, err := admit(t, b, caller, capacity.Use{Queued: true, Free: true}); err != nil || limitHold == nil {
			t.Errorf("a job needs no permit: %v", err)
		}
		first.Done(penstock.Usage{})
		if _, err := admit(t, b, caller, capacity.Use{}); err != nil {
			t.Errorf("after the first has ended: %v", err)
		}
	})
}

// Jobs count for their tenant's day when they have run, in whatever process; the day is kept by the bank, so a
// restart does not forget it.
func TestDayOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := penstock.Principal{Tenant: penstock.Tenant{ID: "search", Limits: penstock.Limits{DailyTokens: 1000, Burst: 0.05}}}
		pools := capacity.NewMemory(time.Now)
		for life := range 4 {
			ctx, stop := context.WithCancel(t.Context())
			tracker := capacity.New(capacity.Config{Clock: time.Now, Pools: pools.Process("a"), Alone: true})
			done := make(chan error)
			go func() { done <- tracker.Run(ctx) }()
			b := New(tracker, nil)
			limitHold, err := b.Admit(ctx, &caller, fast, capacity.Use{InputTokens: 1, MaxOutputTokens: 1})
			if want := life < 3; (err == nil) != want {
				t.Errorf("life %d: %v", life, err)
			}
			limitHold.Release()
			b.Spend(&caller, fast, penstock.Usage{InputTokens: 300, OutputTokens: 100})
			time.Sleep(2 * time.Second)
			stop()
			<-done
		}
		time.Sleep(24 * time.Hour)
		tracker := capacity.New(capacity.Config{Clock: time.Now, Pools: pools.Process("a"), Alone: true})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- tracker.Run(ctx) }()
		if _, err := New(tracker, nil).Admit(ctx, &caller, fast, capacity.Use{InputTokens: 1}); err != nil {
			t.Errorf("the next day: %v", err)
		}
		stop()
		<-done
	})
}

// broken is a bank that is away.
type broken struct{}

func (broken) Withdraw(context.Context, store.Withdrawal) (store.Allotment, error) {
	return store.Allotment{}, errors.New("away")
}

// Limits do not fail open: without the database nobody knows what is left.
func TestBankAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		tracker := capacity.New(capacity.Config{Clock: time.Now, Pools: broken{}})
		done := make(chan error)
		go func() { done <- tracker.Run(ctx) }()
		caller := penstock.Principal{Tenant: penstock.Tenant{ID: "search", Limits: penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}}}
		began := time.Now()
		_, err := New(tracker, nil).Admit(ctx, &caller, fast, capacity.Use{})
		if penstock.ErrorCode(err) != penstock.CodeOverloaded || time.Since(began) > MaxWait {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		stop()
		<-done
	})
}

// Limits that a reload changes hold from the next call on, in both directions, and one that is gone is gone.
func TestLimitsChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := alone()
		with := func(perMinute int64) penstock.Principal {
			return penstock.Principal{Tenant: penstock.Tenant{ID: "search", Limits: penstock.Limits{RequestsPerMinute: perMinute, Concurrency: 1000, Burst: 0.1, Wait: penstock.NoLimitWait}}}
		}
		count := func(perMinute int64) (n int) {
			for ; n < 500; n++ {
				if _, err := admit(t, b, with(perMinute), capacity.Use{}); err != nil {
					return n
				}
			}
			return n
		}
		if n := count(100); n != 10 {
			t.Errorf("%d calls at once, want 10", n)
		}
		time.Sleep(time.Minute)
		if n := count(1000); n != 10 {
			t.Errorf("%d calls at once after a raise: what was there stays, want 10", n)
		}
		time.Sleep(time.Minute)
		if n := count(1000); n != 100 {
			t.Errorf("%d calls at once, want 100", n)
		}
		time.Sleep(time.Minute)
		if n := count(50); n != 5 {
			t.Errorf("%d calls at once after a cut, want 5", n)
		}
		if n := count(0); n != 500 {
			t.Errorf("%d calls without a limit per minute, want any number", n)
		}
	})
}

// refusals counts what is refused.
type refusals map[string]int

func (r refusals) LimitRefused(tenant, scope, resource string) { r[tenant+" "+scope+" "+resource]++ }
func (r refusals) LimitWaited(string, time.Duration)           {}

// What items of jobs use counts for the day of the key that submitted them, and what a call uses that runs as a job
// counts once. Refusals are counted by whose limit it was.
func TestKeysDaySeesJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := penstock.Principal{Tenant: penstock.Tenant{ID: "search"}, Key: "app", Limits: penstock.Limits{DailyTokens: 1000, Burst: 0.05}}
		counted := refusals{}
		tracker := capacity.New(capacity.Config{Clock: time.Now})
		b := New(tracker, counted)
		keyed := capacity.Use{InputTokens: 600, MaxOutputTokens: 1, Later: true}
		for range 5 { // they would be 3,000 tokens, if they counted when they are let in
			limitHold, err := b.Admit(t.Context(), &caller, fast, keyed)
			if err != nil {
				t.Fatal(err)
			}
			limitHold.Leave()
		}
		other := caller
		other.Key = "other"
		b.Spend(&other, fast, penstock.Usage{InputTokens: 5000})
		b.Spend(&caller, fast, penstock.Usage{InputTokens: 900, OutputTokens: 50})
		if limitHold, err := b.Admit(t.Context(), &caller, fast, keyed); err != nil {
			t.Errorf("with 50 tokens left: %v", err)
		} else {
			limitHold.Release()
		}
		b.Spend(&caller, fast, penstock.Usage{InputTokens: 50})
		_, err := b.Admit(t.Context(), &caller, fast, keyed)
		if penstock.ErrorCode(err) != penstock.CodeRateLimited || !strings.Contains(err.Error(), "Key app of tenant search is at its limit: 1000 tokens a day") {
			t.Errorf("with none left: %v", err)
		}
		if counted["search key daily_tokens"] != 1 || len(counted) != 1 {
			t.Errorf("counted %v", counted)
		}
		for _, p := range tracker.LimitScopeStatuses() {
			if p.Name == (capacity.Name{Kind: capacity.KindKey, Tenant: "search", Of: "app"}) && (len(p.Limits) != 1 || p.Limits[0] != (capacity.LimitStatus{Resource: "daily_tokens", Limit: 1000, Used: 1})) || p.Name.Kind != capacity.KindKey {
				t.Errorf("limit scope %+v", p)
			}
		}
	})
}

// A model that answers for another name is limited all the same: by its own limits and by those of the name.
func TestOtherNamesAreNoWayAround(t *testing.T) {
	t.Parallel()
	other := penstock.ModelNames{Asked: "anything", Answers: "fast"}
	once := penstock.Limits{RequestsPerMinute: 20, Burst: 0.05, Wait: penstock.NoLimitWait}
	for name, limits := range map[string]map[string]penstock.Limits{
		"the model's":    {"fast": once},
		"the name's":     {"anything": once},
		"both":           {"fast": once, "anything": once},
		"another's also": {"fast": once, "slow": {Concurrency: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, caller := alone(), penstock.Principal{Tenant: penstock.Tenant{ID: "search", ModelLimits: limits}}
			if _, err := b.Admit(t.Context(), &caller, other, capacity.Use{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err := b.Admit(t.Context(), &caller, other, capacity.Use{})
			if penstock.ErrorCode(err) != penstock.CodeRateLimited {
				t.Errorf("%s: a second call: %v", name, err)
			}
			_, own := limits["fast"]
			if _, err = b.Admit(t.Context(), &caller, fast, capacity.Use{}); (penstock.ErrorCode(err) == penstock.CodeRateLimited) != own {
				t.Errorf("%s: a call by the model's own name: %v", name, err)
			}
			if n := len(b.AppendLimitStates(nil, &caller, other)); n == 0 {
				t.Errorf("%s: nothing is told of it", name)
			}
		})
	}
}

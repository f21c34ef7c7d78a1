package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock moves only when a test moves it.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) Advance(d time.Duration) { c.now = c.now.Add(d) }

// takeAll takes capacity until a call is refused.
func takeAll(b *Tracker, t penstock.Target) (all []*Reservation) {
	for {
		reservation, ok := b.Take(Ask{Target: &t, InputTokens: 1, MaxOutputTokens: 1})
		if !ok {
			return all
		}
		all = append(all, reservation)
	}
}

func refresh(t *testing.T, b *Tracker) {
	t.Helper()
	if err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func statusOf(t *testing.T, b *Tracker) Status {
	t.Helper()
	all := b.Status()
	if len(all) != 1 {
		t.Fatalf("%d targets are known, want 1", len(all))
	}
	return all[0]
}

func good(outputTokens int64) Result {
	return Result{Usage: penstock.Usage{InputTokens: 1, OutputTokens: outputTokens}, UsageKnown: true, Took: time.Second}
}

func TestRateIsKept(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a", RequestsPerMinute: 600}
	done := func() (n int) {
		for _, reservation := range takeAll(b, target) {
			reservation.Done(good(1))
			n++
		}
		return n
	}
	if n := done(); n != 11 {
		t.Errorf("%d calls at once, want the burst of 11", n)
	}
	look := b.Look(&target)
	if look.Reason != Limited || look.Wait <= 0 || look.Wait > 110*time.Millisecond {
		t.Errorf("an empty local allowance looks like %+v", look)
	}
	c.Advance(look.Wait)
	if n := done(); n != 1 {
		t.Errorf("%d calls after the wait, want 1", n)
	}
}

// Requests that followed each other on one reservation all count.
func TestRequestsOfOneReservationAreCounted(t *testing.T) {
	t.Parallel()
	for _, res := range []Result{{Calls: 5, UsageKnown: true}, {Calls: 5, Kind: provider.KindTimeout}, {Calls: 5, Kind: provider.KindOverloaded}} {
		c := newClock()
		b := New(Config{Clock: c.Now})
		target := penstock.Target{Name: "a", RequestsPerMinute: 600, Concurrency: 100} // a burst of 11
		reservation, _ := b.Take(Ask{Target: &target})
		reservation.Done(res)
		if left := len(takeAll(b, target)); left != 6 {
			t.Errorf("%+v: %d calls are left of 11", res, left)
		}
	}
}

// The use of a call is settled: too small an estimate becomes debt, too large a one is refunded.
func TestTokensAreSettled(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a", OutputTokensPerMinute: 60_000} // burst 1001, 983⅓ a second
	take := func() *Reservation {
		t.Helper()
		reservation, ok := b.Take(Ask{Target: &target, MaxOutputTokens: 100})
		if !ok {
			t.Fatalf("no capacity: %+v", b.Look(&target))
		}
		return reservation
	}
	allowance := func(want int64) {
		t.Helper()
		if got := statusOf(t, b).Rates[0].LocalAllowance; got != want {
			t.Fatalf("the local allowance holds %d, want %d", got, want)
		}
	}
	over := take()
	allowance(901)
	over.Done(good(30))
	allowance(971)
	under := take()
	under.Done(good(2971))
	allowance(-2000)
	if look := b.Look(&target); look.Reason != Limited {
		t.Errorf("a local allowance in debt looks like %+v", look)
	}
	c.Advance(3 * time.Second)
	allowance(950)
	released := take()
	released.Release()
	released.Release()
	released.Done(good(50))
	allowance(950)
	refused := take()
	refused.Done(Result{Kind: provider.KindConnect})
	allowance(950)
	unknown := take()
	unknown.Done(Result{Kind: provider.KindServer})
	allowance(850)
	amended := take()
	amended.Amend(1, 10)
	allowance(840)
	amended.Done(good(10))
	amended.Amend(1, 100)
	allowance(840)
}

func TestLimitsAreLearned(t *testing.T) {
	t.Parallel()
	report := func(limit, remaining int64, reset time.Duration) provider.Allowance {
		return provider.Allowance{Limit: limit, Remaining: remaining, HasRemaining: remaining >= 0, Reset: reset}
	}
	type limit struct {
		resource  string
		perMinute int64
		learned   bool
		allowance int64
	}
	for _, tt := range []struct {
		name   string
		target penstock.Target
		limits provider.RateLimits
		want   []limit
	}{
		{"no headers", penstock.Target{}, provider.RateLimits{}, nil},
		{"a limit", penstock.Target{}, provider.RateLimits{Requests: report(600, -1, 0)}, []limit{{"requests", 600, true, 10}}},
		{"the configuration's counts", penstock.Target{RequestsPerMinute: 60}, provider.RateLimits{Requests: report(600, -1, 0)},
			[]limit{{"requests", 60, false, 1}}},
		{"what is left lowers", penstock.Target{RequestsPerMinute: 600}, provider.RateLimits{Requests: report(600, 3, time.Second)},
			[]limit{{"requests", 600, false, 3}}},
		{"what is left never raises", penstock.Target{RequestsPerMinute: 60}, provider.RateLimits{Requests: report(600, 500, time.Second)},
			[]limit{{"requests", 60, false, 1}}},
		{"a zero that means nothing", penstock.Target{RequestsPerMinute: 600}, provider.RateLimits{Requests: report(0, 0, 0)},
			[]limit{{"requests", 600, false, 10}}},
		{"a zero without a reset", penstock.Target{RequestsPerMinute: 600}, provider.RateLimits{Requests: report(600, 0, 0)},
			[]limit{{"requests", 600, false, 10}}},
		{"tokens together", penstock.Target{}, provider.RateLimits{Tokens: report(6000, -1, 0)}, []limit{{"tokens", 6000, true, 98}}},
		{"tokens apart", penstock.Target{}, provider.RateLimits{Input: report(6000, -1, 0), Output: report(600, -1, 0), Tokens: report(6600, -1, 0)},
			[]limit{{"input_tokens", 6000, true, 100}, {"output_tokens", 600, true, 9}}},
		{"tokens are configured", penstock.Target{OutputTokensPerMinute: 600}, provider.RateLimits{Tokens: report(6000, 1, time.Second)},
			[]limit{{"output_tokens", 600, false, 9}}},
	} {
		c := newClock()
		b := New(Config{Clock: c.Now})
		tt.target.Name = "a"
		reservation, _ := b.Take(Ask{Target: &tt.target})
		res := good(2)
		res.Limits = tt.limits
		reservation.Done(res)
		var got []limit
		for _, r := range statusOf(t, b).Rates {
			got = append(got, limit{r.Resource, r.PerMinute, r.Learned, r.LocalAllowance})
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: rates %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A target that answers 429 rests, in the other processes too.
func TestRefusalsMakeAllRest(t *testing.T) {
	t.Parallel()
	c := newClock()
	pools := NewMemory(c.Now)
	a, b := New(Config{Clock: c.Now, Pools: pools.Process("a")}), New(Config{Clock: c.Now, Pools: pools.Process("b")})
	target := penstock.Target{Name: "a"}
	for _, tracker := range []*Tracker{a, b} {
		reservation, ok := tracker.Take(Ask{Target: &target})
		if !ok {
			t.Fatal("a fresh target has no capacity")
		}
		if tracker == a {
			reservation.Done(Result{Kind: provider.KindRateLimited, RetryAfter: 5 * time.Second})
		}
		refresh(t, tracker)
	}
	for name, tracker := range map[string]*Tracker{"a": a, "b": b} {
		if look := tracker.Look(&target); look.Reason != Resting || look.Wait != 5*time.Second {
			t.Errorf("process %s: %+v, want a rest of 5s", name, look)
		}
	}
	c.Advance(5 * time.Second)
	if look := b.Look(&target); look.Reason != "" {
		t.Errorf("after the rest: %+v", look)
	}
}

func TestWindowAdapts(t *testing.T) {
	t.Parallel()
	now := newClock().now
	w := newWindow()
	for range firstWindow {
		w.succeeded(time.Second, 100, w.size())
	}
	if w.size() != 2*firstWindow {
		t.Errorf("a round trip of successes makes %d, want twice %d", w.size(), firstWindow)
	}
	before := w.size()
	for range 100 {
		w.succeeded(time.Second, 100, 1)
	}
	if w.size() != before {
		t.Errorf("successes that need no more make %d of %d", w.size(), before)
	}
	later := now.Add(time.Second)
	for range 30 { // calls of one round trip fail together
		w.overran(later, now)
	}
	if want := int(float64(before) * cut); w.size() != want {
		t.Errorf("a round trip of refusals makes %d, want %d", w.size(), want)
	}
	for range w.size() + 1 {
		w.succeeded(time.Second, 100, w.size())
	}
	if want := int(float64(before)*cut) + 1; w.size() != want {
		t.Errorf("a round trip after a refusal makes %d, want %d", w.size(), want)
	}
	before = w.size()
	for range 30 { // until the average has followed
		w.succeeded(20*time.Second, 100, 1)
	}
	for range 1000 {
		w.succeeded(20*time.Second, 100, w.size())
	}
	if w.size() > before+1 {
		t.Errorf("it grew from %d to %d while calls took twenty times as long", before, w.size())
	}
	for i := range 100 {
		at := now.Add(time.Duration(i+2) * time.Second)
		w.overran(at, at)
	}
	if w.size() != 1 {
		t.Errorf("refusals leave %d, want 1", w.size())
	}
}

// A refresh that fails grants nothing, and is repeated.
func TestBankThatFails(t *testing.T) {
	t.Parallel()
	c := newClock()
	pools := &brokenBank{}
	b := New(Config{Clock: c.Now, Pools: pools})
	target := penstock.Target{Name: "a", RequestsPerMinute: 600, Concurrency: 4}
	b.Refused(&target)
	if err := b.Refresh(t.Context()); err == nil {
		t.Error("a refresh of a failed pool went well")
	}
	if look := b.Look(&target); look.Reason == "" {
		t.Error("a failed pool gave capacity")
	}
	if next := b.Next(); next != refreshRetry {
		t.Errorf("the next refresh is due in %v, want %v", next, refreshRetry)
	}
	c.Advance(refreshRetry)
	_ = b.Refresh(t.Context())
	if pools.refreshes != 2 {
		t.Errorf("%d visits were made, want 2", pools.refreshes)
	}
}

type brokenBank struct{ refreshes int }

func (b *brokenBank) Withdraw(context.Context, store.Withdrawal) (store.Allotment, error) {
	b.refreshes++
	return store.Allotment{}, errors.New("the shared pools is closed")
}

// Other processes soon get what a process does not use.
func TestIdleProcessReturnsEverything(t *testing.T) {
	t.Parallel()
	c := newClock()
	pools := NewMemory(c.Now)
	busy, other := New(Config{Clock: c.Now, Pools: pools.Process("a")}), New(Config{Clock: c.Now, Pools: pools.Process("b")})
	target := penstock.Target{Name: "a", RequestsPerMinute: 6000, Concurrency: 4}
	busy.Refused(&target)
	refresh(t, busy)
	calls := takeAll(busy, target)
	if len(calls) == 0 {
		t.Fatal("a refresh gave no capacity")
	}
	for _, call := range calls {
		call.Done(good(1))
	}
	for deadline := c.now.Add(2 * time.Second); c.now.Before(deadline); {
		c.Advance(min(max(busy.Next(), time.Millisecond), time.Second))
		refresh(t, busy)
	}
	if s := statusOf(t, busy); s.Rates[0].LocalAllowance != 0 || busy.Next() != Forever {
		t.Errorf("an idle process keeps %+v and visits again in %v", s, busy.Next())
	}
	other.Refused(&target)
	refresh(t, other)
	if s := statusOf(t, other); s.Limit != 4 {
		t.Errorf("another process has %d of 4 permits", s.Limit)
	}
}

// fleet is some processes that share one target.
type fleet struct {
	*clock
	target   penstock.Target
	trackers []*Tracker
	open     [][]*Reservation // by process
	spent    int64            // output tokens
}

func drawFleet(t *rapid.T) *fleet {
	f := &fleet{clock: newClock(), target: penstock.Target{
		Name: "a", OutputTokensPerMinute: rapid.Int64Range(1, 60_000).Draw(t, "per minute"), Concurrency: rapid.IntRange(1, 20).Draw(t, "cap"),
	}}
	pools := NewMemory(f.Now)
	n := rapid.IntRange(1, 3).Draw(t, "processes")
	for p := range n {
		cfg := Config{Clock: f.Now}
		if n > 1 {
			cfg.Pools = pools.Process(fmt.Sprint(p))
		}
		f.trackers = append(f.trackers, New(cfg))
	}
	f.open = make([][]*Reservation, n)
	return f
}

// step lets one process do something.
func (f *fleet) step(t *rapid.T) {
	p := rapid.IntRange(0, len(f.trackers)-1).Draw(t, "process")
	b, n := f.trackers[p], len(f.open[p])
	tokens := rapid.Int64Range(0, 500).Draw(t, "tokens")
	switch step := rapid.SampledFrom([]string{"pause", "take", "done", "release", "visit"}).Draw(t, "step"); {
	case step == "pause":
		f.Advance(time.Duration(rapid.Int64Range(0, int64(400*time.Millisecond)).Draw(t, "pause")))
	case step == "take":
		ready := len(b.Status()) == 0 || b.Status()[0].Rates[0].LocalAllowance > 0
		reservation, ok := b.Take(Ask{Target: &f.target, InputTokens: 1, MaxOutputTokens: tokens})
		if !ok {
			b.Refused(&f.target)
			return
		}
		if !ready {
			t.Fatalf("process %d took from a local allowance that owes", p)
		}
		f.open[p] = append(f.open[p], reservation)
		f.spent += reservation.charged[output]
	case step == "visit":
		if err := b.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
	case n == 0:
	case step == "done":
		f.spent += tokens - f.open[p][n-1].charged[output]
		f.open[p][n-1].Done(good(tokens))
		f.open[p] = f.open[p][:n-1]
	case step == "release":
		f.spent -= f.open[p][n-1].charged[output]
		f.open[p][n-1].Release()
		f.open[p] = f.open[p][:n-1]
	}
}

// Whatever processes do, in whatever order: what they spent and what is left in their local allowances is together no
// more than the allowance of the time that passed, and no more calls run than the cap allows.
func TestFleetNeverExceedsItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		began := f.now
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			f.step(t)
			used, running := f.spent, 0
			for p, b := range f.trackers {
				running += len(f.open[p])
				if s := b.Status(); len(s) > 0 {
					used += s[0].Rates[0].LocalAllowance
				}
			}
			perMinute, passed := f.target.OutputTokensPerMinute, f.now.Sub(began)
			if allowed := 1 + int64(float64(perMinute)/60+passed.Minutes()*float64(perMinute)*59/60+1e-6); used > allowed {
				t.Fatalf("%d tokens were spent or withdrawn after %v, %d are allowed", used, passed, allowed)
			}
			if running > f.target.Concurrency {
				t.Fatalf("%d calls run, the cap is %d", running, f.target.Concurrency)
			}
		}
	})
}

func TestWindowStaysInBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, c := newWindow(), newClock()
		for range rapid.IntRange(0, 300).Draw(t, "calls") {
			before := w.limit
			began := c.now.Add(-time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "took")))
			if rapid.Bool().Draw(t, "refused") {
				w.overran(c.now, began)
			} else {
				w.succeeded(c.now.Sub(began), rapid.Int64Range(0, 1000).Draw(t, "tokens"), rapid.IntRange(1, 200).Draw(t, "running"))
			}
			if w.limit < 1 || w.limit > maxWindow || w.limit > before+1 || w.limit < before*cut-1e-9 && w.limit != 1 {
				t.Fatalf("the window went from %v to %v", before, w.limit)
			}
			c.Advance(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause")))
		}
	})
}

// A forecast takes and settles capacity a hundred thousand times a second.
func BenchmarkTakeAndDone(b *testing.B) {
	c := newClock()
	tracker := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a", RequestsPerMinute: store.MaxPerMinute, InputTokensPerMinute: store.MaxPerMinute, OutputTokensPerMinute: store.MaxPerMinute}
	for b.Loop() {
		reservation, ok := tracker.Take(Ask{Target: &target, InputTokens: 100, MaxOutputTokens: 100})
		if !ok {
			b.Fatal(tracker.Look(&target))
		}
		reservation.Done(good(50))
		c.Advance(100 * time.Microsecond)
	}
}

// The configured concurrency is used from the first call on, and no longer once the target refuses for load.
func TestConfiguredConcurrencyIsTrusted(t *testing.T) {
	t.Parallel()
	const bears = 10_000
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "own", Concurrency: bears}
	var last *Reservation
	for n := range bears {
		reservation, ok := b.Take(Ask{Target: &target})
		if !ok {
			t.Fatalf("only %d of %d calls were let through", n, bears)
		}
		last = reservation
	}
	if _, ok := b.Take(Ask{Target: &target}); ok {
		t.Error("one more than configured was let through")
	}
	last.Done(Result{Kind: provider.KindOverloaded})
	c.Advance(MaxRest)
	target.Concurrency = 2 * bears
	if _, ok := b.Take(Ask{Target: &target}); ok {
		t.Error("a target that refused for load is believed to bear more because the configuration says so")
	}
}

// The status shows the pace of calls, and the use of each limit at that pace.
func TestStatusShowsThePace(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	target := penstock.Target{Name: "a", RequestsPerMinute: 6000, OutputTokensPerMinute: 1_000_000}
	for range 600 { // a minute of ten calls a second
		reservation, ok := b.Take(Ask{Target: &target, InputTokens: 1})
		if !ok {
			t.Fatal("no capacity")
		}
		reservation.Done(good(100))
		c.Advance(100 * time.Millisecond)
	}
	s := statusOf(t, b)
	if s.Pace < 9.5 || s.Pace > 10.5 {
		t.Errorf("a pace of %v, want about 10", s.Pace)
	}
	for i, want := range []int64{600, 60_000} {
		if got := s.Rates[i].Used; got < want*9/10 || got > want*11/10 {
			t.Errorf("%d %s used in a minute, want about %d", got, s.Rates[i].Resource, want)
		}
	}
	c.Advance(time.Minute)
	if s := statusOf(t, b); s.Pace > 0.1 {
		t.Errorf("a pace of %v after a minute without calls", s.Pace)
	}
}

package capacity

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/provider"
)

// ill is a health with a clock of its own.
type ill struct {
	health
	now time.Time
}

func newIll() *ill { return &ill{now: time.Unix(1_000_000, 0)} }

func (h *ill) call(kind provider.Kind) bool {
	if h.look(h.now).Reason != "" {
		return false
	}
	h.ended(h.now, h.began(h.now, Ask{}), (&Reservation{}).verdict(kind))
	return true
}

func (h *ill) pass(d time.Duration) { h.now = h.now.Add(d) }

func TestBreakerOpens(t *testing.T) {
	t.Parallel()
	repeat := func(n int, kinds ...provider.Kind) (all []provider.Kind) {
		for range n {
			all = append(all, kinds...)
		}
		return all
	}
	for name, tt := range map[string]struct {
		kinds []provider.Kind
		open  bool
	}{
		"nothing happened":                                {nil, false},
		"three without a connection":                      {repeat(3, provider.KindConnect), true},
		"two without a connection":                        {repeat(2, provider.KindConnect), false},
		"five in a row":                                   {repeat(5, provider.KindServer), true},
		"of any kind that counts":                         {[]provider.Kind{provider.KindNetwork, provider.KindTimeout, provider.KindOverloaded, provider.KindTruncated, provider.KindServer}, true},
		"four in a row":                                   {repeat(4, provider.KindTimeout), false},
		"a good one between":                              {append(repeat(4, provider.KindServer), "", provider.KindServer), false},
		"every second of many":                            {repeat(10, "", provider.KindServer), true},
		"every third of many":                             {repeat(30, "", "", provider.KindServer), false},
		"the caller's faults":                             {repeat(50, provider.KindRejected, provider.KindContextTooLong, provider.KindContentBlocked), false},
		"our own":                                         {repeat(50, provider.KindCancelled, provider.KindInternal, provider.KindAuth, provider.KindSpendCap), false},
		"limits":                                          {repeat(50, provider.KindRateLimited), false},
		"cancelled ones change nothing":                   {repeat(5, provider.KindServer, provider.KindCancelled), true},
		"those for which trying again is in vain":         {repeat(50, provider.KindFinal), false},
		"that neither speaks against a target nor for it": {append(repeat(4, provider.KindServer), provider.KindFinal, provider.KindServer), true},
		"a refused body says it is well":                  {append(repeat(4, provider.KindServer), provider.KindRejected, provider.KindServer), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newIll()
			for _, kind := range tt.kinds {
				h.call(kind)
			}
			if h.open != tt.open {
				t.Errorf("open is %v, want %v", h.open, tt.open)
			}
		})
	}
}

// Items that a target cannot process are tried again; they do not open the breaker for other calls.
func TestRetriesOfBadItemsBreakNothing(t *testing.T) {
	t.Parallel()
	h := newIll()
	again := &Reservation{retry: true}
	for range 100 {
		h.ended(h.now, h.began(h.now, Ask{Retry: true}), again.verdict(provider.KindServer))
	}
	if h.open {
		t.Fatal("retries that fail broke the target")
	}
	for range 3 {
		h.ended(h.now, h.began(h.now, Ask{Retry: true}), again.verdict(provider.KindConnect))
	}
	for range 5 { // once it is broken they probe it like others, without making it wait longer
		h.pass(firstBreak)
		h.ended(h.now, h.began(h.now, Ask{Retry: true}), again.verdict(provider.KindServer))
		if l := h.look(h.now); l != (Look{Broken, firstBreak}) {
			t.Fatalf("after such a probe it looks %v", l)
		}
	}
}

// Failures that are far apart do not open the breaker, however many there are.
func TestFailuresAreForgotten(t *testing.T) {
	t.Parallel()
	h := newIll()
	for range 100 {
		h.call("")
		h.call(provider.KindServer)
		h.pass(time.Minute)
	}
	if h.open {
		t.Error("a target that fails every second call, once a minute, is out of order")
	}
}

func TestBreakerProbes(t *testing.T) {
	t.Parallel()
	h := newIll()
	for range 3 {
		h.call(provider.KindConnect)
	}
	for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if l := h.look(h.now); l != (Look{Broken, pause * time.Second}) {
			t.Fatalf("the target %v, want it out of order for %d s", l, pause)
		}
		h.pass(pause * time.Second)
		probe := h.began(h.now, Ask{})
		if l := h.look(h.now); probe == 0 || l.Reason != Probed || l.Wait != probeLook {
			t.Fatalf("during probe %d the target %v", probe, l)
		}
		h.ended(h.now, probe, unreachable)
	}
	h.pass(MaxBreak)
	for n := range probesToClose {
		if h.breaker(h.now) != BreakerHalfOpen || !h.call("") {
			t.Fatalf("no probe is let through after %d that went well", n)
		}
	}
	if h.breaker(h.now) != BreakerClosed || h.opened != 1 {
		t.Errorf("it is %s and was opened %d times", h.breaker(h.now), h.opened)
	}
	for range 3 {
		h.call(provider.KindConnect)
	}
	if l := h.look(h.now); l.Wait != firstBreak {
		t.Errorf("when it breaks again it is left alone for %v, want %v", l.Wait, firstBreak)
	}
}

// Whatever the outcome of a probe, the next one follows.
func TestInconclusiveProbes(t *testing.T) {
	t.Parallel()
	broken := func() *ill {
		h := newIll()
		for range 3 {
			h.call(provider.KindConnect)
		}
		h.pass(firstBreak)
		return h
	}
	h := broken()
	h.ended(h.now, h.began(h.now, Ask{}), silent)
	if l := h.look(h.now); l.Reason != "" {
		t.Errorf("after a probe that was cancelled the target %s", l.Reason)
	}
	h = broken()
	h.undone(&Reservation{probe: h.began(h.now, Ask{})})
	if l := h.look(h.now); l.Reason != "" {
		t.Errorf("after a probe that was not made the target %s", l.Reason)
	}
	h = broken()
	hanging := h.began(h.now, Ask{})
	h.pass(probeTimeout)
	next := h.began(h.now, Ask{})
	h.ended(h.now, hanging, sick)
	if l := h.look(h.now); next == 0 || l.Reason != Probed {
		t.Errorf("a probe that hung ended its successor: the target %v", l)
	}
}

// In every sequence of calls, the breaker lets one probe through at a time, is open for no longer than the
// maximum, and lets everything through when it is closed.
func TestBreakerInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newIll()
		running := map[int64]time.Time{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			h.pass(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
			l := h.look(h.now)
			if l.Wait < 0 || l.Wait > MaxBreak || (!h.open && l.Reason != "") {
				t.Fatalf("it looks %v, open %v", l, h.open)
			}
			if l.Reason == "" {
				probe := h.began(h.now, Ask{})
				if (probe != 0) != h.open {
					t.Fatalf("probe %d while open is %v", probe, h.open)
				}
				for _, since := range running {
					if probe != 0 && h.now.Sub(since) < probeTimeout {
						t.Fatal("two probes run at a time")
					}
				}
				if rapid.Bool().Draw(t, "hangs") && probe != 0 {
					running[probe] = h.now
					continue
				}
				h.ended(h.now, probe, verdict(rapid.IntRange(int(silent), int(unreachable)).Draw(t, "verdict")))
			}
			for probe := range running {
				if rapid.Bool().Draw(t, "ends") {
					h.ended(h.now, probe, verdict(rapid.IntRange(int(silent), int(unreachable)).Draw(t, "verdict")))
					delete(running, probe)
				}
			}
		}
	})
}

// On a target that fails, retries add no more than a tenth and three per second; a healthy one takes any number.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		perSecond int
		fails     int // of 100
		most      float64
	}{{1000, 30, 0.1}, {20, 30, 0.1}, {1000, 5, 1}, {1000, 0, 1}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			h := newIll()
			made, wanted := 0, 0
			const seconds = 60
			for n := range seconds * tt.perSecond {
				h.pass(time.Second / time.Duration(tt.perSecond))
				h.began(h.now, Ask{})
				h.calls++ // as ended counts, but for the breaker
				if n%100 < tt.fails {
					h.failures++
				}
				wanted++
				if h.mayRetry(h.now) {
					h.began(h.now, Ask{Retry: true})
					made++
				}
			}
			allowed := tt.most*float64(wanted) + retriesPerSecond*(seconds+recently.Seconds())
			if float64(made) > allowed*1.05 || (tt.most == 1 && made < wanted*99/100) {
				t.Errorf("%d of %d retries were made, want at most %.0f", made, wanted, allowed)
			}
		})
	}
}

// A target with an open breaker has no capacity for claims either, and reports when it will have some.
func TestBrokenTargetHasNoCapacity(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	b := New(Config{Clock: func() time.Time { return now }})
	target := &penstock.Target{Name: "a"}
	for range 3 {
		reservation, ok := b.Take(Ask{Target: target})
		if !ok || reservation.Probe() {
			t.Fatal("no capacity before it broke, or a probe")
		}
		reservation.Done(Result{Kind: provider.KindConnect})
	}
	if _, ok := b.Take(Ask{Target: target}); ok {
		t.Fatal("a broken target has capacity")
	}
	if l := b.Refused(target); l != (Look{Broken, firstBreak}) || !b.Closed(target) || b.Wake() || b.Next() != firstBreak {
		t.Errorf("it looks %v, and the next refresh is in %v", l, b.Next())
	}
	now = now.Add(firstBreak)
	if !b.Wake() {
		t.Error("no notification says that it may be probed")
	}
	probe, ok := b.Take(Ask{Target: target})
	if _, second := b.Take(Ask{Target: target}); !ok || !probe.Probe() || second {
		t.Error("want one probe")
	}
	if s := b.Status()[0]; s.Breaker != BreakerHalfOpen || s.Opened != 1 {
		t.Errorf("status %+v", s)
	}
}

func TestFreeProbe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind provider.Kind
		n    int
		want bool
	}{
		{provider.KindServer, 1, true}, {provider.KindServer, 2, false},
		{provider.KindNetwork, maxFreeProbes, true}, {provider.KindNetwork, maxFreeProbes + 1, false},
		{provider.KindConnect, 10_000, true}, {provider.KindOverloaded, 10_000, true}, {provider.KindTimeout, 10_000, false},
		{provider.KindRejected, 1, false}, {provider.KindContentBlocked, 1, false}, {provider.KindContextTooLong, 1, false}, {provider.KindAuth, 1, false},
	} {
		if got := FreeProbe(tt.kind, tt.n); got != tt.want {
			t.Errorf("%s as attempt %d: free is %v, want %v", tt.kind, tt.n, got, tt.want)
		}
	}
}

func TestHeadroom(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	b := New(Config{Clock: func() time.Time { return now }})
	target := &penstock.Target{Name: "a", Concurrency: 4, RequestsPerMinute: 600}
	if h := b.Headroom(target); h != 1 {
		t.Errorf("idle, its headroom is %v", h)
	}
	b.Take(Ask{Target: target})
	if h := b.Headroom(target); h != 0.75 {
		t.Errorf("with one of four permits taken, its headroom is %v", h)
	}
	for range 3 {
		b.Take(Ask{Target: target})
	}
	if h := b.Headroom(target); h != 0 {
		t.Errorf("full, its headroom is %v", h)
	}
}

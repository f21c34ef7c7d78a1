package directory

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"penstock"
)

// guess presents a wrong key.
func (t *Throttle) guess(address, secret string) error {
	pass, err := t.Admit(address, secret)
	if err == nil {
		pass.Wrong()
	}
	return err
}

// call presents a good key.
func (t *Throttle) call(address, secret string) error {
	pass, err := t.Admit(address, secret)
	if err == nil {
		pass.Good()
	}
	return err
}

func (t *Throttle) exhaust(tb testing.TB, address string) {
	tb.Helper()
	for n := range BadKeyBurst {
		if err := t.guess(address, fmt.Sprint("guess ", n)); err != nil {
			tb.Fatalf("guess %d: %v", n, err)
		}
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	now := start
	th := NewThrottle(func() time.Time { return now })
	th.exhaust(t, "192.0.2.1:1000")
	err := th.guess("192.0.2.1:2000", "x")
	e := penstock.AsError(err)
	if e.Code != penstock.CodeRateLimited || e.RetryAfter <= 0 || e.RetryAfter > BadKeyInterval {
		t.Fatalf("one guess too many: %v, retry after %v", err, e.RetryAfter)
	}
	if err := th.guess("192.0.2.2:1000", "x"); err != nil {
		t.Errorf("another address: %v", err)
	}
	now = now.Add(e.RetryAfter)
	if err := th.guess("[::ffff:192.0.2.1]:7", "x"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	if th.guess("192.0.2.1:1", "x") == nil {
		t.Error("a wait earns one guess, not two")
	}
	for n := range BadKeyBurst + 1 {
		err := th.guess(fmt.Sprintf("[2001:db8::%x]:1", n), fmt.Sprint(n)) // one network
		if (err != nil) != (n == BadKeyBurst) {
			t.Errorf("guess %d of a network: %v", n, err)
		}
	}
	if err := th.guess("[2001:db8:0:1::1]:1", "x"); err != nil {
		t.Errorf("another network: %v", err)
	}
	none, err := (*Throttle)(nil).Admit("x", "y")
	none.Good()
	none.Wrong()
	if err != nil {
		t.Error("no throttle slows somebody down")
	}
}

// An address that guesses is refused before its key is looked at: also with a right guess. Callers whose keys were good there go
// on, and one that is new there has its turn.
func TestGoodKeysAreNotLockedOut(t *testing.T) {
	t.Parallel()
	now := start
	th := NewThrottle(func() time.Time { return now })
	const nat = "192.0.2.1:1"
	if err := th.call(nat, "good"); err != nil {
		t.Fatal(err)
	}
	th.exhaust(t, nat)
	for n := range 100 {
		if th.guess(nat, fmt.Sprint(n)) == nil {
			t.Fatal("a guess is looked at")
		}
		if err := th.call("192.0.2.1:77", "good"); err != nil {
			t.Fatalf("a good key is refused: %v", err)
		}
	}
	if th.call(nat, "right guess") == nil {
		t.Error("a right guess is looked at")
	}
	if err := th.call("192.0.2.9:1", "good"); err != nil { // the address is what is refused
		t.Errorf("the key from elsewhere: %v", err)
	}
	// Good keys that are new here cost nothing: in one interval any number of them passes.
	now = now.Add(BadKeyInterval)
	for n := range 50 {
		if err := th.call(nat, fmt.Sprint("new ", n)); err != nil {
			t.Fatalf("new key %d: %v", n, err)
		}
	}
	if err := th.guess(nat, "the next guess"); err != nil {
		t.Errorf("the interval's guess: %v", err)
	}
	for n := range 50 {
		if err := th.call(nat, fmt.Sprint("new ", n)); err != nil {
			t.Fatalf("new key %d is not remembered: %v", n, err)
		}
	}
	if th.call(nat, "late") == nil {
		t.Error("a key that is new here is looked at out of turn")
	}
}

// A key that is not good any more is a guess like others.
func TestRevokedKeysAreForgotten(t *testing.T) {
	t.Parallel()
	th := NewThrottle(func() time.Time { return start })
	_ = th.call("192.0.2.1:1", "revoked")
	th.exhaust(t, "192.0.2.1:1")
	if err := th.guess("192.0.2.1:1", "revoked"); err != nil {
		t.Fatalf("the first time: %v", err)
	}
	if th.guess("192.0.2.1:1", "revoked") == nil {
		t.Error("a revoked key is looked at again and again")
	}
}

func TestThrottleIsBounded(t *testing.T) {
	t.Parallel()
	th := NewThrottle(func() time.Time { return start })
	for n := range 2 * MaxAddresses {
		_ = th.guess(fmt.Sprintf("10.%d.%d.%d:1", n>>16, n>>8&255, n&255), "x")
	}
	if len(th.seen) != MaxAddresses || th.recent.Len() != MaxAddresses {
		t.Errorf("%d addresses are remembered", len(th.seen))
	}
	for n := range 2 * MaxAddresses { // callers leave nothing behind but their marks, in a table of fixed size
		if err := th.call(fmt.Sprintf("11.%d.%d.%d:1", n>>16, n>>8&255, n&255), "good"); err != nil {
			t.Fatal(err)
		}
	}
	if len(th.seen) > MaxAddresses {
		t.Errorf("%d addresses are remembered", len(th.seen))
	}
}

// Ten thousand callers behind one proxy are remembered, nearly all of them.
func TestManyCallersBehindOneProxy(t *testing.T) {
	t.Parallel()
	th := NewThrottle(func() time.Time { return start })
	const callers = 10_000
	for n := range callers {
		_ = th.call("192.0.2.1:1", fmt.Sprint("good ", n))
	}
	th.exhaust(t, "192.0.2.1:1")
	refused := 0
	for n := range callers {
		if _, err := th.Admit("192.0.2.1:1", fmt.Sprint("good ", n)); err != nil {
			refused++
		}
	}
	if refused > callers/500 {
		t.Errorf("%d of %d good keys are refused", refused, callers)
	}
}

func TestThrottleIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	th := NewThrottle(time.Now)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 1000 {
				_ = th.call(fmt.Sprintf("192.0.2.%d:1", i%3), fmt.Sprint("good ", n))
				_ = th.guess(fmt.Sprintf("192.0.2.%d:1", i%3), fmt.Sprint("bad ", i))
			}
		})
	}
	all.Wait()
}

func TestKnownKeysCostNothing(t *testing.T) {
	th := NewThrottle(time.Now)
	_ = th.call("192.0.2.1:1", "good")
	if n := testing.AllocsPerRun(100, func() { _ = th.call("192.0.2.1:1", "good") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkThrottleKnown(b *testing.B) {
	th := NewThrottle(time.Now)
	for b.Loop() {
		_ = th.call("192.0.2.1:41234", "psk_7gq2xk9dmw4ztfv8hsb3rnj6cp7gq2xk9dmw4ztfv8hsb3rnj6cp")
	}
}

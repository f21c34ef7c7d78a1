package inflight

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"penstock"
)

func newPool() *Pool { return New(Config{Process: 6400, Tenant: 3200, Content: "request bodies"}) }

func want(t testing.TB, err error, code penstock.Code, says string) {
	t.Helper()
	e := penstock.AsError(err)
	if err == nil || e.Code != code || !strings.Contains(e.Message, says) || e.RetryAfter <= 0 {
		t.Errorf("got %v, want %s with %q and when to retry", err, code, says)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	p := newPool()
	one, two, small := p.Open("one"), p.Open("two"), p.Open("small")
	if err := one.Take(3200); err != nil {
		t.Fatal(err)
	}
	again := p.Open("one")
	want(t, again.Take(1), penstock.CodeRateLimited, "Tenant one has 3200 bytes of request bodies in flight, and its limit is 3200")
	if err := two.Take(1600); err != nil {
		t.Fatal(err)
	}
	want(t, two.Take(1), penstock.CodeOverloaded, "limit of bytes of request bodies")
	if err := small.Take(100); err != nil { // the last quarter is for those that hold little
		t.Errorf("a small body is refused: %v", err)
	}
	want(t, small.Take(1), penstock.CodeOverloaded, "limit of bytes")
	one.Shrink(100)
	if err := two.Take(1600); err != nil {
		t.Errorf("bytes that were given back are not there: %v", err)
	}
	for _, a := range []*Account{&one, &two, &small, &again} {
		a.Close()
		a.Close()
	}
	if p.Held() != 0 || len(p.tenants) != 0 {
		t.Errorf("%d bytes of %d tenants are left", p.Held(), len(p.tenants))
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool()
		first, second := p.Open("one"), p.Open("one")
		if err := first.Take(3000); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, first.Close)
		began := time.Now()
		if err := second.Wait(nil, 1000); err != nil || time.Since(began) != time.Second {
			t.Errorf("waited %v: %v", time.Since(began), err)
		}
		third, began := p.Open("one"), time.Now()
		want(t, third.Wait(nil, 2500), penstock.CodeRateLimited, "Tenant one")
		if time.Since(began) != MaxWait {
			t.Errorf("gave up after %v", time.Since(began))
		}
		left := make(chan struct{})
		close(left)
		want(t, third.Wait(left, 2500), penstock.CodeRateLimited, "Tenant one")
		second.Close()
		if p.Held() != 0 {
			t.Errorf("%d bytes are left", p.Held())
		}
	})
}

// Whatever is taken and given back, no bound is passed, and nothing is left when all accounts are closed.
func TestHeldNeverPassesABound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPool()
		accounts := make([]Account, 8)
		for i := range accounts {
			accounts[i] = p.Open(penstock.TenantID(rune('a' + i%3)))
		}
		for range 100 {
			a := &accounts[rapid.IntRange(0, len(accounts)-1).Draw(t, "account")]
			switch n := rapid.Int64Range(0, 4000).Draw(t, "bytes"); rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				_ = a.Take(n)
			case 1:
				a.Shrink(n)
			case 2:
				a.Close()
			}
			var sum int64
			for tenant, held := range p.tenants {
				if sum += held; held <= 0 || held > p.Tenant {
					t.Fatalf("%s holds %d", tenant, held)
				}
			}
			if sum != p.held || sum > p.Process {
				t.Fatalf("%d bytes are held, and said to be %d", sum, p.held)
			}
		}
		for i := range accounts {
			accounts[i].Close()
		}
		if p.held != 0 || len(p.tenants) != 0 {
			t.Fatalf("%d bytes are left", p.held)
		}
	})
}

func TestNoPool(t *testing.T) {
	t.Parallel()
	var p *Pool
	a := p.Open("one")
	if err := a.Take(1 << 60); err != nil {
		t.Error(err)
	}
	a.Add(1)
	a.Close()
	var zero Account
	zero.Close()
}

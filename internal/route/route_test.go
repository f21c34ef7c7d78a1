package route

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target has capacity for so many calls, 0 for any number.
func target(name string, concurrency int) penstock.Target {
	return penstock.Target{Name: name, Concurrency: concurrency}
}

// newRouter is a router of a process that shares no targets.
func newRouter() *Router { return New(capacity.New(capacity.Config{Clock: time.Now})) }

func running(r *Router, target string) int {
	for _, s := range r.tracker.Status() {
		if s.Target == target {
			return s.Running
		}
	}
	return 0
}

// rest makes targets ask for a rest, in the answer to a call.
func rest(t *testing.T, r *Router, target string, ds ...time.Duration) {
	t.Helper()
	var calls []Choice
	for range ds {
		calls = append(calls, take(t, r, Query{Candidates: inOrder(penstock.Target{Name: target})}))
	}
	for i, d := range ds {
		calls[i].Done(capacity.Result{Kind: provider.KindOverloaded, RetryAfter: d})
	}
}

func inOrder(ts ...penstock.Target) []*penstock.Target {
	all := make([]*penstock.Target, len(ts))
	for i := range ts {
		all[i] = &ts[i]
	}
	return all
}

// take chooses without waiting, and must find a target.
func take(t *testing.T, r *Router, q Query) Choice {
	t.Helper()
	c, err := r.Choose(t.Context(), q)
	if err != nil {
		t.Fatalf("choose: %v", err)
	}
	return *c
}

// refuse chooses and must be refused with a code.
func refuse(t *testing.T, r *Router, q Query, want penstock.Code) *penstock.Error {
	t.Helper()
	c, err := r.Choose(t.Context(), q)
	if err == nil {
		c.Release()
		t.Fatalf("chose %s, want %s", c.Target.Name, want)
	}
	if got := penstock.ErrorCode(err); got != want {
		t.Fatalf("refused with %s (%v), want %s", got, err, want)
	}
	return penstock.AsError(err)
}

func TestChooseKeepsTheModelsOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		busy    []string
		resting []string
		tried   []string
		want    string
		reason  string
	}{
		{"all free", nil, nil, nil, "a", "first of the model's order"},
		{"first tried", nil, nil, []string{"a"}, "b", "next in the model's order: a was tried"},
		{"first full", []string{"a"}, nil, nil, "b", "next in the model's order: a is full"},
		{"first resting", nil, []string{"a"}, nil, "b", "next in the model's order: a rests"},
		{"only the last is left", []string{"a"}, []string{"b"}, nil, "c", "next in the model's order: a is full, b rests"},
		{"tried counts before full", []string{"a"}, nil, []string{"a", "b"}, "c", "next in the model's order: a was tried, b was tried"},
		{"a tried stranger changes nothing", nil, nil, []string{"z"}, "a", "first of the model's order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRouter()
			for _, name := range tt.busy {
				defer take(t, r, Query{Candidates: inOrder(target(name, 1))}).Release()
			}
			for _, name := range tt.resting {
				rest(t, r, name, time.Hour)
			}
			c := take(t, r, Query{Candidates: inOrder(target("a", 1), target("b", 1), target("c", 1)), Tried: tt.tried})
			defer c.Release()
			if c.Target.Name != tt.want || c.Reason != tt.reason {
				t.Errorf("chose %s (%s), want %s (%s)", c.Target.Name, c.Reason, tt.want, tt.reason)
			}
		})
	}
}

func TestNothingLeftToTry(t *testing.T) {
	t.Parallel()
	r := newRouter()
	refuse(t, r, Query{}, penstock.CodeNoTargetAvailable)
	refuse(t, r, Query{Candidates: inOrder(target("a", 0)), Tried: []string{"a"}, Wait: time.Hour}, penstock.CodeNoTargetAvailable)
}

func TestConcurrencyIsNeverExceeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit, calls = 3, 50
		r := newRouter()
		var mu sync.Mutex
		var wg sync.WaitGroup
		running, most, served := 0, 0, 0
		move := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			running += by
			most = max(most, running)
		}
		for range calls {
			wg.Go(func() {
				c, err := r.Choose(t.Context(), Query{Candidates: inOrder(target("a", limit)), Wait: time.Hour})
				if err != nil {
					t.Errorf("choose: %v", err)
					return
				}
				move(+1)
				time.Sleep(time.Second)
				move(-1)
				c.Release()
				mu.Lock()
				served++
				mu.Unlock()
			})
		}
		wg.Wait()
		if most != limit || served != calls {
			t.Errorf("%d calls ran at a time and %d were served, want %d and %d", most, served, limit, calls)
		}
	})
}

func TestTargetsOfTwoModelsShareTheirCapacity(t *testing.T) {
	t.Parallel()
	r := newRouter()
	first := take(t, r, Query{Candidates: inOrder(target("shared", 1))})
	refuse(t, r, Query{Candidates: inOrder(target("shared", 1))}, penstock.CodeOverloaded)
	first.Release()
	take(t, r, Query{Candidates: inOrder(target("shared", 1))}).Release()
}

func TestReleasingTwiceReturnsCapacityOnce(t *testing.T) {
	t.Parallel()
	r := newRouter()
	q := Query{Candidates: inOrder(target("a", 2))}
	first, second := take(t, r, q), take(t, r, q)
	first.Release()
	first.Release()
	third := take(t, r, q)
	refuse(t, r, q, penstock.CodeOverloaded)
	second.Release()
	third.Release()
	if n := running(r, "a"); n != 0 {
		t.Errorf("%d calls still count as running", n)
	}
}

// A target whose limit shrinks by a reload finishes what it runs before it takes more.
func TestLimitThatShrinks(t *testing.T) {
	t.Parallel()
	r := newRouter()
	one, two := take(t, r, Query{Candidates: inOrder(target("a", 2))}), take(t, r, Query{Candidates: inOrder(target("a", 2))})
	shrunk := Query{Candidates: inOrder(target("a", 1))}
	one.Release()
	refuse(t, r, shrunk, penstock.CodeOverloaded)
	two.Release()
	take(t, r, shrunk).Release()
}

func TestWaitEndsWhenCapacityAppears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		held := take(t, r, Query{Candidates: inOrder(target("a", 1))})
		time.AfterFunc(time.Second, held.Release)
		began := time.Now()
		c := take(t, r, Query{Candidates: inOrder(target("a", 1)), Wait: 2 * time.Second})
		defer c.Release()
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("waited %v for capacity that appeared after 1s", waited)
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(target("a", 1)), Wait: 2 * time.Second}
		defer take(t, r, q).Release()
		began := time.Now()
		e := refuse(t, r, q, penstock.CodeOverloaded)
		if waited := time.Since(began); waited != 2*time.Second {
			t.Errorf("was refused after %v, want 2s", waited)
		}
		if e.RetryAfter <= 0 {
			t.Error("nothing says when to try again")
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(target("a", 1)), Wait: time.Hour}
		defer take(t, r, q).Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := r.Choose(ctx, q)
		if waited := time.Since(began); waited != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v; want the context's end after 1s", waited, err)
		}
		if r.waiters.Len() != 0 {
			t.Errorf("%d still count as waiting", r.waiters.Len())
		}
	})
}

func TestWaitingLineIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(target("a", 1)), Wait: time.Minute}
		held := take(t, r, q)
		var wg sync.WaitGroup
		for range MaxWaiting {
			wg.Go(func() {
				if c, err := r.Choose(t.Context(), q); err == nil {
					c.Release()
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		refuse(t, r, q, penstock.CodeOverloaded)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the one too many waited %v, want to be refused at once", waited)
		}
		held.Release()
		wg.Wait()
		if r.waiters.Len() != 0 || running(r, "a") != 0 {
			t.Errorf("%d wait and %d run after all are gone", r.waiters.Len(), running(r, "a"))
		}
	})
}

func TestRestingTargetsSayWhenTheyAreBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		rest(t, r, "a", 30*time.Second)
		rest(t, r, "b", 10*time.Second)
		q := Query{Candidates: inOrder(target("a", 0), target("b", 0))}
		if e := refuse(t, r, q, penstock.CodeOverloaded); e.RetryAfter != 10*time.Second {
			t.Errorf("retry after %v, want 10s: b is back first", e.RetryAfter)
		}
		time.Sleep(10 * time.Second)
		if c := take(t, r, q); c.Target.Name != "b" {
			t.Errorf("chose %s, want b: a still rests", c.Target.Name)
		}
		time.Sleep(20 * time.Second)
		if c := take(t, r, q); c.Target.Name != "a" {
			t.Errorf("chose %s, want a: it rests no longer", c.Target.Name)
		}
	})
}

func TestRestIsBoundedAndNeverShortened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(target("a", 0))}
		rest(t, r, "a", 24*time.Hour, time.Second, -time.Second)
		if e := refuse(t, r, q, penstock.CodeOverloaded); e.RetryAfter != capacity.MaxRest {
			t.Errorf("rests for %v, want %v", e.RetryAfter, capacity.MaxRest)
		}
		time.Sleep(capacity.MaxRest)
		take(t, r, q).Release()
	})
}

func TestTriedTargetsDoNotHoldUpARefusal(t *testing.T) {
	t.Parallel()
	r := newRouter()
	rest(t, r, "a", time.Hour)
	refuse(t, r, Query{Candidates: inOrder(target("a", 0)), Tried: []string{"a"}, Wait: time.Hour}, penstock.CodeNoTargetAvailable)
}

func TestWaiterTakesTheTargetWhoseRestEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		defer take(t, r, Query{Candidates: inOrder(target("busy", 1))}).Release()
		rest(t, r, "resting", time.Second)
		began := time.Now()
		c := take(t, r, Query{Candidates: inOrder(target("busy", 1), target("resting", 1)), Wait: 2 * time.Second})
		defer c.Release()
		if waited := time.Since(began); c.Target.Name != "resting" || waited != time.Second {
			t.Errorf("chose %s after %v, want resting after 1s", c.Target.Name, waited)
		}
	})
}

func TestWaitOutlastsARestWithinIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		rest(t, r, "a", time.Second)
		take(t, r, Query{Candidates: inOrder(target("a", 1)), Wait: 2 * time.Second}).Release()
	})
}

func TestWaitersAreServedInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(target("a", 1)), Wait: time.Hour}
		held := take(t, r, q)
		var wg sync.WaitGroup
		order := make(chan int, 100)
		for i := range cap(order) {
			wg.Go(func() {
				if c, err := r.Choose(t.Context(), q); err == nil {
					order <- i
					c.Release()
				}
			})
			synctest.Wait()
		}
		held.Release()
		wg.Wait()
		close(order)
		want := 0
		for got := range order {
			if got != want {
				t.Fatalf("waiter %d was served, want %d", got, want)
			}
			want++
		}
	})
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	known := map[string]*penstock.Target{"a": new(target("a", 1)), "b": new(target("b", 2))}
	got, err := Candidates([]string{"b", "gone", "a"}, known)
	if err != nil || len(got) != 2 || got[0].Name != "b" || got[1].Name != "a" {
		t.Errorf("got %v, %v; want b, a", got, err)
	}
	for _, names := range [][]string{nil, {"gone"}} {
		if got, err := Candidates(names, known); penstock.ErrorCode(err) != penstock.CodeNoTargetAvailable || got != nil {
			t.Errorf("%v: got %v, %v; want no_target_available", names, got, err)
		}
	}
}

// A synchronous call passes the items of jobs in line.
func TestUrgentWaitersAreServedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(target("a", 1)), Wait: time.Minute}
		held := take(t, r, q)
		var mu sync.Mutex
		var served []penstock.Lane
		var wg sync.WaitGroup
		for _, lane := range []penstock.Lane{penstock.LaneBulk, penstock.LaneStandard, penstock.LaneRealtime, penstock.LaneBulk, penstock.LaneRealtime} {
			wg.Go(func() {
				c, err := r.Choose(t.Context(), Query{Candidates: q.Candidates, Lane: lane, Wait: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				served = append(served, lane)
				mu.Unlock()
				c.Release()
			})
			synctest.Wait()
		}
		held.Release()
		wg.Wait()
		want := []penstock.Lane{penstock.LaneRealtime, penstock.LaneRealtime, penstock.LaneStandard, penstock.LaneBulk, penstock.LaneBulk}
		if !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}

// A full line for one target does not refuse a call whose own target is free.
func TestFullLineDoesNotRefuseFreeCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		busy := Query{Candidates: inOrder(target("a", 1)), Wait: time.Minute}
		held := take(t, r, busy)
		var wg sync.WaitGroup
		for range MaxWaiting {
			wg.Go(func() {
				if c, err := r.Choose(t.Context(), busy); err == nil {
					c.Release()
				}
			})
		}
		synctest.Wait()
		take(t, r, Query{Candidates: inOrder(target("b", 1))}).Release()
		held.Release()
		wg.Wait()
	})
}

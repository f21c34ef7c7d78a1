package route

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

// reserveOne reserves one call.
func reserveOne(r *Router, q Query) (Choice, bool) {
	if all := r.Reserve(q, 1); len(all) == 1 {
		return *all[0], true
	}
	return Choice{}, false
}

func TestReserveDoesNotWait(t *testing.T) {
	t.Parallel()
	r := newRouter()
	freed := r.Freed().SubscribeAll().C
	q := Query{Candidates: inOrder(target("a", 1), target("b", 1))}
	first, ok := reserveOne(r, q)
	if !ok || first.Target.Name != "a" {
		t.Fatalf("chose %+v, %v; want a", first, ok)
	}
	second, ok := reserveOne(r, q)
	if !ok || second.Target.Name != "b" || second.Reason != "next in the model's order: a is full" {
		t.Fatalf("chose %+v, %v; want b", second, ok)
	}
	if c, ok := reserveOne(r, q); ok {
		t.Fatalf("chose %s though all are full", c.Target.Name)
	}
	select {
	case <-freed:
		t.Fatal("capacity is said to be back while all are full")
	default:
	}
	first.Release()
	select {
	case <-freed:
	default:
		t.Fatal("no notification says that capacity is back")
	}
	if c, ok := reserveOne(r, q); !ok || c.Target.Name != "a" {
		t.Errorf("chose %+v, %v; want a again", c, ok)
	}
	Choice{}.Release() // no choice at all
}

// Calls that wait in line come before a Reserve.
func TestReserveDoesNotPassTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(penstock.Target{Name: "a", RequestsPerMinute: 60}), Wait: time.Minute}
		for _, ok := reserveOne(r, q); ok; _, ok = reserveOne(r, q) { // until the rate is used up
		}
		served := make(chan *Choice, 1)
		go func() {
			c, err := r.Choose(t.Context(), q)
			if err != nil {
				t.Error(err)
			}
			served <- c
		}()
		synctest.Wait()
		time.Sleep(2 * time.Second) // one call is allowed, and perhaps a second one
		if len(served) != 1 {
			t.Error("the one in line was not served when the rate allowed it")
		}
	})
}

// Freed is notified when the rate allows more, although no call ended.
func TestFreedByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracker := capacity.New(capacity.Config{Clock: time.Now})
		r := New(tracker)
		go func() { _ = tracker.Run(t.Context()) }()
		freed := r.Freed().SubscribeAll().C
		q := Query{Candidates: inOrder(penstock.Target{Name: "a", RequestsPerMinute: 60})}
		for _, ok := reserveOne(r, q); ok; _, ok = reserveOne(r, q) {
		}
		began := time.Now()
		<-freed
		if waited := time.Since(began); waited < 900*time.Millisecond || waited > 1100*time.Millisecond {
			t.Errorf("notified after %v, want about a second", waited)
		}
		if _, ok := reserveOne(r, q); !ok {
			t.Error("there is no capacity after all")
		}
	})
}

func TestFull(t *testing.T) {
	t.Parallel()
	r := newRouter()
	targets := map[string]*penstock.Target{"a": new(target("a", 1)), "b": new(target("b", 1))}
	models := []penstock.Model{
		{Name: "one", Targets: []string{"a"}}, {Name: "both", Targets: []string{"a", "b"}}, {Name: "lost", Targets: []string{"gone"}},
	}
	want := func(when string, names ...string) {
		t.Helper()
		if got := r.Full(models, targets); !slices.Equal(got, names) {
			t.Errorf("%s: %v are full, want %v", when, got, names)
		}
	}
	want("idle", "lost")
	both := Query{Candidates: []*penstock.Target{targets["a"], targets["b"]}}
	a := take(t, r, both)
	want("a is busy, and no call was refused", "lost")
	b := take(t, r, both)
	want("b had to do instead", "one", "lost")
	if _, ok := reserveOne(r, both); ok {
		t.Fatal("chose a target that is full")
	}
	want("both are busy", "one", "both", "lost")
	a.Release()
	b.Release()
	want("idle again", "lost")
}

// The line is served by time again and again, also after it was empty for a while.
func TestLineIsServedByTimeEveryTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(penstock.Target{Name: "a", RequestsPerMinute: 60}), Wait: 5 * time.Second}
		for i := range 10 {
			take(t, r, q).Done(capacity.Result{})
			if i == 5 {
				time.Sleep(time.Minute)
			}
		}
	})
}

// A choice that is returned unused leaves no trace: the capacity is free, and the policy's turn was not taken.
func TestReturnTakesTheTurnBack(t *testing.T) {
	t.Parallel()
	for _, policy := range []penstock.Policy{penstock.PolicyWeighted, penstock.PolicyFastest, penstock.PolicyOrdered} {
		r := newRouter()
		q := Query{Candidates: inOrder(target("a", 100), target("b", 100)), Model: penstock.Model{Name: "m", Policy: policy, Weights: map[string]int{"a": 3, "b": 1}}}
		for _, c := range r.Reserve(q, 8) {
			c.Done(capacity.Result{Took: time.Second, FirstToken: time.Millisecond})
		}
		count := func(choices []*Choice) map[string]int {
			n := map[string]int{}
			for _, c := range choices {
				n[c.Target.Name]++
			}
			return n
		}
		used := map[string]int{}
		for round := range 40 {
			surplus := r.Reserve(q, 1+round%3)
			for _, c := range surplus {
				c.Return()
			}
			one := r.Reserve(q, 1)
			used[one[0].Target.Name] += count(one)[one[0].Target.Name]
			one[0].Done(capacity.Result{Took: time.Second, FirstToken: time.Millisecond})
		}
		if policy == penstock.PolicyWeighted && (used["a"] != 30 || used["b"] != 10) {
			t.Errorf("weights of 3 and 1 gave %v, though nothing but surplus came between", used)
		}
		if got := len(r.Reserve(Query{Candidates: q.Candidates[:1]}, 200)); got != 100 {
			t.Errorf("%s: %d calls are free, want all 100", policy, got)
		}
	}
}

func TestReserveTakesWhatThereIs(t *testing.T) {
	t.Parallel()
	r := newRouter()
	q := Query{Candidates: inOrder(target("a", 2), target("b", 3))}
	all := r.Reserve(q, 10)
	if len(all) != 5 || all[1].Target.Name != "a" || all[2].Target.Name != "b" {
		t.Fatalf("reserved %d calls, want 2 of a and 3 of b", len(all))
	}
	if more := r.Reserve(q, 1); len(more) != 0 {
		t.Error("more was reserved than there is")
	}
	all[4].Return()
	if more := r.Reserve(q, 5); len(more) != 1 || more[0].Target.Name != "b" {
		t.Errorf("reserved %d calls after one was returned", len(more))
	}
}

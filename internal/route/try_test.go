package route

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

func TestTryChooseDoesNotWait(t *testing.T) {
	t.Parallel()
	r := newRouter()
	q := Query{Candidates: inOrder(target("a", 1), target("b", 1))}
	first, ok := r.TryChoose(q)
	if !ok || first.Target.Name != "a" {
		t.Fatalf("chose %+v, %v; want a", first, ok)
	}
	second, ok := r.TryChoose(q)
	if !ok || second.Target.Name != "b" || second.Reason != "next in the model's order: a is full" {
		t.Fatalf("chose %+v, %v; want b", second, ok)
	}
	if c, ok := r.TryChoose(q); ok {
		t.Fatalf("chose %s though all are full", c.Target.Name)
	}
	select {
	case <-r.Freed():
		t.Fatal("room is said to be back while all are full")
	default:
	}
	first.Release()
	select {
	case <-r.Freed():
	default:
		t.Fatal("nobody tells that room is back")
	}
	if c, ok := r.TryChoose(q); !ok || c.Target.Name != "a" {
		t.Errorf("chose %+v, %v; want a again", c, ok)
	}
	Choice{}.Release() // no choice at all
}

// Whoever waits in line comes before those who only try.
func TestTryChooseDoesNotPassTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRouter()
		q := Query{Candidates: inOrder(penstock.Target{Name: "a", RequestsPerMinute: 60}), Wait: time.Minute}
		for _, ok := r.TryChoose(q); ok; _, ok = r.TryChoose(q) { // until the rate is used up
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

// Whoever only tried is told when the rate allows more, although no call ended.
func TestFreedByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book := capacity.New(capacity.Config{Clock: time.Now})
		r := New(book)
		go func() { _ = book.Run(t.Context()) }()
		q := Query{Candidates: inOrder(penstock.Target{Name: "a", RequestsPerMinute: 60})}
		for _, ok := r.TryChoose(q); ok; _, ok = r.TryChoose(q) {
		}
		began := time.Now()
		<-r.Freed()
		if waited := time.Since(began); waited < 900*time.Millisecond || waited > 1100*time.Millisecond {
			t.Errorf("told after %v, want about a second", waited)
		}
		if _, ok := r.TryChoose(q); !ok {
			t.Error("there is no room after all")
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
	want("a is busy, and nobody minds", "lost")
	b := take(t, r, both)
	want("b had to do instead", "one", "lost")
	if _, ok := r.TryChoose(both); ok {
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

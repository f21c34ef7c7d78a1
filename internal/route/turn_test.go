package route

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

// A tenant that sends far more than a target can serve does not make another tenant wait: neither by its running calls,
// nor by its waiting calls, nor by using up the limits per minute.
func TestNoisyNeighbour(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]penstock.Target{
		"concurrency": {Name: "a", Concurrency: 20},
		"requests":    {Name: "a", RequestsPerMinute: 1200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				r := New(capacity.New(capacity.Config{Clock: time.Now}))
				var clients sync.WaitGroup
				call := func(tenant penstock.TenantID) (time.Duration, error) {
					began := time.Now()
					c, err := r.Choose(ctx, Query{Candidates: inOrder(target), Lane: penstock.LaneRealtime, Tenant: tenant, Wait: 2 * time.Second})
					waited := time.Since(began)
					if err == nil {
						time.Sleep(time.Second)
						c.Done(capacity.Result{UsageKnown: true, Took: time.Second})
					}
					return waited, err
				}
				for range 150 {
					clients.Go(func() {
						for ctx.Err() == nil {
							if _, err := call("noisy"); err != nil {
								time.Sleep(100 * time.Millisecond)
							}
						}
					})
				}
				time.Sleep(3 * time.Second)
				_, _ = call("quiet") // the first one finds the target full, and makes the other leave capacity
				var worst time.Duration
				for n := range 20 {
					waited, err := call("quiet")
					if err != nil {
						t.Fatalf("call %d of the quiet tenant: %v", n, err)
					}
					worst = max(worst, waited)
				}
				t.Logf("the quiet tenant waited %v at the most", worst)
				if worst > 200*time.Millisecond {
					t.Errorf("the quiet tenant waited %v", worst)
				}
				stop()
				clients.Wait()
			})
		})
	}
}

// One tenant cannot take all places of the line.
func TestLineHasPlacesForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(capacity.New(capacity.Config{Clock: time.Now}))
		target := penstock.Target{Name: "a", Concurrency: 1}
		busy, err := r.Choose(t.Context(), Query{Candidates: inOrder(target)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		wait := func(tenant penstock.TenantID) {
			waiting.Go(func() {
				_, _ = r.Choose(ctx, Query{Candidates: inOrder(target), Tenant: tenant, Wait: time.Minute})
			})
		}
		for range MaxWaitingEach {
			wait("noisy")
		}
		synctest.Wait()
		if _, err := r.Choose(ctx, Query{Candidates: inOrder(target), Tenant: "noisy", Wait: time.Minute}); penstock.ErrorCode(err) != penstock.CodeOverloaded {
			t.Errorf("one more of the noisy tenant: %v", err)
		}
		wait("quiet")
		synctest.Wait()
		if n := r.turns.waiting["quiet"]; n != 1 {
			t.Errorf("%d calls of the quiet tenant wait, want 1", n)
		}
		stop()
		waiting.Wait()
		busy.Release()
		if len(r.turns.waiting) != 0 || len(r.turns.last) != 0 {
			t.Errorf("turns are left behind: %+v", r.turns)
		}
	})
}

func TestTurns(t *testing.T) {
	t.Parallel()
	var all turns
	var got []string
	for _, tenant := range []penstock.TenantID{"a", "a", "a", "b", "a", "b"} {
		got = append(got, fmt.Sprint(tenant, all.admit(tenant)))
	}
	all.served(2)
	got = append(got, fmt.Sprint("c", all.admit("c")))
	if want := "[a1 a2 a3 b1 a4 b2 c3]"; fmt.Sprint(got) != want {
		t.Errorf("turns %v, want %s", got, want)
	}
}

package work

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/provider"
)

func (q *fakeQueue) cancel(ids ...penstock.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		q.items[id].cancelled = true
	}
}

func TestCancelReachesARunningItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 2, newQueue(items(2)...), takes(time.Hour))
		pass(2 * time.Second)
		r.queue.cancel("001")
		pass(CancelInterval)
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 1, penstock.StatusCancelled: 1})
		f := r.queue.end(t, "001")
		if f.Transition != penstock.TransitionCancel || f.Error.Code != penstock.CodeCancelled || f.Forfeit != 1000 || f.Counted != 1 {
			t.Errorf("end %+v, error %+v", f, f.Error)
		}
		if !slices.Contains(r.publisher.jobs, "job-001") {
			t.Error("the cancelled job was not announced")
		}
	})
}

// The answer to a claim can be lost. Its items are given back instead of being held for ever.
func TestItemThatIsNotHereIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(items(2)...)
		r := start(t, 1, q, takes(time.Hour))
		synctest.Wait()
		q.set(func(q *fakeQueue) { q.items["001"].status, q.items["001"].epoch = penstock.StatusRunning, 1 })
		q.cancel("001")
		pass(time.Second)
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 1, penstock.StatusQueued: 1})
	})
}

func TestErrorsOfTheCancelLookAreSurvived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		q.fails["held"] = errAway
		r := start(t, 1, q, takes(time.Hour))
		pass(2 * time.Second)
		q.cancel("1")
		q.set(func(q *fakeQueue) { delete(q.fails, "held") })
		pass(CancelInterval)
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusCancelled: 1})
	})
}

// One heartbeat per process, however many items run.
func TestHeartbeatDoesNotGrowWithItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 100, newQueue(items(100)...), takes(time.Hour))
		pass(30*time.Second + CancelInterval/2)
		if n := r.queue.count("renew"); n != 10 {
			t.Errorf("%d renewals in 30s, want 10", n)
		}
		if n := r.queue.count("held"); n != 60 {
			t.Errorf("%d looks for cancelled items in 30s, want 60", n)
		}
	})
}

func TestLostLeaseStopsItemsAndIsTakenAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 2, newQueue(items(2)...), takes(10*time.Second))
		pass(time.Second)
		r.queue.set(func(q *fakeQueue) { q.epoch++ }) // another holder, such as a twin process
		r.queue.rescue()
		pass(3 * time.Second) // a heartbeat
		synctest.Wait()
		if n := r.queue.count("acquire"); n != 2 {
			t.Fatalf("the lease was acquired %d times, want twice", n)
		}
		if l := r.Lease.Current(); l.Epoch != 3 {
			t.Errorf("holds epoch %d, want 3", l.Epoch)
		}
		stale := r.queue.stale
		if len(stale) != 2 || stale[0].Transition != penstock.TransitionRetry || stale[0].Fence != 1 || stale[0].Forfeit != 1000 {
			t.Errorf("stale ends %+v; want both items given back under their old fence", stale)
		}
		pass(15 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 2})
		if f := r.queue.end(t, "000"); f.Fence != 2 {
			t.Errorf("succeeded under fence %d, want 2", f.Fence)
		}
	})
}

func TestRenewalThatFailsForAWhileIsSurvived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		r := start(t, 1, q, takes(30*time.Second))
		pass(time.Second)
		q.set(func(q *fakeQueue) { q.fails["renew"] = errAway })
		pass(leaseTimeout - 2*time.Second)
		q.set(func(q *fakeQueue) { delete(q.fails, "renew") })
		pass(time.Minute)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
		if n := q.count("acquire"); n != 1 {
			t.Errorf("the lease was acquired %d times, want once", n)
		}
		if !strings.Contains(r.log.String(), errAway.Error()) {
			t.Error("no reader was notified")
		}
	})
}

func TestLeaseThatCannotBeRenewedIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		r := start(t, 1, q, takes(30*time.Second))
		pass(time.Second)
		q.set(func(q *fakeQueue) { q.fails["renew"], q.fails["acquire"] = errAway, errAway })
		pass(leaseTimeout)
		synctest.Wait()
		f := r.queue.end(t, "1")
		if f.Transition != penstock.TransitionRetry || f.Counted != 0 {
			t.Errorf("end %+v; want the item stopped when the lease ran out", f)
		}
		q.set(func(q *fakeQueue) { clear(q.fails) })
		pass(time.Minute)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
	})
}

// A renewal that hangs is as bad as one that fails.
func TestRenewalThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		r := start(t, 1, q, takes(time.Hour))
		pass(time.Second)
		q.set(func(q *fakeQueue) { q.hangs["renew"] = true })
		pass(2 * leaseTimeout)
		if f := r.queue.end(t, "1"); f.Transition != penstock.TransitionRetry {
			t.Errorf("end %+v", f)
		}
	})
}

// A look for cancelled items that hangs must not cost the lease.
func TestCancelLookThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		start(t, 1, q, takes(time.Hour))
		pass(time.Second)
		q.set(func(q *fakeQueue) { q.hangs["held"] = true })
		before := q.count("renew")
		pass(2 * leaseTimeout)
		if n := q.count("renew") - before; n < 2 {
			t.Errorf("%d renewals in two lease timeouts", n)
		}
	})
}

// An item that is claimed again while its old run still unwinds can be cancelled like any other.
func TestOldRunDoesNotHideTheNewOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var once sync.Once
		r := start(t, 2, newQueue(item("1")), func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
			first := false
			once.Do(func() { first = true })
			if first {
				<-ctx.Done()
				time.Sleep(10 * time.Second) // slow to unwind
				return attempt.Outcome{Err: &provider.Error{Kind: provider.KindCancelled}}
			}
			return takes(time.Hour)(ctx, task, sink)
		})
		pass(time.Second)
		r.queue.set(func(q *fakeQueue) { q.epoch++ })
		r.queue.rescue()
		pass(20 * time.Second) // lease lost and retaken, item claimed again, old run over
		r.queue.cancel("1")
		pass(2 * CancelInterval)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusCancelled: 1})
	})
}

// A process that is asked to stop while it waits for its lease has nothing to drain, and nothing went wrong.
func TestStopBeforeTheLeaseIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		q.fails["acquire"] = errAway
		r := start(t, 1, q, takes(time.Second))
		pass(time.Second)
		if err := r.stop(); err != nil {
			t.Errorf("stopped with %v", err)
		}
	})
}

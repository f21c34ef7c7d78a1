package work

import (
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
)

// listening is a pool of two slots that is told of cancels.
func listening(t *testing.T, q *fakeQueue, told <-chan struct{}) *rig {
	t.Helper()
	r := newPool(t, 2, q, takes(time.Hour))
	r.Cancels = told
	return r.begin()
}

// Whoever is told of a cancel does not wait for the next look.
func TestCancelIsHeardBeforeTheNextLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan struct{}, 1)
		r := listening(t, newQueue(items(2)...), told)
		pass(2*time.Second + CancelInterval/4)
		r.queue.cancel("001")
		told <- struct{}{}
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 1, penstock.StatusCancelled: 1})

		told <- struct{}{} // a hint that is wrong stops nothing
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 1, penstock.StatusCancelled: 1})
	})
}

func TestHintsCostAnIdleProcessNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan struct{}, 1)
		r := listening(t, newQueue(), told)
		pass(time.Second)
		for range 10 {
			told <- struct{}{}
			synctest.Wait()
		}
		if n := r.queue.count("held"); n != 0 {
			t.Errorf("a process that holds nothing asked %d times what it holds", n)
		}
	})
}

func TestLeasedSaysWhetherThePoolCanClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 1, newQueue(), takes(time.Hour))
		pass(time.Second)
		if !r.Leased() {
			t.Error("a pool at work says that it has no lease")
		}
		r.queue.set(func(q *fakeQueue) { q.fails["renew"] = errAway })
		r.queue.set(func(q *fakeQueue) { q.fails["acquire"] = errAway })
		pass(time.Minute)
		if r.Leased() {
			t.Error("a pool that could not renew for a minute says that it has a lease")
		}
		r.queue.set(func(q *fakeQueue) { q.fails["renew"] = nil })
		r.queue.set(func(q *fakeQueue) { q.fails["acquire"] = nil })
		pass(time.Minute)
		if !r.Leased() {
			t.Error("a pool that took a new lease says that it has none")
		}
	})
}

// An item that waits for a moment is tried again when that is over, not at the next poll.
func TestARetryIsClaimedWhenItIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPool(t, 1, newQueue(), takes(time.Hour)).begin()
		pass(pollInterval / 10)
		ended := newEndings(1)
		ended.add(finished{Finish: store.Finish{Item: "1", Job: "job-1", Transition: penstock.TransitionRetry, RetryIn: pollInterval / 4}})
		looks := r.queue.count("claim")
		r.report(t.Context(), ended, []store.Verdict{{Won: true, Status: penstock.StatusQueued}})
		pass(pollInterval/4 - time.Millisecond)
		if n := r.queue.count("claim"); n != looks {
			t.Errorf("looked %d times for work that was not due", n-looks)
		}
		pass(time.Millisecond)
		if n := r.queue.count("claim"); n != looks+1 {
			t.Errorf("looked %d times when the item was due, want once", n-looks)
		}
	})
}

// The pool of a process that only serves holds its lease, and asks for nothing to do.
func TestALeaseAloneClaimsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPool(t, 1, newQueue(items(3)...), takes(0))
		alone, err := New(Config{Process: "server", Slots: 1, LeaseTimeout: leaseTimeout, PollInterval: pollInterval, LeaseOnly: true}, r.Deps)
		if err != nil {
			t.Fatal(err)
		}
		r.Pool = alone
		r.begin()
		pass(time.Minute)
		if n := r.queue.count("claim"); n != 0 || !r.Leased() || r.queue.count("renew") == 0 {
			t.Errorf("claimed %d times, leased %v, renewed %d times; want a lease that is kept and no claim", n, r.Leased(), r.queue.count("renew"))
		}
		if err := r.stop(); err != nil || r.queue.count("release") != 1 {
			t.Errorf("it stopped with %v and released its lease %d times", err, r.queue.count("release"))
		}
	})
}

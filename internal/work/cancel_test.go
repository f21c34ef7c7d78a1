package work

import (
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/signal"
	"penstock/internal/store"
)

// listening is a pool of two slots that is notified of cancels.
func listening(t *testing.T, q *fakeQueue) *rig {
	t.Helper()
	r := newPool(t, 2, q, takes(time.Hour))
	r.Cancels = signal.NewTopic[signal.None](nil, signal.Cancels)
	return r.begin()
}

// A notified worker does not wait for the next look.
func TestCancelEndsItemsBeforeTheNextLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := listening(t, newQueue(items(2)...))
		pass(2*time.Second + CancelInterval/4)
		r.queue.cancel("001")
		r.Cancels.Notify()
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 1, penstock.StatusCancelled: 1})

		r.Cancels.Notify() // a hint that is wrong stops nothing
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 1, penstock.StatusCancelled: 1})
	})
}

func TestHintsCostAnIdleProcessNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := listening(t, newQueue())
		pass(time.Second)
		for range 10 {
			r.Cancels.Notify()
			synctest.Wait()
		}
		if n := r.queue.count("held"); n != 0 {
			t.Errorf("a process that holds nothing asked %d times what it holds", n)
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
		looks := r.queue.count("ready")
		r.report(t.Context(), ended, []store.Verdict{{Won: true, Status: penstock.StatusQueued}})
		pass(pollInterval/4 - time.Millisecond)
		if n := r.queue.count("ready"); n != looks {
			t.Errorf("looked %d times for work that was not due", n-looks)
		}
		pass(time.Millisecond)
		if n := r.queue.count("ready"); n != looks+1 {
			t.Errorf("looked %d times when the item was due, want once", n-looks)
		}
	})
}

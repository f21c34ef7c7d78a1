package work

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/provider"
)

// The items that end while one group is committed are the next group.
func TestEndsAreRecordedInGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(items(10)...)
		q.takes["finish"] = time.Second
		r := start(t, 10, q, func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
			d := 1500 * time.Millisecond
			if task.Subject == "000" {
				d = time.Second
			}
			return takes(d)(ctx, task, sink)
		})
		pass(4 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 10})
		// All but the first that each recorder gets.
		if most := slices.Max(q.sizes); most < (10-recorders)/recorders || len(q.sizes) > 2*recorders {
			t.Errorf("groups of %v", q.sizes)
		}
	})
}

func TestFinishGroupsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 2*MaxFinishGroup + 50
		q := newQueue(items(n)...)
		q.takes["finish"] = time.Second
		r := start(t, n, q, takes(time.Second))
		pass(time.Minute)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: n})
		if most := slices.Max(q.sizes); most > MaxFinishGroup {
			t.Errorf("a group of %d was recorded, %d are the most", most, MaxFinishGroup)
		}
		// The first, as many as there may be, and the rest, which comes in when these make place.
		if len(q.sizes) > 4*recorders {
			t.Errorf("groups of %v; want few", q.sizes)
		}
	})
}

func TestRecordingIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		q.fails["finish"] = errAway
		r := start(t, 1, q, takes(time.Second))
		pass(1500 * time.Millisecond)
		if n := q.count("finish"); n != 3 {
			t.Errorf("tried %d times in half a second, want 3", n)
		}
		q.set(func(q *fakeQueue) { delete(q.fails, "finish") })
		pass(time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
		if len(q.ends) != 1 || !strings.Contains(r.log.String(), errAway.Error()) {
			t.Errorf("%d ends recorded, log %s", len(q.ends), r.log)
		}
	})
}

func TestRecordingIsTriedAgainDuringShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		q.fails["finish"] = errAway
		r := start(t, 1, q, takes(time.Second))
		pass(2 * time.Second)
		time.AfterFunc(4*time.Second, func() { q.set(func(q *fakeQueue) { delete(q.fails, "finish") }) })
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
	})
}

func TestRecordingIsGivenUpWithTheLease(t *testing.T) {
	t.Parallel()
	for name, arm := range map[string]func(*fakeQueue){
		"fails": func(q *fakeQueue) { q.fails["finish"] = errAway },
		"hangs": func(q *fakeQueue) { q.hangs["finish"] = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(items(3)...)
			arm(q)
			r := start(t, 1, q, takes(time.Second))
			pass(leaseTimeout)
			if got := r.runner.seen(); len(got) != 2 {
				t.Errorf("%s: %v ran; want one end unrecorded and one that keeps its slot", name, got)
			}
			q.set(func(q *fakeQueue) { q.epoch++ })
			pass(10 * leaseTimeout)
			if got := r.runner.seen(); len(got) < 3 {
				t.Errorf("%s: only %v ran; want the slot back once nothing more can be recorded", name, got)
			}
			if !strings.Contains(r.log.String(), "gave up recording a result") {
				t.Errorf("%s: no reader was notified", name)
			}
		})
	}
}

// A result that cannot be recorded for longer than the lease lasts is still recorded in the end.
func TestResultIsKeptUntilItIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		q.fails["finish"] = errAway
		r := start(t, 1, q, takes(time.Second))
		pass(leaseTimeout + 4*time.Second)
		q.set(func(q *fakeQueue) { delete(q.fails, "finish") })
		for range 30 {
			q.rescue()
			pass(time.Second)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
	})
}

func TestRetryAtOnceRings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPool(t, 1, newQueue(item("1")), takes(0))
		claimed, rung := item("1"), r.Work.SubscribeAll().C
		for _, tt := range []struct {
			name    string
			retryIn time.Duration
			want    int
		}{{"later", time.Second, 0}, {"at once", 0, 1}} {
			r.queue.set(func(q *fakeQueue) { q.items["1"].status, q.items["1"].Fence = penstock.StatusRunning, 1 })
			f, ended := finished{run: run{pool: r.pools[0]}}, newEndings(1)
			f.Of = &claimed
			f.Item, f.Job, f.Fence, f.Transition, f.RetryIn = "1", "job-1", 1, penstock.TransitionRetry, tt.retryIn
			r.addUnrecorded()
			ended.add(f)
			r.recordGroup(t.Context(), ended, 1)
			if got := len(rung); got != tt.want {
				t.Errorf("%s: rang %d times, want %d", tt.name, got, tt.want)
			}
		}
		if len(r.publisher.jobs) != 0 {
			t.Errorf("announced %v although no item ended", r.publisher.jobs)
		}
	})
}

func TestRetriedItemComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		r := start(t, 1, newQueue(item("1")), func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
			if tries++; tries < 4 {
				return attempt.Outcome{
					Attempts: []penstock.Attempt{{}}, Err: &provider.Error{Kind: provider.KindServer, RetryAfter: time.Second},
				}
			}
			return takes(0)(ctx, task, sink)
		})
		pass(30 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
		if i := r.queue.items["1"]; i.Attempts != 4 || i.Fence != 4 {
			t.Errorf("%d attempts under %d claims, want 4 and 4", i.Attempts, i.Fence)
		}
	})
}

func TestStaleResultIsDiscarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 1, newQueue(item("1")), takes(time.Second))
		pass(time.Second / 2)
		announced := len(r.publisher.jobs)
		r.queue.set(func(q *fakeQueue) { q.items["1"].Fence, q.items["1"].epoch = 9, 9 }) // another process has it
		pass(time.Second)
		if len(r.queue.stale) != 1 || len(r.queue.ends) != 0 || len(r.publisher.jobs) != announced {
			t.Errorf("stale %v, ends %v, announced %v", r.queue.stale, r.queue.ends, r.publisher.jobs)
		}
		if !strings.Contains(r.log.String(), "discarded a stale result") {
			t.Error("no reader was notified")
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 1})
	})
}

package work

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/lease"
	"penstock/internal/provider"
	"penstock/internal/signal"
	"penstock/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// takes is a run that succeeds after so long, or ends with its context.
func takes(d time.Duration) func(context.Context, attempt.Task, attempt.Sink) attempt.Outcome {
	return func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
		tried := []penstock.Attempt{{Subject: task.Subject, Target: "a"}}
		select {
		case <-time.After(d):
			_ = sink.Begin("a", provider.Meta{StatusCode: 200})
			_ = sink.Chunk(provider.Chunk{Wire: []byte("Hel")})
			_ = sink.Chunk(provider.Chunk{Wire: []byte("lo")})
			return attempt.Outcome{
				Attempts: tried, Begun: true, Target: "a", StatusCode: 200, PriceVersion: "cfg",
				Usage: penstock.Usage{InputTokens: 1, OutputTokens: 2}, Cost: 3, Forfeit: 4,
			}
		case <-ctx.Done():
			return attempt.Outcome{Attempts: tried, Target: "a", Forfeit: task.Bound, Err: endOf(ctx)}
		}
	}
}

// endOf is what an adapter makes of a context that ended.
func endOf(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &provider.Error{Kind: provider.KindTimeout, Message: "total", Err: ctx.Err()}
	}
	return &provider.Error{Kind: provider.KindCancelled, Message: "cancelled", Err: ctx.Err()}
}

func TestNewNeedsItsBounds(t *testing.T) {
	t.Parallel()
	good := Config{Slots: 1, LeaseTimeout: time.Second, PollInterval: time.Second}
	if _, err := New(good, Deps{Lease: new(lease.Membership), Work: signal.NewTopic[signal.None](nil, signal.Work)}); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for name, edit := range map[string]func(*Config){
		"slots": func(c *Config) { c.Slots = 0 },
		"lease": func(c *Config) { c.LeaseTimeout = 0 }, "poll": func(c *Config) { c.PollInterval = -1 },
	} {
		bad := good
		edit(&bad)
		if _, err := New(bad, Deps{Lease: new(lease.Membership)}); err == nil {
			t.Errorf("%s: %+v was taken", name, bad)
		}
	}
	if _, err := New(good, Deps{}); err == nil {
		t.Error("a pool without a lease was taken")
	}
}

func TestItemSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var task attempt.Task
		r := start(t, 1, newQueue(item("1")), func(ctx context.Context, got attempt.Task, sink attempt.Sink) attempt.Outcome {
			task = got
			return takes(time.Second)(ctx, got, sink)
		})
		pass(2 * time.Second)
		f := r.queue.end(t, "1")
		if f.Transition != penstock.TransitionSucceed || string(f.Result) != "Hello" || f.Counted != 1 || f.Fence != 1 || f.Error != nil {
			t.Errorf("end %+v", f)
		}
		if f.Job != "job-1" || f.Tenant != "search" || f.Target != "a" || f.StatusCode != 200 || f.PriceVersion != "cfg" ||
			f.Cost != 3 || f.Forfeit != 4 || f.Usage.OutputTokens != 2 || len(f.Attempts) != 1 {
			t.Errorf("end %+v lacks what the attempt said", f)
		}
		if task.Subject != "1" || task.Fence != 1 || task.Model != "fast" || !slices.Equal(task.Targets, []string{"a", "b"}) ||
			string(task.Body) != "{}" || task.Bound != 1000 || task.Endpoint != penstock.EndpointChat || task.Stream {
			t.Errorf("task %+v", task)
		}
		if !slices.Contains(r.publisher.jobs, "job-1") {
			t.Errorf("announced %v, want the job", r.publisher.jobs)
		}
	})
}

func TestSlotsAreNeverExceeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 3, newQueue(items(20)...), takes(time.Second))
		pass(8 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 20})
		if r.runner.most != 3 {
			t.Errorf("%d items ran at a time, want 3", r.runner.most)
		}
		synctest.Wait()
		if n := r.slotsInUse(); n > 1 { // the claimer holds one while it looks
			t.Errorf("%d slots are taken while nothing runs", n)
		}
	})
}

func TestClaimsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 3*MaxClaim, newQueue(items(2*MaxClaim+1)...), takes(time.Second))
		synctest.Wait()
		if n := r.queue.count("claim"); n != 3 || len(r.runner.seen()) != 2*MaxClaim+1 {
			t.Errorf("%d items run after %d claims, want all after 3", len(r.runner.seen()), n)
		}
	})
}

// An item gives its slot back when its attempt is over, but no more ends wait to be recorded than there are
// slots: then slots are kept, and nothing is claimed that could not be recorded either.
func TestUnrecordedEndsKeepSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 2
		q := newQueue(items(10)...)
		q.takes["finish"] = 5 * time.Second
		r := start(t, slots, q, takes(time.Second))
		pass(4 * time.Second)
		if got := r.runner.seen(); len(got) != 2*slots {
			t.Errorf("%v ran while no end was recorded, want as many as there are slots and places for ends", got)
		}
		pass(2 * time.Minute)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 10})
	})
}

func TestSignalWakesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 2, newQueue(), takes(time.Hour))
		pass(pollInterval / 4)
		r.queue.add(item("1"))
		r.Work.Notify()
		synctest.Wait()
		if len(r.runner.seen()) != 1 {
			t.Error("the item does not run although the pool was notified")
		}
	})
}

func TestPollingFindsSilentWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 2, newQueue(), takes(time.Hour))
		pass(pollInterval / 4)
		r.queue.add(item("1"))
		pass(pollInterval / 2)
		if len(r.runner.seen()) != 0 {
			t.Error("the item runs before a look")
		}
		pass(pollInterval / 2)
		if len(r.runner.seen()) != 1 {
			t.Error("the item does not run after a poll")
		}
	})
}

// An idle worker costs the store one claim per poll interval and one renewal per third of a lease.
func TestIdlePoolIsCheap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 4, newQueue(), takes(time.Hour))
		pass(30*pollInterval + pollInterval/2)
		if n := r.queue.count("ready"); n != 31 || r.queue.count("claim") != 0 {
			t.Errorf("%d looks and %d claims in 30.5 poll intervals, want 31 looks", n, r.queue.count("claim"))
		}
		if n := r.queue.count("renew"); n != 10 {
			t.Errorf("%d renewals in 30.5s, want 10: one per 3s", n)
		}
		if n := r.queue.count("held"); n != 0 {
			t.Errorf("%d looks for cancelled items while nothing runs", n)
		}
	})
}

func TestClaimErrorsAreTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		q.fails["claim"] = errAway
		r := start(t, 2, q, takes(time.Hour))
		pass(pollInterval / 2)
		if !strings.Contains(r.log.String(), errAway.Error()) {
			t.Errorf("no reader was notified: %s", r.log)
		}
		q.set(func(q *fakeQueue) { delete(q.fails, "claim") })
		pass(pollInterval)
		if len(r.runner.seen()) != 1 {
			t.Error("the item does not run after the error is gone")
		}
	})
}

func TestRunNeedsALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(item("1"))
		q.fails["acquire"] = errAway
		r := newPool(t, 1, q, takes(0))
		go func() { _ = r.member.Run(t.Context()) }()
		if err := r.Run(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("run: %v, want %v", err, errAway)
		}
		if q.count("claim") != 0 {
			t.Error("it claims without a lease")
		}
	})
}

func TestSoftStopLetsItemsFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 2, newQueue(items(5)...), takes(2*time.Second))
		pass(time.Second)
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("stopping took %v, want 1s: as long as the items", took)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 2, penstock.StatusQueued: 3})
		claims := r.queue.count("claim")
		pass(time.Minute)
		if r.queue.count("claim") != claims {
			t.Error("it went on claiming")
		}
	})
}

func TestHardStopGivesItemsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 2, newQueue(items(3)...), takes(time.Hour))
		pass(time.Second)
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		if took := time.Since(began); took != softStop {
			t.Errorf("stopping took %v, want %v", took, softStop)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusQueued: 3})
		f := r.queue.end(t, "000")
		if f.Transition != penstock.TransitionRetry || f.RetryIn != 0 || f.Counted != 0 || f.Error != nil || f.Forfeit != 1000 || len(f.Attempts) != 1 {
			t.Errorf("end %+v; want a retry at once that does not count, with its attempt and money booked", f)
		}
	})
}

// The lease is renewed while items drain, and released only after their ends are recorded.
func TestOrderOfShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPool(t, 1, newQueue(item("1")), takes(time.Hour))
		r.SoftStop = 10 * time.Second
		r.begin()
		pass(time.Second)
		r.queue.set(func(q *fakeQueue) { q.calls = nil; q.takes["finish"] = 3 * time.Second })
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		calls := slices.DeleteFunc(r.queue.calls, func(c string) bool { return c == "held" })
		want := []string{"renew", "renew", "renew", "finish", "renew", "release"}
		if !slices.Equal(calls, want) {
			t.Errorf("calls after the stop are %v, want %v", calls, want)
		}
	})
}

func TestStopWhileIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 1, newQueue(), takes(0))
		synctest.Wait()
		began := time.Now()
		if err := r.stop(); err != nil || time.Since(began) != 0 {
			t.Errorf("stopping took %v, %v", time.Since(began), err)
		}
		if r.queue.count("release") != 1 {
			t.Error("the lease was not released")
		}
	})
}

func TestStopWhileAllSlotsAreTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 1, newQueue(items(2)...), takes(time.Second))
		pass(time.Second / 2)
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1, penstock.StatusQueued: 1})
	})
}

func TestReleaseErrorIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.fails["release"] = errAway
		r := start(t, 1, q, takes(0))
		synctest.Wait()
		if err := r.stop(); !errors.Is(err, errAway) {
			t.Errorf("run: %v, want %v", err, errAway)
		}
	})
}

// A claim that was committed just when the process began to stop must not strand its items.
func TestStopDuringAClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &lateQueue{fakeQueue: newQueue(items(2)...)}
		r := newPool(t, 2, q.fakeQueue, takes(time.Second))
		r.Store = q
		r.begin()
		pass(time.Second)
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 2})
	})
}

// lateQueue commits a claim after its caller's context has ended.
type lateQueue struct{ *fakeQueue }

func (q *lateQueue) ClaimItems(ctx context.Context, l store.Lease, w store.Want) ([]*store.Claimed, error) {
	claimed, err := q.fakeQueue.ClaimItems(context.WithoutCancel(ctx), l, w)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(2 * time.Second):
	}
	return claimed, err
}

// A claim whose answer was lost has taken items that this process does not know.
func TestClaimWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &lossyQueue{fakeQueue: newQueue(item("1")), left: 1}
		r := newPool(t, 2, q.fakeQueue, takes(time.Second))
		r.Store = q
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var maintenance sync.WaitGroup
		maintenance.Go(func() {
			for ctx.Err() == nil {
				q.rescue()
				time.Sleep(time.Second)
			}
		})
		r.begin()
		maintenance.Wait()
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
	})
}

// lossyQueue loses the answers of its first claims.
type lossyQueue struct {
	*fakeQueue
	left int
}

func (q *lossyQueue) ClaimItems(ctx context.Context, l store.Lease, w store.Want) ([]*store.Claimed, error) {
	claimed, err := q.fakeQueue.ClaimItems(ctx, l, w)
	if q.left--; q.left >= 0 {
		return nil, errAway
	}
	return claimed, err
}

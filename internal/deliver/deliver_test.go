package deliver

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
	"penstock/internal/signal"
	"penstock/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tenant = penstock.TenantID("search")
	jobID  = penstock.ID("01JQ0000000000000000000000")
)

// jobStore holds one job and its events.
type jobStore struct {
	mu       sync.Mutex
	job      penstock.Job
	events   []penstock.Event
	reads    int    // of the job
	pages    int    // of events
	afterJob func() // happens right after the next read of the job
	afterRow func() // happens right after the next read of events
	err      error
}

func newStore() *jobStore {
	s := &jobStore{job: penstock.Job{ID: jobID}}
	s.add(penstock.EventJobQueued)
	return s
}

func (s *jobStore) Job(ctx context.Context, who penstock.TenantID, id penstock.ID) (penstock.Job, error) {
	s.mu.Lock()
	s.reads++
	job, then, err := s.job, s.afterJob, s.err
	s.afterJob = nil
	s.mu.Unlock()
	if then != nil {
		then()
	}
	if who != tenant || id != jobID {
		return penstock.Job{}, penstock.Errorf(penstock.CodeNotFound, "No such job.")
	}
	return job, errors.Join(err, ctx.Err())
}

func (s *jobStore) Events(ctx context.Context, who penstock.TenantID, p store.EventPage) ([]penstock.Event, error) {
	s.mu.Lock()
	s.pages++
	var page []penstock.Event
	for _, e := range s.events {
		if e.Seq > p.After && len(page) < p.Limit {
			page = append(page, e)
		}
	}
	then, err := s.afterRow, s.err
	s.afterRow = nil
	s.mu.Unlock()
	if then != nil {
		then()
	}
	if who != tenant || p.Job != jobID {
		return nil, penstock.Errorf(penstock.CodeNotFound, "No such job.")
	}
	return page, errors.Join(err, ctx.Err())
}

// add appends events to the log; job.finished finishes the job.
func (s *jobStore) add(types ...penstock.EventType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, typ := range types {
		s.job.Seq++
		s.events = append(s.events, penstock.Event{Job: jobID, Seq: s.job.Seq, Type: typ})
		if typ == penstock.EventJobFinished {
			s.job.FinishedAt = time.Now()
		}
	}
}

func (s *jobStore) count() (reads, pages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads, s.pages
}

// wait calls Wait and reports how long it took.
func wait(t *testing.T, r *Reader, d time.Duration) (penstock.Job, time.Duration) {
	t.Helper()
	began := time.Now()
	job, err := r.Wait(t.Context(), tenant, jobID, Until{Timeout: d})
	if err != nil {
		t.Errorf("wait: %v", err)
	}
	return job, time.Since(began)
}

func noReaders(t *testing.T, changes *signal.Topic[penstock.ID]) {
	t.Helper()
	if n := changes.Subscribers(); n != 0 {
		t.Errorf("%d readers are still subscribed", n)
	}
}

func newTopic() *signal.Topic[penstock.ID] { return signal.NewTopic[penstock.ID](nil, signal.Jobs) }

func TestWaitReturnsAFinishedJobAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		s.add(penstock.EventJobFinished)
		if job, took := wait(t, NewReader(s, changes), time.Minute); job.FinishedAt.IsZero() || took != 0 {
			t.Errorf("finished %v after %v, want at once", !job.FinishedAt.IsZero(), took)
		}
		noReaders(t, changes)
	})
}

// A reader who waits for a change gets the next one, a finished job at once, and the job as it is when nothing changes.
func TestWaitUntilTheNextChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		r := NewReader(s, changes)
		awaitSeq := func(above int64) (penstock.Job, time.Duration) {
			began := time.Now()
			job, err := r.Wait(t.Context(), tenant, jobID, Until{Timeout: 10 * time.Second, Reached: func(j penstock.Job) bool { return j.Seq > above }})
			if err != nil {
				t.Error(err)
			}
			return job, time.Since(began)
		}
		if job, took := awaitSeq(0); job.Seq != 1 || took != 0 {
			t.Errorf("a change that was there took %v", took)
		}
		if job, took := awaitSeq(1); job.Seq != 1 || took != 10*time.Second {
			t.Errorf("without a change it took %v", took)
		}
		go func() {
			time.Sleep(300 * time.Millisecond)
			s.add(penstock.EventJobStarted)
			changes.Publish(jobID)
		}()
		if job, took := awaitSeq(1); job.Seq != 2 || took != 300*time.Millisecond {
			t.Errorf("a change was seen after %v", took)
		}
		s.add(penstock.EventJobFinished)
		if _, took := awaitSeq(3); took != 0 {
			t.Errorf("a finished job was waited for %v", took)
		}
		noReaders(t, changes)
	})
}

func TestAnnouncementWakesWaitersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		r := NewReader(s, changes)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if job, took := wait(t, r, time.Minute); job.FinishedAt.IsZero() || took != 300*time.Millisecond {
					t.Errorf("finished %v after %v, want 300ms", !job.FinishedAt.IsZero(), took)
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		s.add(penstock.EventJobFinished)
		changes.Publish("another", jobID)
		wg.Wait()
		noReaders(t, changes)
	})
}

func TestAnnouncementOfAnotherJobWakesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		go wait(t, NewReader(s, changes), PollInterval/2)
		synctest.Wait()
		changes.Publish("another")
		changes.Publish()
		synctest.Wait()
		if reads, _ := s.count(); reads != 1 {
			t.Errorf("the job was read %d times, want once", reads)
		}
		time.Sleep(PollInterval)
	})
}

func TestAnnouncingToNobodyIsHarmless(t *testing.T) {
	t.Parallel()
	changes := newTopic()
	changes.Publish(jobID)
	noReaders(t, changes)
}

// Another process finishes the job: nobody announces it here.
func TestPollingFindsSilentChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		time.AfterFunc(1500*time.Millisecond, func() { s.add(penstock.EventJobFinished) })
		if job, took := wait(t, NewReader(s, newTopic()), time.Minute); job.FinishedAt.IsZero() || took != 2*PollInterval {
			t.Errorf("finished %v after %v, want %v", !job.FinishedAt.IsZero(), took, 2*PollInterval)
		}
		if reads, _ := s.count(); reads != 3 {
			t.Errorf("the job was read %d times in 2s, want 3", reads)
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, -time.Second, 300 * time.Millisecond, 2500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s, changes := newStore(), newTopic()
			if job, took := wait(t, NewReader(s, changes), d); job.ID != jobID || !job.FinishedAt.IsZero() || took != max(d, 0) {
				t.Errorf("%v: got %+v after %v, want the unfinished job after it", d, job, took)
			}
			noReaders(t, changes)
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := newTopic()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		job, err := NewReader(newStore(), changes).Wait(ctx, tenant, jobID, Until{Timeout: time.Minute})
		if took := time.Since(began); err != nil || job.ID != jobID || took != 300*time.Millisecond {
			t.Errorf("got %+v, %v after %v; want the job as it is, after 300ms", job, err, took)
		}
		noReaders(t, changes)
	})
}

// What happens between a read and the sleep that follows it must not be slept through.
func TestWaitMissesNoChangeAfterItsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		s.afterJob = func() {
			s.add(penstock.EventJobFinished)
			changes.Publish(jobID)
		}
		if job, took := wait(t, NewReader(s, changes), time.Minute); job.FinishedAt.IsZero() || took != 0 {
			t.Errorf("finished %v after %v, want at once", !job.FinishedAt.IsZero(), took)
		}
	})
}

func TestWaitReturnsErrorsOfTheStore(t *testing.T) {
	t.Parallel()
	changes := newTopic()
	_, err := NewReader(newStore(), changes).Wait(t.Context(), "other", jobID, Until{Timeout: time.Minute})
	if penstock.ErrorCode(err) != penstock.CodeNotFound {
		t.Errorf("another tenant got %v, want not_found", err)
	}
	noReaders(t, changes)
}

// followed is what a reader of events saw.
type followed struct {
	seqs []int64
	at   []time.Duration
	err  error
}

func eventsAfter(after int64) store.EventPage { return store.EventPage{Job: jobID, After: after} }

// follow reads events above after until they end.
func follow(ctx context.Context, r *Reader, after int64) followed {
	var f followed
	began := time.Now()
	for e, err := range r.Follow(ctx, tenant, store.EventPage{Job: jobID, After: after}) {
		if err != nil {
			f.err = err
			continue
		}
		f.seqs = append(f.seqs, e.Seq)
		f.at = append(f.at, time.Since(began))
	}
	return f
}

func TestFollowYieldsEventsAsTheyHappen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		time.AfterFunc(100*time.Millisecond, func() { s.add(penstock.EventJobStarted); changes.Publish(jobID) })
		time.AfterFunc(1300*time.Millisecond, func() { s.add(penstock.EventItemSucceeded) }) // silent
		time.AfterFunc(2100*time.Millisecond, func() { s.add(penstock.EventJobFinished); changes.Publish(jobID) })
		f := follow(t.Context(), NewReader(s, changes), 0)
		want := []time.Duration{0, 100 * time.Millisecond, 2 * time.Second, 2100 * time.Millisecond}
		if !slices.Equal(f.seqs, []int64{1, 2, 3, 4}) || !slices.Equal(f.at, want) || f.err != nil {
			t.Errorf("saw %v at %v, %v; want 1 to 4 at %v", f.seqs, f.at, f.err, want)
		}
		noReaders(t, changes)
	})
}

func TestFollowResumes(t *testing.T) {
	t.Parallel()
	for after, want := range map[int64][]int64{0: {1, 2, 3, 4}, 2: {3, 4}, 3: {4}, 4: nil, 9: nil} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore()
			s.add(penstock.EventJobStarted, penstock.EventItemFailed, penstock.EventJobFinished)
			began := time.Now()
			f := follow(t.Context(), NewReader(s, newTopic()), after)
			if !slices.Equal(f.seqs, want) || f.err != nil || time.Since(began) != 0 {
				t.Errorf("after %d: saw %v, %v in %v; want %v at once", after, f.seqs, f.err, time.Since(began), want)
			}
		})
	}
}

func TestFollowReadsLongLogsPageByPage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{pageEvents - 1, pageEvents, pageEvents + 1, 3 * pageEvents} {
		synctest.Test(t, func(t *testing.T) {
			s := &jobStore{job: penstock.Job{ID: jobID}}
			for range n - 1 {
				s.add(penstock.EventItemSucceeded)
			}
			s.add(penstock.EventJobFinished)
			f := follow(t.Context(), NewReader(s, newTopic()), 0)
			if len(f.seqs) != n || !slices.IsSorted(f.seqs) || f.seqs[n-1] != int64(n) || f.at[n-1] != 0 || f.err != nil {
				t.Errorf("%d events: saw %d, the last at %v, %v", n, len(f.seqs), f.at, f.err)
			}
			if _, pages := s.count(); pages != (n+pageEvents-1)/pageEvents {
				t.Errorf("%d events took %d pages", n, pages)
			}
		})
	}
}

func TestFollowMissesNoChangeAfterItsRead(t *testing.T) {
	t.Parallel()
	for name, arm := range map[string]func(*jobStore, func()){
		"after the events": func(s *jobStore, then func()) { s.afterRow = then },
		"after the job":    func(s *jobStore, then func()) { s.afterJob = then },
	} {
		synctest.Test(t, func(t *testing.T) {
			s, changes := newStore(), newTopic()
			arm(s, func() { s.add(penstock.EventJobFinished); changes.Publish(jobID) })
			f := follow(t.Context(), NewReader(s, changes), 1)
			if !slices.Equal(f.seqs, []int64{2}) || f.at[0] != 0 {
				t.Errorf("%s: saw %v at %v, want the second at once", name, f.seqs, f.at)
			}
		})
	}
}

func TestFollowEndsWithItsReader(t *testing.T) {
	t.Parallel()
	s, changes := newStore(), newTopic()
	s.add(penstock.EventJobStarted)
	for range NewReader(s, changes).Follow(t.Context(), tenant, store.EventPage{Job: jobID}) {
		break
	}
	noReaders(t, changes)
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := newTopic()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		f := follow(ctx, NewReader(newStore(), changes), 0)
		if took := time.Since(began); took != 300*time.Millisecond || f.err != nil || len(f.seqs) != 1 {
			t.Errorf("saw %v, %v in %v; want one event and a quiet end after 300ms", f.seqs, f.err, took)
		}
		noReaders(t, changes)
	})
}

func TestFollowPassesErrorsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		broken := errors.New("disk is gone")
		time.AfterFunc(100*time.Millisecond, func() {
			s.mu.Lock()
			s.err = broken
			s.mu.Unlock()
			changes.Publish(jobID)
		})
		f := follow(t.Context(), NewReader(s, changes), 0)
		if !errors.Is(f.err, broken) || !slices.Equal(f.seqs, []int64{1}) {
			t.Errorf("saw %v, %v; want event 1 and then the error", f.seqs, f.err)
		}
		noReaders(t, changes)
	})
	for _, err := range NewReader(newStore(), newTopic()).Follow(t.Context(), "other", store.EventPage{Job: jobID}) {
		if penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("another tenant got %v, want not_found", err)
		}
	}
}

// A caller who leaves while the store is being read is no error.
func TestEndOfTheContextDuringAReadIsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, func() {
			s.mu.Lock()
			s.afterRow = cancel
			s.mu.Unlock()
		})
		if f := follow(ctx, NewReader(s, changes), 0); f.err != nil {
			t.Errorf("follow ended with %v", f.err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, func() {
			s.mu.Lock()
			s.afterJob = cancel
			s.mu.Unlock()
		})
		if job, err := NewReader(s, changes).Wait(ctx, tenant, jobID, Until{Timeout: time.Minute}); err != nil || job.ID != jobID {
			t.Errorf("wait returned %+v, %v", job, err)
		}
	})
}

// The state at the end of a wait is that of its end, not that of the poll before it.
func TestWaitLooksOnceMoreAtItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		time.AfterFunc(300*time.Millisecond, func() { s.add(penstock.EventJobFinished) })
		if job, _ := wait(t, NewReader(s, newTopic()), 500*time.Millisecond); job.FinishedAt.IsZero() {
			t.Error("the job finished 200ms before the wait was over, but is returned as unfinished")
		}
	})
}

// Announcing does not wait for readers, however many and slow they are.
func TestAnnouncingNeverBlocks(t *testing.T) {
	t.Parallel()
	changes := newTopic()
	for range 100 {
		stop := changes.Subscribe(jobID).Close
		defer stop()
	}
	for range 10 {
		changes.Publish(jobID)
	}
}

func TestReadersAreSafeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, changes := newStore(), newTopic()
		r := NewReader(s, changes)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { wait(t, r, time.Minute) })
			wg.Go(func() { follow(t.Context(), r, 0) })
			wg.Go(func() { changes.Publish(jobID) })
		}
		time.Sleep(time.Millisecond)
		s.add(penstock.EventJobFinished)
		changes.Publish(jobID)
		wg.Wait()
		noReaders(t, changes)
	})
}

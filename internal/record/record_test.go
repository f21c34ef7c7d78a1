package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errAway = errors.New("the database is away")

// requestStore keeps what is recorded. It can be away, slow, or do something during a write.
type requestStore struct {
	mu     sync.Mutex
	away   bool
	during func() // happens while the next group is written
	slow   time.Duration
	poison penstock.ID // no group that holds it is taken
	groups []group
	kept   []penstock.Request
}

type group struct {
	at   time.Duration // since the beginning of the test
	size int
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when every synctest bubble begins

func (s *requestStore) RecordRequests(ctx context.Context, rs []penstock.Request) error {
	s.mu.Lock()
	s.groups = append(s.groups, group{time.Since(epoch), len(rs)})
	during, away, slow, poison := s.during, s.away, s.slow, s.poison
	s.during = nil
	s.mu.Unlock()
	if during != nil {
		during()
	}
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
		}
	}
	if away || slices.ContainsFunc(rs, func(r penstock.Request) bool { return r.ID == poison }) {
		return errAway
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, rs...)
	return nil
}

func (s *requestStore) Request(_ context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.kept {
		if r.ID == id && r.Tenant == tenant {
			return r, nil
		}
	}
	return penstock.Request{}, penstock.Errorf(penstock.CodeNotFound, "No such request.")
}

func (s *requestStore) set(edit func(*requestStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit(s)
}

func (s *requestStore) names() []penstock.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []penstock.ID
	for _, r := range s.kept {
		ids = append(ids, r.ID)
	}
	return ids
}

// rig is a recorder that runs.
type rig struct {
	*Recorder
	t     *testing.T
	store *requestStore
	log   *bytes.Buffer
	stop  func() error // ends Run and returns its error
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, store: &requestStore{}, log: &bytes.Buffer{}}
	r.Recorder = New(Deps{Store: r.store, Log: slog.New(slog.NewTextHandler(r.log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// record takes a place and hands over a record under each id.
func (r *rig) record(ids ...penstock.ID) {
	r.t.Helper()
	for _, id := range ids {
		if err := r.Place(); err != nil {
			r.t.Error(err)
		}
		r.Add(penstock.Request{ID: id, Tenant: "search"})
	}
}

func (r *rig) taken() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.places
}

// pass lets time pass and everything that happens in it come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantKept checks what is on stable storage, and that everything else gave its place back.
func (r *rig) wantKept(places int, ids ...penstock.ID) {
	r.t.Helper()
	if got := r.store.names(); !slices.Equal(got, ids) {
		r.t.Errorf("stored %v, want %v", got, ids)
	}
	if got := r.taken(); got != places {
		r.t.Errorf("%d places are taken, want %d", got, places)
	}
}

func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	r := New(Deps{Store: &requestStore{}, Log: slog.New(slog.DiscardHandler)})
	for i := range MaxPlaces {
		if err := r.Place(); err != nil {
			t.Fatalf("place %d: %v", i+1, err)
		}
	}
	if err := penstock.AsError(r.Place()); err.Code != penstock.CodeOverloaded || err.RetryAfter <= 0 {
		t.Errorf("one place too many: %+v, want overloaded with a time to retry", err)
	}
	r.Leave()
	if err := r.Place(); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

func TestRecordsAreWrittenAndPlacesGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.record("1")
		synctest.Wait()
		r.wantKept(0, "1")
	})
}

func TestRecordsGatherForAnInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.record("1")
		synctest.Wait()
		r.record("2")
		pass(Interval / 2)
		r.record("3")
		pass(Interval)
		r.wantKept(0, "1", "2", "3")
		want := []group{{0, 1}, {Interval, 2}}
		if !slices.Equal(r.store.groups, want) {
			t.Errorf("groups %v, want %v", r.store.groups, want)
		}
		pass(time.Minute)
		if len(r.store.groups) != len(want) {
			t.Errorf("an idle recorder wrote %d more groups", len(r.store.groups)-len(want))
		}
	})
}

func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var ids []penstock.ID
		for i := range 2*MaxGroup + 1 {
			ids = append(ids, penstock.ID(fmt.Sprint(i)))
		}
		r.record(ids...)
		pass(2 * Interval)
		r.wantKept(0, ids...)
		for _, g := range r.store.groups {
			if g.size > MaxGroup {
				t.Errorf("a group of %d was written, %d are the most", g.size, MaxGroup)
			}
		}
	})
}

func TestStoreFailureKeepsRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(func(s *requestStore) { s.away = true })
		r.record("1")
		pass(5 * retryInterval / 2)
		r.wantKept(1)
		if n := len(r.store.groups); n != 3 {
			t.Errorf("it was tried %d times in 2.5 retry intervals, want 3", n)
		}
		if !strings.Contains(r.log.String(), errAway.Error()) {
			t.Errorf("nobody is told: %q", r.log)
		}
		r.store.set(func(s *requestStore) { s.away = false })
		pass(retryInterval)
		r.wantKept(0, "1")
	})
}

func TestRecordsThatArriveDuringAFailedWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(func(s *requestStore) { s.away, s.during = true, func() { r.record("2") } })
		r.record("1")
		synctest.Wait()
		r.store.set(func(s *requestStore) { s.away = false })
		pass(2 * retryInterval)
		r.wantKept(0, "1", "2")
	})
}

func TestRecordsThatArriveDuringAWriteAreWrittenNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(func(s *requestStore) { s.during = func() { r.record("2", "3") } })
		r.record("1")
		pass(2 * Interval)
		r.wantKept(0, "1", "2", "3")
	})
}

func TestOneRefusedRecordKeepsNoOtherFromBeingWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(func(s *requestStore) { s.poison = "2" })
		r.record("1", "2", "3")
		pass(time.Minute)
		if got := r.store.names(); !slices.Equal(got, []penstock.ID{"1", "3"}) {
			t.Errorf("stored %v, want 1 and 3", got)
		}
	})
}

func TestSlowWritesAreGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(func(s *requestStore) { s.slow = time.Hour })
		r.record("1")
		pass(15 * time.Second)
		r.store.set(func(s *requestStore) { s.slow = 0 })
		pass(15 * time.Second)
		r.wantKept(0, "1")
	})
}

func TestShutdownWritesWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.record("1")
		synctest.Wait()
		r.record("2", "3") // these wait for the interval
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		r.wantKept(0, "1", "2", "3")
		if took := time.Since(began); took != 0 {
			t.Errorf("shutdown took %v", took)
		}
	})
}

func TestShutdownDuringAWriteLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(func(s *requestStore) { s.slow = time.Second })
		r.record("1")
		synctest.Wait() // the write is under way
		r.store.set(func(s *requestStore) { s.slow = 0 })
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		r.wantKept(0, "1")
	})
}

func TestShutdownReportsWhatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(func(s *requestStore) { s.away = true })
		r.record("1")
		synctest.Wait()
		if err := r.stop(); !errors.Is(err, errAway) {
			t.Errorf("run returned %v, want the reason why a record is lost", err)
		}
	})
}

func TestShutdownIsQuiet(t *testing.T) {
	t.Parallel()
	for range 20 { // select chooses at random
		synctest.Test(t, func(t *testing.T) {
			r := start(t)
			r.store.set(func(s *requestStore) { s.slow = time.Second })
			r.record("1")
			synctest.Wait()
			if err := r.stop(); err != nil || r.log.Len() > 0 {
				t.Errorf("run: %v, log %q", err, r.log)
			}
		})
	}
}

func TestRequestFindsPendingAndWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.record("written")
		synctest.Wait()
		r.record("pending")
		for _, id := range []penstock.ID{"written", "pending"} {
			if got, err := r.Request(t.Context(), "search", id); err != nil || got.ID != id {
				t.Errorf("%s: got %+v, %v", id, got, err)
			}
			if _, err := r.Request(t.Context(), "other", id); penstock.ErrorCode(err) != penstock.CodeNotFound {
				t.Errorf("%s: another tenant got %v, want not_found", id, err)
			}
		}
		if _, err := r.Request(t.Context(), "search", "unknown"); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("an unknown request: %v, want not_found", err)
		}
	})
}

// A record can be found at every moment from Add on: before, during and after its write.
func TestRequestFindsARecordThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		found := make(chan error, 1)
		r.store.set(func(s *requestStore) {
			s.during = func() {
				_, err := r.Request(t.Context(), "search", "1")
				found <- err
			}
		})
		r.record("1")
		if err := <-found; err != nil {
			t.Errorf("during its write: %v", err)
		}
	})
}

func TestRecorderIsSafeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		const callers, each = 8, 300
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := range each {
					id := penstock.ID(fmt.Sprintf("%d-%d", c, i))
					r.record(id)
					if _, err := r.Request(t.Context(), "search", id); err != nil {
						t.Errorf("%s: %v", id, err)
					}
					if i%50 == 0 {
						time.Sleep(Interval / 3)
					}
				}
			})
		}
		wg.Wait()
		if err := r.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		ids := slices.Sorted(slices.Values(r.store.names()))
		if n := len(slices.Compact(ids)); n != callers*each || len(r.store.kept) != n || r.taken() != 0 {
			t.Errorf("%d stored, %d of them different, %d places taken; want %d and none", len(r.store.kept), n, r.taken(), callers*each)
		}
	})
}

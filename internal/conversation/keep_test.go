package conversation

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
)

// slowStore takes a second for each transaction, and fails as told.
type slowStore struct {
	Responses
	mu     sync.Mutex
	groups []int
	fail   error
}

func (s *slowStore) SaveTurns(_ context.Context, turns []Turn) error {
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = append(s.groups, len(turns))
	return s.fail
}

func start(t *testing.T, store *slowStore) (s *Service, stop func()) {
	t.Helper()
	s = New(Deps{Responses: store, Log: slog.New(slog.DiscardHandler), Clock: time.Now})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	return s, func() { cancel(); running.Wait() }
}

// Turns that end while one is written share the next transaction; the first does not wait for others.
func TestTurnsShareATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{}
		s, stop := start(t, store)
		began := time.Now()
		var wait sync.WaitGroup
		keep := func() {
			if err := s.Keep(context.Background(), Turn{Kept: true}); err != nil {
				t.Error(err)
			}
		}
		wait.Go(keep)
		synctest.Wait()
		for range 50 {
			wait.Go(keep)
		}
		wait.Wait()
		stop()
		if took := time.Since(began); len(store.groups) != 2 || store.groups[1] != 50 || took > 3*time.Second {
			t.Errorf("groups of %v in %v", store.groups, took)
		}
	})
}

// What waits is bounded, and a process that stops writes what it accepted and nothing more.
func TestPendingTurnsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{}
		s, stop := start(t, store)
		large := Turn{Input: make([]byte, maxPendingBytes/2+1)}
		var wait sync.WaitGroup
		for range 2 { // one is being written, one waits
			wait.Go(func() {
				if err := s.Keep(context.Background(), large); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if err := s.Keep(context.Background(), large); penstock.ErrorCode(err) != penstock.CodeOverloaded {
			t.Errorf("beyond the bound: %v", err)
		}
		stop()
		wait.Wait()
		if len(store.groups) != 2 {
			t.Errorf("wrote %v", store.groups)
		}
		if err := s.Keep(context.Background(), Turn{}); penstock.ErrorCode(err) != penstock.CodeOverloaded {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A caller who leaves, or a store that fails, ends the wait and not the service.
func TestKeepEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{fail: penstock.Internal(errors.New("disk"))}
		s, stop := start(t, store)
		defer stop()
		if err := s.Keep(context.Background(), Turn{}); penstock.ErrorCode(err) != penstock.CodeInternal {
			t.Errorf("a store that fails: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := s.Keep(ctx, Turn{}); penstock.ErrorCode(err) != penstock.CodeOverloaded {
			t.Errorf("a store that is slow: %v", err)
		}
	})
}

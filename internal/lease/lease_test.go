package lease

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

const timeout = 9 * time.Second

var errAway = errors.New("the database is away")

// table is the lease table of a database. Single methods can be made to fail or to hang.
type table struct {
	mu      sync.Mutex
	epoch   int64
	fails   map[string]error
	hangs   map[string]bool
	calls   []string
	renewal store.Renewal // the last one
}

func (s *table) called(ctx context.Context, method string) error {
	s.mu.Lock()
	s.calls = append(s.calls, method)
	err, hangs := s.fails[method], s.hangs[method]
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (s *table) AcquireLease(ctx context.Context, process string, _ time.Duration) (store.Lease, error) {
	if err := s.called(ctx, "acquire"); err != nil {
		return store.Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	return store.Lease{Process: process, Epoch: s.epoch}, nil
}

func (s *table) RenewLease(ctx context.Context, l store.Lease, r store.Renewal) error {
	if err := s.called(ctx, "renew"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewal = r
	if l.Epoch != s.epoch {
		return penstock.Errorf(penstock.CodeConflict, "The lease is gone.")
	}
	return nil
}

func (s *table) ReleaseLease(ctx context.Context, _ store.Lease) error {
	return s.called(ctx, "release")
}

func (s *table) set(edit func(*table)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit(s)
}

func (s *table) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c == method {
			n++
		}
	}
	return n
}

// member is a membership under test.
type member struct {
	*Membership
	table  *table
	losses int
	stop   func() error
}

func newMember(t *testing.T) *member {
	t.Helper()
	m := &member{table: &table{fails: map[string]error{}, hangs: map[string]bool{}}}
	var err error
	m.Membership, err = New(Config{Process: "worker", Timeout: timeout}, Deps{
		Store: m.table, Metrics: telemetry.NewMetrics("test", ""), Log: slog.New(slog.NewTextHandler(new(bytes.Buffer), nil)), Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.OnLoss(func() {
		m.losses++
		if m.Held() {
			t.Error("the lease is held while its loss is reported")
		}
	})
	return m
}

// run keeps the lease until stop, or the end of the test.
func (m *member) run(t *testing.T) *member {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	m.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = m.stop() })
	return m
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{Process: "p"}, {Timeout: time.Second}} {
		if _, err := New(cfg, Deps{}); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

func TestLeaseIsRenewedAndReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		if m.Held() || m.Current() != (store.Lease{}) {
			t.Error("a lease is held before it is acquired")
		}
		m.run(t)
		pass(30*time.Second + time.Millisecond)
		if l := m.Current(); !m.Held() || l != (store.Lease{Process: "worker", Epoch: 1}) || m.table.count("renew") != 10 {
			t.Errorf("lease %+v, held %v, %d renewals; want 10, one per 3s", l, m.Held(), m.table.count("renew"))
		}
		if err := m.stop(); err != nil || m.Held() {
			t.Errorf("stopped with %v, held %v", err, m.Held())
		}
		if calls := m.table.calls; calls[len(calls)-1] != "release" || m.losses != 0 {
			t.Errorf("calls %v, %d losses", calls, m.losses)
		}
	})
}

func TestLostLeaseIsReportedAndAcquiredAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t).run(t)
		pass(time.Second)
		m.table.set(func(s *table) { s.epoch++ }) // another process with the same name
		pass(3 * time.Second)
		if l := m.Current(); l.Epoch != 3 || m.losses != 1 || !m.Held() {
			t.Errorf("epoch %d, %d losses, held %v", l.Epoch, m.losses, m.Held())
		}
	})
}

func TestFailedRenewalsAreSurvivedForOneTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t).run(t)
		pass(time.Second)
		m.table.set(func(s *table) { s.fails["renew"] = errAway })
		pass(timeout - 2*time.Second)
		if !m.Held() || m.losses != 0 {
			t.Fatalf("the lease was given up before its timeout: held %v, %d losses", m.Held(), m.losses)
		}
		m.table.set(func(s *table) { delete(s.fails, "renew") })
		pass(time.Minute)
		if n := m.table.count("acquire"); n != 1 || m.losses != 0 {
			t.Errorf("acquired %d times, %d losses", n, m.losses)
		}
	})
}

// A lease that cannot be renewed counts as lost when it must have expired, and is not held until the database is back.
func TestLeaseThatCannotBeRenewedIsLost(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*table){
		"fails": func(s *table) { s.fails["renew"], s.fails["acquire"] = errAway, errAway },
		"hangs": func(s *table) { s.hangs["renew"], s.hangs["acquire"] = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMember(t).run(t)
				pass(time.Second)
				m.table.set(away)
				pass(2 * timeout)
				if m.Held() || m.losses != 1 {
					t.Errorf("held %v, %d losses", m.Held(), m.losses)
				}
				m.table.set(func(s *table) { clear(s.fails); clear(s.hangs) })
				pass(2 * timeout)
				if l := m.Current(); !m.Held() || l.Epoch != 2 || m.losses != 1 {
					t.Errorf("epoch %d, held %v, %d losses", l.Epoch, m.Held(), m.losses)
				}
			})
		})
	}
}

// A start waits for a slow database longer than a lease lasts, but not for ever.
func TestStartWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		m.table.fails["acquire"] = errAway
		m.run(t)
		pass(2 * timeout)
		m.table.set(func(s *table) { clear(s.fails) })
		if err := m.Wait(t.Context()); err != nil || !m.Held() {
			t.Errorf("waited: %v, held %v", err, m.Held())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		m.table.fails["acquire"] = errAway
		began := time.Now()
		m.run(t)
		if err := m.Wait(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("waited: %v", err)
		}
		if took := time.Since(began); took < startTimeout || took > startTimeout+timeout {
			t.Errorf("gave up after %v", took)
		}
		if err := m.stop(); !errors.Is(err, errAway) || m.table.count("release") != 0 {
			t.Errorf("stopped with %v, released %d times", err, m.table.count("release"))
		}
	})
}

// A process that stops while it waits for its lease has nothing to release, and nothing went wrong.
func TestStopBeforeTheLeaseIsAcquired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		m.table.fails["acquire"] = errAway
		m.run(t)
		pass(time.Second)
		if err := m.stop(); err != nil || slices.Contains(m.table.calls, "release") {
			t.Errorf("stopped with %v after %v", err, m.table.calls)
		}
	})
}

func TestReleaseErrorIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		m.table.fails["release"] = errAway
		m.run(t)
		pass(time.Second)
		if err := m.stop(); !errors.Is(err, errAway) {
			t.Errorf("stopped with %v", err)
		}
	})
}

func TestHeartbeatCarriesTheReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		m.Report = func() store.Renewal {
			return store.Renewal{Calls: map[string]int{"a": 3}, State: store.ProcessState{Works: true, Blocked: map[string]penstock.Reason{"b": penstock.WaitingOnProvider}}}
		}
		m.run(t)
		pass(timeout)
		m.table.mu.Lock()
		defer m.table.mu.Unlock()
		r := m.table.renewal
		if !maps.Equal(r.Calls, map[string]int{"a": 3}) || !r.State.Works || r.State.Blocked["b"] != penstock.WaitingOnProvider || r.TTL != timeout {
			t.Errorf("the heartbeat reports %+v", r)
		}
	})
}

package queue

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sweeper is a store whose housekeeping is scripted: each call takes the next step of its kind, and
// there is nothing to do when there is none left.
type sweeper struct {
	store.Queue
	mu     sync.Mutex
	rescue []scripted
	expire []scripted
	cancel []scripted
	rounds []time.Time // when each round began
}

type scripted struct {
	step store.Step
	err  error
}

func (s *sweeper) next(script *[]scripted, limit int) (store.Step, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit != StepItems {
		return store.Step{}, errors.New("a step has another bound")
	}
	if len(*script) == 0 {
		return store.Step{}, nil
	}
	first := (*script)[0]
	*script = (*script)[1:]
	return first.step, first.err
}

func (s *sweeper) RescueItems(ctx context.Context, limit int) (store.Step, error) {
	s.mu.Lock()
	s.rounds = append(s.rounds, time.Now())
	s.mu.Unlock()
	return s.next(&s.rescue, limit)
}

func (s *sweeper) ExpireItems(_ context.Context, limit int) (store.Step, error) {
	return s.next(&s.expire, limit)
}

func (s *sweeper) CancelItems(_ context.Context, limit int) (store.Step, error) {
	return s.next(&s.cancel, limit)
}

// roundsSince returns how long after a moment each round began.
func (s *sweeper) roundsSince(moment time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []time.Duration
	for _, r := range s.rounds {
		list = append(list, r.Sub(moment))
	}
	return list
}

// publisher remembers which jobs were announced.
type publisher struct {
	mu   sync.Mutex
	jobs []penstock.ID
}

func (c *publisher) Publish(jobs ...penstock.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs = append(c.jobs, jobs...)
}

type keeperRig struct {
	*Maintainer
	heard     <-chan struct{}
	store     *sweeper
	publisher *publisher
	log       *bytes.Buffer
}

// noHolds is budgets that no dead process drew on.
type noHolds struct{ store.Budgets }

func (noHolds) ForfeitBudgets(context.Context, int) (store.Step, error) { return store.Step{}, nil }

const interval = 10 * time.Second

func newKeeper(t *testing.T, s *sweeper) keeperRig {
	t.Helper()
	rig := keeperRig{store: s, publisher: &publisher{}, log: &bytes.Buffer{}}
	k, err := NewMaintainer(MaintainerDeps{
		Store: s, Budgets: noHolds{}, Work: signal.NewTopic[signal.None](nil, signal.Work), Jobs: rig.publisher, Metrics: telemetry.NewMetrics("test", ""),
		Log: slog.New(slog.NewTextHandler(rig.log, nil)), Interval: interval,
	})
	if err != nil {
		t.Fatal(err)
	}
	rig.Maintainer, rig.heard = k, k.Work.SubscribeAll().C
	return rig
}

// runFor keeps house for so long and then waits until Run has returned.
func (k keeperRig) runFor(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := k.Run(ctx); err != nil {
		t.Errorf("run: %v", err)
	}
}

func (k keeperRig) rung() bool {
	select {
	case <-k.heard:
		return true
	default:
		return false
	}
}

func TestKeeperNeedsAnInterval(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, -time.Second} {
		if _, err := NewMaintainer(MaintainerDeps{Interval: d}); err == nil {
			t.Errorf("an interval of %v was taken", d)
		}
	}
}

func TestKeeperLooksAtOnceAndThenEveryInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, &sweeper{})
		began := time.Now()
		k.runFor(t, 25*time.Second)
		if got, want := k.store.roundsSince(began), []time.Duration{0, interval, 2 * interval}; !slices.Equal(got, want) {
			t.Errorf("rounds at %v, want %v", got, want)
		}
		if k.log.Len() > 0 || k.rung() {
			t.Errorf("nothing happened, but it rang or logged: %s", k.log)
		}
	})
}

func TestKeeperGoesOnWhileThereIsMore(t *testing.T) {
	t.Parallel()
	more := scripted{step: store.Step{Items: StepItems, More: true}}
	for name, s := range map[string]*sweeper{
		"rescue": {rescue: []scripted{more, more}}, "expire": {expire: []scripted{more, more}}, "cancel": {cancel: []scripted{more, more}},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper(t, s)
			began := time.Now()
			k.runFor(t, 15*time.Second)
			if got, want := s.roundsSince(began), []time.Duration{0, 0, 0, interval}; !slices.Equal(got, want) {
				t.Errorf("%s: rounds at %v, want %v", name, got, want)
			}
		})
	}
}

func TestKeeperRingsForWhatIsQueuedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		s    *sweeper
		want bool
	}{
		{"queued again", &sweeper{rescue: []scripted{{step: store.Step{Items: 2, Queued: 1}}}}, true},
		{"rescued, but all poison", &sweeper{rescue: []scripted{{step: store.Step{Items: 2}}}}, false},
		{"expired", &sweeper{expire: []scripted{{step: store.Step{Items: 2}}}}, false},
		{"cancelled", &sweeper{cancel: []scripted{{step: store.Step{Items: 2}}}}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper(t, tt.s)
			k.runFor(t, time.Second)
			if got := k.rung(); got != tt.want {
				t.Errorf("%s: rang is %v, want %v", tt.name, got, tt.want)
			}
		})
	}
}

func TestKeeperAnnouncesJobsThatEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, &sweeper{
			rescue: []scripted{{step: store.Step{Finished: []penstock.ID{"r1", "r2"}}}},
			expire: []scripted{{step: store.Step{Finished: []penstock.ID{"e1"}}}},
			cancel: []scripted{{step: store.Step{Finished: []penstock.ID{"c1"}}}},
		})
		k.runFor(t, time.Second)
		if want := []penstock.ID{"r1", "r2", "e1", "c1"}; !slices.Equal(k.publisher.jobs, want) {
			t.Errorf("announced %v, want %v", k.publisher.jobs, want)
		}
	})
}

// One kind of work that fails keeps no other from being done, and is tried again after the interval.
func TestKeeperSurvivesErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk is full")
	for name, s := range map[string]*sweeper{
		"rescue": {rescue: []scripted{{err: broken}}},
		"expire": {expire: []scripted{{err: broken}}, cancel: []scripted{{step: store.Step{More: true}}}},
		"cancel": {cancel: []scripted{{err: broken}}, rescue: []scripted{{step: store.Step{More: true}}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s.expire = append(s.expire, scripted{step: store.Step{Finished: []penstock.ID{"done"}}})
			k := newKeeper(t, s)
			began := time.Now()
			k.runFor(t, 15*time.Second)
			if got, want := s.roundsSince(began), []time.Duration{0, interval}; !slices.Equal(got, want) {
				t.Errorf("%s: rounds at %v, want %v", name, got, want)
			}
			if !slices.Equal(k.publisher.jobs, []penstock.ID{"done"}) {
				t.Errorf("%s: announced %v, want the job that ended beside the error", name, k.publisher.jobs)
			}
			if n := strings.Count(k.log.String(), "disk is full"); n != 1 {
				t.Errorf("%s: the error was logged %d times, want once", name, n)
			}
		})
	}
}

// stuck is a store whose rescue lasts until its context ends.
type stuck struct{ sweeper }

func (s *stuck) RescueItems(ctx context.Context, _ int) (store.Step, error) {
	<-ctx.Done()
	return store.Step{}, ctx.Err()
}

func TestKeeperStopsQuietly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, &sweeper{})
		k.Store = &stuck{}
		began := time.Now()
		k.runFor(t, time.Second)
		if took := time.Since(began); took != time.Second || k.log.Len() > 0 {
			t.Errorf("stopped after %v, log %q; want 1s and no error", took, k.log)
		}
	})
}

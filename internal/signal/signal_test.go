package signal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errAway = errors.New("the database is away")

// sent is a message with the time since the test began.
type sent struct {
	Message
	at time.Duration
}

// fakeWire notes what is sent, and hears what a test says.
type fakeWire struct {
	began time.Time

	mu      sync.Mutex
	away    bool
	hangs   bool
	log     []sent
	calls   int
	listens int
	broken  chan struct{} // closed when the connection breaks
	ear     Ear
}

func (w *fakeWire) Send(ctx context.Context, messages []Message) error {
	w.mu.Lock()
	w.calls++
	away, hangs := w.away, w.hangs
	if !away && !hangs {
		for _, m := range messages {
			slices.Sort(m.IDs)
			w.log = append(w.log, sent{m, time.Since(w.began)})
		}
	}
	w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if away {
		return errAway
	}
	return ctx.Err()
}

func (w *fakeWire) Listen(ctx context.Context, ear Ear) error {
	w.mu.Lock()
	w.listens++
	if w.away {
		w.mu.Unlock()
		return errAway
	}
	broken := make(chan struct{})
	w.broken, w.ear = broken, ear
	w.mu.Unlock()
	ear.Connected()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-broken:
		return errAway
	}
}

func (w *fakeWire) set(away, hangs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away, w.hangs = away, hangs
	if away && w.broken != nil {
		close(w.broken)
		w.broken = nil
	}
}

func (w *fakeWire) sent() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// rig is an exchange at work.
type rig struct {
	*Exchange
	t    *testing.T
	wire *fakeWire
	stop func()

	mu    sync.Mutex
	heard []string
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, wire: &fakeWire{began: time.Now()}}
	r.Exchange = New(Deps{Wire: r.wire, Metrics: telemetry.NewMetrics("test", "test"), Log: slog.New(slog.DiscardHandler)})
	for _, topic := range []Topic{TopicWork, TopicJob} {
		r.On(topic, func(ids []penstock.ID) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.heard = append(r.heard, fmt.Sprint(topic, ids))
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(r.stop)
	synctest.Wait()
	r.listened() // the first connection makes everybody look
	return r
}

// listened is what the listeners were told since the last time.
func (r *rig) listened() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.heard = nil }()
	return r.heard
}

func (r *rig) wantSent(want ...sent) {
	r.t.Helper()
	synctest.Wait()
	got := r.wire.sent()
	if !slices.EqualFunc(got, want, func(a, b sent) bool {
		return a.Topic == b.Topic && slices.Equal(a.IDs, b.IDs) && a.at == b.at
	}) {
		r.t.Errorf("sent %v, want %v", got, want)
	}
}

func ids(n int) []penstock.ID {
	all := make([]penstock.ID, n)
	for i := range all {
		all[i] = penstock.ID(fmt.Sprintf("%026d", i))
	}
	return all
}

func TestACrowdSharesOneSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.Tell(TopicJob, "a")
		synctest.Wait() // the first is sent at once
		for range 1000 {
			r.Tell(TopicJob, "c", "b")
		}
		time.Sleep(MinGap)
		r.wantSent(sent{Message{TopicJob, []penstock.ID{"a"}}, 0}, sent{Message{TopicJob, []penstock.ID{"b", "c"}}, MinGap})
		time.Sleep(time.Minute)
		r.wantSent(r.wire.sent()[:2]...) // silence sends nothing
	})
}

func TestACrowdOfIDsBecomesALook(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*Exchange){
		"at once":       func(x *Exchange) { x.Tell(TopicJob, ids(MaxIDs+1)...) },
		"one by one":    func(x *Exchange) { each(ids(MaxIDs+1), func(id penstock.ID) { x.Tell(TopicJob, id) }) },
		"with a look":   func(x *Exchange) { x.Tell(TopicJob, "a"); x.Tell(TopicJob) },
		"after a look":  func(x *Exchange) { x.Tell(TopicJob); x.Tell(TopicJob, "a") },
		"far too many":  func(x *Exchange) { x.Tell(TopicJob, ids(50*MaxIDs)...) },
		"and some more": func(x *Exchange) { x.Tell(TopicJob, ids(2*MaxIDs)...); x.Tell(TopicJob, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.Tell(TopicWork) // opens the gap in which the rest gathers
				synctest.Wait()
				tell(r.Exchange)
				time.Sleep(MinGap)
				r.wantSent(sent{Message{Topic: TopicWork}, 0}, sent{Message{Topic: TopicJob}, MinGap})
			})
		})
	}
}

func each(all []penstock.ID, do func(penstock.ID)) {
	for _, id := range all {
		do(id)
	}
}

func TestAsManyIDsAsFitAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.Tell(TopicJob, ids(MaxIDs)...)
		r.wantSent(sent{Message{TopicJob, ids(MaxIDs)}, 0})
	})
}

// Telling goes on while the wire hangs, and what could not be sent is a look once it works again.
func TestABrokenWireHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t)
			r.wire.set(!hangs, hangs)
			for range 10_000 {
				r.Tell(TopicJob, ids(3)...)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if r.wire.calls > 60 {
				t.Errorf("hangs %v: a wire that is away was called %d times in a minute", hangs, r.wire.calls)
			}
			r.wire.set(false, false)
			time.Sleep(maxBackoff + sendTimeout)
			synctest.Wait()
			got := r.wire.sent()
			if len(got) != 1 || got[0].Topic != TopicJob || len(got[0].IDs) != 0 {
				t.Errorf("hangs %v: sent %v afterwards, want one look", hangs, got)
			}
		})
	}
}

func TestWhatWasToldBeforeTheEndIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.Tell(TopicWork)
		synctest.Wait()
		r.Tell(TopicJob, "a") // waits for the gap, which the end cuts short
		r.stop()
		r.wantSent(sent{Message{Topic: TopicWork}, 0}, sent{Message{TopicJob, []penstock.ID{"a"}}, 0})
	})
}

func TestListenersHearTheirTopics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.wire.ear.Heard(Message{TopicJob, []penstock.ID{"a", "b"}})
		r.wire.ear.Heard(Message{Topic: TopicWork})
		r.wire.ear.Heard(Message{Topic: TopicCancel}) // nobody listens here
		r.wire.ear.Heard(Message{Topic: "tomorrow"})  // of a newer version
		if got := r.listened(); !slices.Equal(got, []string{"job[a b]", "work[]"}) {
			t.Errorf("heard %v", got)
		}
	})
}

// Whoever was deaf looks everywhere once they hear again.
func TestAGapMakesEverybodyLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.wire.set(true, false)
		time.Sleep(10 * time.Minute)
		if got := r.listened(); len(got) != 0 {
			t.Errorf("told to look at %v while nothing could be known", got)
		}
		if r.wire.listens < 100 || r.wire.listens > 300 {
			t.Errorf("listened %d times in 10 minutes without a database", r.wire.listens)
		}
		r.wire.set(false, false)
		time.Sleep(maxBackoff)
		if got := r.listened(); !slices.Equal(got, []string{"work[]", "job[]"}) {
			t.Errorf("told to look at %v after the gap, want everything once", got)
		}
	})
}

func TestAProcessAloneTellsNobody(t *testing.T) {
	t.Parallel()
	x := New(Deps{Metrics: telemetry.NewMetrics("test", "test"), Log: slog.New(slog.DiscardHandler)})
	x.Tell(TopicJob, ids(10)...)
	if len(x.pending) != 0 {
		t.Error("it keeps what nobody will hear")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := x.Run(ctx); err != nil {
		t.Error(err)
	}
}

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
	to      Receiver
}

func (w *fakeWire) Send(ctx context.Context, messages []Message) error {
	w.mu.Lock()
	w.calls++
	away, hangs := w.away, w.hangs
	if !away && !hangs {
		for _, m := range messages {
			slices.Sort(m.Keys)
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

func (w *fakeWire) Listen(ctx context.Context, to Receiver) error {
	w.mu.Lock()
	w.listens++
	if w.away {
		w.mu.Unlock()
		return errAway
	}
	broken := make(chan struct{})
	w.broken, w.to = broken, to
	w.mu.Unlock()
	to.Connected()
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

// rig is a bus at work, with two topics.
type rig struct {
	*Bus
	t    *testing.T
	wire *fakeWire
	stop func()
	work *Topic[None]
	jobs *Topic[penstock.ID]

	anyWork *Subscription[None]
	anyJob  *Subscription[penstock.ID]
	jobA    *Subscription[penstock.ID]
	jobB    *Subscription[penstock.ID]
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, wire: &fakeWire{began: time.Now()}}
	r.Bus = NewBus(Deps{Wire: r.wire, Metrics: telemetry.NewMetrics("test", "test"), Log: slog.New(slog.DiscardHandler)})
	r.work, r.jobs = NewTopic[None](r.Bus, Work), NewTopic[penstock.ID](r.Bus, Jobs)
	r.anyWork, r.anyJob, r.jobA, r.jobB = r.work.SubscribeAll(), r.jobs.SubscribeAll(), r.jobs.Subscribe("a"), r.jobs.Subscribe("b")
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
	r.woken() // the first connection makes everybody look
	return r
}

// woken are the subscriptions that received a signal since the last time.
func (r *rig) woken() (names []string) {
	synctest.Wait()
	for _, s := range []struct {
		name string
		c    <-chan struct{}
	}{{"work", r.anyWork.C}, {"jobs", r.anyJob.C}, {"a", r.jobA.C}, {"b", r.jobB.C}} {
		if len(s.c) > 0 {
			<-s.c
			names = append(names, s.name)
		}
	}
	return names
}

func (r *rig) wantWoken(names ...string) {
	r.t.Helper()
	if got := r.woken(); !slices.Equal(got, names) {
		r.t.Errorf("%v were woken, want %v", got, names)
	}
}

func (r *rig) wantSent(want ...sent) {
	r.t.Helper()
	synctest.Wait()
	got := r.wire.sent()
	if !slices.EqualFunc(got, want, func(a, b sent) bool {
		return a.Topic == b.Topic && slices.Equal(a.Keys, b.Keys) && a.at == b.at
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

// In one process a signal reaches the subscribers of its keys and those of the whole topic, and nobody else.
func TestSignalsReachTheirSubscribers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.jobs.Publish("a", "c")
		r.wantWoken("jobs", "a")
		r.jobs.Publish()
		r.wantWoken()
		r.jobs.NotifyLocal()
		r.wantWoken("jobs", "a", "b")
		r.work.Notify()
		r.wantWoken("work")
		r.jobA.Close()
		r.jobs.Publish("a", "b")
		r.wantWoken("jobs", "b")
		r.anyJob.Close()
		r.jobs.Notify()
		r.wantWoken("b")
		if n := r.jobs.Subscribers(); n != 1 {
			t.Errorf("%d subscriptions are open, want that of b", n)
		}
		r.jobB.Close()
		if len(r.jobs.byKey) != 0 {
			t.Error("the topic remembers keys that nobody waits for")
		}
	})
}

// Signals that a subscriber has not received are one, and none is lost: publishing never waits for it.
func TestSignalsCoalesce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		topic := NewTopic[None](nil, "local")
		s := topic.SubscribeAll()
		var woken []time.Duration
		began := time.Now()
		for range 100 {
			topic.Notify()
		}
		go func() {
			for {
				select {
				case <-s.C:
					woken = append(woken, time.Since(began))
				case <-t.Context().Done():
					return
				}
			}
		}()
		time.Sleep(time.Second)
		topic.Notify()
		synctest.Wait()
		if want := []time.Duration{0, time.Second}; !slices.Equal(woken, want) {
			t.Errorf("woken at %v, want %v", woken, want)
		}
	})
}

// Whoever subscribes, looks, and then waits misses no change, however publishers and subscribers run into each other.
func TestNoChangeIsMissed(t *testing.T) {
	t.Parallel()
	topic := NewTopic[penstock.ID](nil, "local")
	var done sync.WaitGroup
	for n := range 50 {
		key := penstock.ID(fmt.Sprint(n % 7))
		changed := make(chan struct{})
		done.Go(func() {
			s := topic.Subscribe(key)
			defer s.Close()
			for {
				select {
				case <-changed:
					return
				default:
				}
				<-s.C
			}
		})
		done.Go(func() {
			close(changed)
			topic.Publish(key)
		})
	}
	done.Wait()
	if n := topic.Subscribers(); n != 0 {
		t.Errorf("%d subscriptions are open", n)
	}
}

func TestManySignalsShareOneSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.jobs.Publish("a")
		synctest.Wait() // the first is sent at once
		for range 1000 {
			r.jobs.Publish("c", "b")
		}
		time.Sleep(MinGap)
		r.wantSent(sent{Message{Jobs, []string{"a"}}, 0}, sent{Message{Jobs, []string{"b", "c"}}, MinGap})
		time.Sleep(time.Minute)
		r.wantSent(r.wire.sent()[:2]...) // silence sends nothing
	})
}

func TestManyKeysBecomeALook(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]func(*Topic[penstock.ID]){
		"at once":       func(j *Topic[penstock.ID]) { j.Publish(ids(MaxKeys + 1)...) },
		"one by one":    func(j *Topic[penstock.ID]) { each(ids(MaxKeys+1), func(id penstock.ID) { j.Publish(id) }) },
		"with a look":   func(j *Topic[penstock.ID]) { j.Publish("a"); j.Notify() },
		"after a look":  func(j *Topic[penstock.ID]) { j.Notify(); j.Publish("a") },
		"far too many":  func(j *Topic[penstock.ID]) { j.Publish(ids(50 * MaxKeys)...) },
		"and some more": func(j *Topic[penstock.ID]) { j.Publish(ids(2 * MaxKeys)...); j.Publish("a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.work.Notify() // opens the gap in which the rest gathers
				synctest.Wait()
				publish(r.jobs)
				time.Sleep(MinGap)
				r.wantSent(sent{Message{Topic: Work}, 0}, sent{Message{Topic: Jobs}, MinGap})
			})
		})
	}
}

func each(all []penstock.ID, do func(penstock.ID)) {
	for _, id := range all {
		do(id)
	}
}

func TestAsManyKeysAsFitAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.jobs.Publish(ids(MaxKeys)...)
		synctest.Wait()
		if got := r.wire.sent(); len(got) != 1 || len(got[0].Keys) != MaxKeys {
			t.Errorf("sent %d messages, want one with all keys", len(got))
		}
	})
}

// Publishing goes on while the wire hangs, and what could not be sent is a look once it works again.
func TestABrokenWireBlocksNobody(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t)
			r.wire.set(!hangs, hangs)
			for range 10_000 {
				r.jobs.Publish(ids(3)...)
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
			if len(got) != 1 || got[0].Topic != Jobs || len(got[0].Keys) != 0 {
				t.Errorf("hangs %v: sent %v afterwards, want one look", hangs, got)
			}
		})
	}
}

func TestSignalsBeforeTheEndAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.work.Notify()
		synctest.Wait()
		r.jobs.Publish("a") // waits for the gap, which the end cuts short
		r.stop()
		r.wantSent(sent{Message{Topic: Work}, 0}, sent{Message{Jobs, []string{"a"}}, 0})
	})
}

// Signals of other processes reach the subscribers here, and go no further.
func TestSignalsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.wire.to.Receive(Message{Jobs, []string{"a", "c"}})
		r.wantWoken("jobs", "a")
		r.wire.to.Receive(Message{Topic: Work})
		r.wantWoken("work")
		r.wire.to.Receive(Message{Topic: Jobs})
		r.wantWoken("jobs", "a", "b")
		r.wire.to.Receive(Message{Topic: "tomorrow"}) // of a newer version
		r.wantWoken()
		time.Sleep(time.Minute)
		r.wantSent()
	})
}

// After a lost connection all subscribers look: nobody knows what they missed.
func TestAGapMakesEverybodyLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.wire.set(true, false)
		time.Sleep(10 * time.Minute)
		r.wantWoken()
		if r.wire.listens < 100 || r.wire.listens > 300 {
			t.Errorf("listened %d times in 10 minutes without a database", r.wire.listens)
		}
		r.wire.set(false, false)
		time.Sleep(maxBackoff)
		r.wantWoken("work", "jobs", "a", "b")
	})
}

func TestAProcessAloneSendsNothing(t *testing.T) {
	t.Parallel()
	b := NewBus(Deps{Metrics: telemetry.NewMetrics("test", "test"), Log: slog.New(slog.DiscardHandler)})
	jobs := NewTopic[penstock.ID](b, Jobs)
	s := jobs.Subscribe("a")
	jobs.Publish("a")
	if len(b.pending) != 0 || len(s.C) != 1 {
		t.Errorf("%d messages are pending, %d signals were received", len(b.pending), len(s.C))
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := b.Run(ctx); err != nil {
		t.Error(err)
	}
}

// BenchmarkPublish is what a change costs with many readers of other jobs.
func BenchmarkPublish(b *testing.B) {
	topic := NewTopic[penstock.ID](nil, "local")
	for _, id := range ids(10_000) {
		topic.Subscribe(id)
	}
	s := topic.Subscribe("a")
	b.ReportAllocs()
	for b.Loop() {
		topic.Publish("a")
		<-s.C
	}
}

// BenchmarkSubscribe is what a reader costs that comes and goes.
func BenchmarkSubscribe(b *testing.B) {
	topic := NewTopic[penstock.ID](nil, "local")
	b.ReportAllocs()
	for b.Loop() {
		topic.Subscribe("a").Close()
	}
}

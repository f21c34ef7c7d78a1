package control

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock/internal/signal"
	"penstock/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a store of controls that can break.
type book struct {
	mu    sync.Mutex
	all   []store.Control
	err   error
	reads int

	changes int // told by the view
}

func (b *book) ListControls(ctx context.Context) ([]store.Control, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	return slices.Clone(b.all), errors.Join(b.err, ctx.Err())
}

func (b *book) set(err error, all ...store.Control) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all, b.err = all, err
}

func bulk(state store.ControlState) store.Control {
	return store.Control{Kind: store.ControlLane, Name: "bulk", State: state, Reason: "maintenance"}
}

// running starts a view that ends with the test.
func running(t *testing.T, b *book) *View {
	t.Helper()
	v := New(Deps{Store: b, Changes: signal.NewTopic[signal.None](nil, signal.Control), Log: slog.New(slog.DiscardHandler), Changed: func() { b.changes++ }})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	synctest.Wait()
	return v
}

func wantPaused(t *testing.T, v *View, want bool) {
	t.Helper()
	c, got := v.Paused(store.ControlLane, "bulk")
	if got != want || got && c.Reason != "maintenance" {
		t.Errorf("the lane is held back: %v (%+v), want %v", got, c, want)
	}
	if listed := slices.Equal(v.Names(store.ControlLane), []string{"bulk"}); listed != want {
		t.Errorf("lanes held back: %v, want bulk among them: %v", v.Names(store.ControlLane), want)
	}
}

func TestViewFollowsTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		v := running(t, b)
		wantPaused(t, v, false)
		b.set(nil, bulk(store.ControlPaused))
		wantPaused(t, v, false)
		time.Sleep(PollInterval)
		synctest.Wait()
		wantPaused(t, v, true)
		if _, ok := v.Paused(store.ControlModel, "bulk"); ok {
			t.Error("a model of that name is held back too")
		}
		b.set(nil, bulk(store.ControlDraining))
		v.Changes.Notify()
		synctest.Wait()
		wantPaused(t, v, true)
		if b.changes != 1 {
			t.Errorf("told of %d changes, want the first: a drain holds back what a pause did", b.changes)
		}
		b.set(nil)
		v.Changes.Notify()
		synctest.Wait()
		wantPaused(t, v, false)
		if b.changes != 2 {
			t.Errorf("told of %d changes, want the pause and its end", b.changes)
		}
	})
}

func TestViewStaysWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		b.set(nil, bulk(store.ControlPaused))
		v := running(t, b)
		b.set(errors.New("the database is away"))
		time.Sleep(time.Minute)
		synctest.Wait()
		wantPaused(t, v, true)
		b.set(nil)
		time.Sleep(PollInterval)
		synctest.Wait()
		wantPaused(t, v, false)
	})
}

func TestLooksThatNobodyWaitsForAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		v := running(t, b)
		for range 100 {
			v.Changes.Notify()
		}
		synctest.Wait()
		if b.reads > 3 {
			t.Errorf("a hundred calls to look made %d looks", b.reads)
		}
	})
}

func TestAskingAllocatesNothing(t *testing.T) {
	b := &book{}
	b.set(nil, bulk(store.ControlPaused))
	v := New(Deps{Store: b, Changes: signal.NewTopic[signal.None](nil, signal.Control), Log: slog.New(slog.DiscardHandler), Changed: func() { b.changes++ }})
	if err := v.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := string([]byte("bulk"))
	if n := testing.AllocsPerRun(100, func() {
		_, _ = v.Paused(store.ControlLane, name)
		_ = v.Names(store.ControlLane)
	}); n != 0 {
		t.Errorf("asking allocates %v times", n)
	}
}

func TestHeldTargetsArePassedOver(t *testing.T) {
	t.Parallel()
	b := &book{}
	b.set(nil, store.Control{Kind: store.ControlTarget, Name: "b"}, store.Control{Kind: store.ControlModel, Name: "a"})
	v := New(Deps{Store: b, Changes: signal.NewTopic[signal.None](nil, signal.Control), Log: slog.New(slog.DiscardHandler)})
	if err := v.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	mine := []string{"a", "b", "c"}
	if got := v.Open(mine); !slices.Equal(got, []string{"a", "c"}) || !slices.Equal(mine, []string{"a", "b", "c"}) {
		t.Errorf("open are %v of %v, want a and c", got, mine)
	}
	if got := v.Open([]string{"b"}); len(got) != 0 {
		t.Errorf("open are %v, want none", got)
	}
}

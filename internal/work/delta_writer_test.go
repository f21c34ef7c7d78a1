package work

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
)

// logbook is a log that can be slow, unavailable, or closed to a claim.
type logbook struct {
	mu      sync.Mutex
	entries []string // of the items' ids and what they say
	calls   int
	took    time.Duration
	err     error
	stale   penstock.ID
}

func (l *logbook) AppendDeltas(ctx context.Context, group []store.ClaimDelta) ([]bool, error) {
	time.Sleep(l.took) // of the bubble's clock
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.err != nil {
		return nil, l.err
	}
	added := make([]bool, len(group))
	for i, d := range group {
		if added[i] = d.Of.Item != l.stale; !added[i] {
			continue
		}
		said := string(d.Data)
		if d.Reset {
			said = "↺"
		}
		l.entries = append(l.entries, string(d.Of.Item)+":"+said)
	}
	return added, ctx.Err()
}

func (l *logbook) read() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.entries, " ")
}

// runDeltaRecorder runs a delta recorder over a logbook for the time of a test.
func runDeltaRecorder(t *testing.T, l *logbook) (*deltaRecorder, *[]penstock.ID) {
	t.Helper()
	var notified []penstock.ID
	s := newDeltaRecorder(Deps{
		Streams: l, Readers: publishFunc(func(jobs ...penstock.ID) { notified = append(notified, jobs...) }), Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	}, time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { s.run(ctx) })
	t.Cleanup(func() { stop(); run.Wait() })
	return s, &notified
}

func claimed(item string, fence int64) store.Claimed {
	return store.Claimed{Item: penstock.ID(item), Job: "job-" + penstock.ID(item), Fence: fence}
}

func wantLog(t *testing.T, l *logbook, want string) {
	t.Helper()
	synctest.Wait()
	if got := l.read(); got != want {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

func TestDeltasAreCoalesced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logbook{}
		s, notified := runDeltaRecorder(t, l)
		a, b := s.begin(claimed("a", 1)), s.begin(claimed("b", 1))
		a.add("Hel")
		time.Sleep(DeltaInterval / 2)
		a.add("lo")
		b.add("x")
		wantLog(t, l, "")
		time.Sleep(DeltaInterval / 2)
		wantLog(t, l, "a:Hello")
		time.Sleep(DeltaInterval / 2)
		wantLog(t, l, "a:Hello b:x")
		large := strings.Repeat("y", DeltaBytes)
		b.add(large) // which waits for nothing
		wantLog(t, l, "a:Hello b:x b:"+large)
		a.add("!")
		if tail := a.end(); len(tail) != 1 || string(tail[0].Data) != "!" {
			t.Errorf("what is left is %v", tail)
		}
		if tail := b.end(); tail != nil || len(s.deltaWriters) != 0 {
			t.Errorf("what is left is %v, of %d delta writers", tail, len(s.deltaWriters))
		}
		if len(*notified) != 3 {
			t.Errorf("readers were notified %d times", len(*notified))
		}
	})
}

// Adding text never waits for the store; the text that is added meanwhile becomes one larger delta.
func TestSlowLogMakesDeltasCoarser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logbook{took: 5 * time.Second}
		s, _ := runDeltaRecorder(t, l)
		a := s.begin(claimed("a", 1))
		began := time.Now()
		for range 40 {
			a.add(".")
			time.Sleep(DeltaInterval)
		}
		if took := time.Since(began); took != 40*DeltaInterval {
			t.Errorf("saying took %v", took-40*DeltaInterval)
		}
		tail := a.end() // waits for what is being written
		said := l.read()
		for _, d := range tail {
			said += string(d.Data)
		}
		if strings.Count(said, ".") != 40 || l.calls != 1 {
			t.Errorf("%d calls wrote %q", l.calls, said)
		}
	})
}

func TestDeltasSurviveAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logbook{err: errors.New("away")}
		s, _ := runDeltaRecorder(t, l)
		a := s.begin(claimed("a", 2))
		a.add("one ")
		time.Sleep(time.Second)
		a.add("two")
		time.Sleep(time.Second)
		l.mu.Lock()
		l.err = nil
		l.mu.Unlock()
		time.Sleep(time.Second)
		wantLog(t, l, "a:↺ a:one two")
		a.end()
	})
}

func TestARestartedItemResets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logbook{}
		s, _ := runDeltaRecorder(t, l)
		a := s.begin(claimed("a", 2))
		a.add("x")
		time.Sleep(time.Second)
		a.add("y")
		time.Sleep(time.Second)
		wantLog(t, l, "a:↺ a:x a:y")
		if tail := a.end(); tail != nil {
			t.Errorf("left: %v", tail)
		}
		b := s.begin(claimed("b", 3))
		b.add("z")
		if tail := b.end(); len(tail) != 2 || !tail[0].Reset || string(tail[1].Data) != "z" {
			t.Errorf("a short answer ends with %+v", tail)
		}
		if tail := s.begin(claimed("c", 2)).end(); len(tail) != 1 || !tail[0].Reset {
			t.Errorf("an empty answer ends with %+v", tail)
		}
	})
}

func TestAStaleClaimFallsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logbook{stale: "a"}
		s, notified := runDeltaRecorder(t, l)
		a, b := s.begin(claimed("a", 1)), s.begin(claimed("b", 1))
		a.add("x")
		b.add("y")
		time.Sleep(time.Second)
		a.add("x")
		time.Sleep(time.Second)
		wantLog(t, l, "b:y")
		if tail := a.end(); tail != nil || len(*notified) != 1 || l.calls != 1 {
			t.Errorf("left: %v; notified %d, %d calls", tail, len(*notified), l.calls)
		}
		b.end()
	})
}

// The text that accumulates during an outage is written in deltas of a bounded size.
func TestDeltasAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logbook{took: time.Minute / 2}
		s, _ := runDeltaRecorder(t, l)
		a := s.begin(claimed("a", 1))
		a.add("first")
		time.Sleep(time.Second)
		piece := strings.Repeat("z", 10<<10)
		for range 20 {
			a.add(piece)
		}
		total := 0
		for _, d := range a.end() {
			if total += len(d.Data); len(d.Data) > store.MaxDeltaBytes {
				t.Errorf("a delta has %d bytes", len(d.Data))
			}
		}
		if total != 20*len(piece) {
			t.Errorf("%d bytes are left", total)
		}
	})
}

// publishFunc is a publisher.
type publishFunc func(jobs ...penstock.ID)

func (f publishFunc) Publish(jobs ...penstock.ID) { f(jobs...) }

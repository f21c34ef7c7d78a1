package wire

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a watchdog that counts how often it bit.
type watched struct {
	watchdog
	aborts int
}

func newWatched() *watched {
	w := &watched{}
	w.abort = func() { w.aborts++ }
	return w
}

// pass advances the time of the bubble and waits for the timers that it fires.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// watchdogCase is one test case of a watchdog.
type watchdogCase struct {
	name  string
	run   func(w *watched)
	phase phase
	bites bool
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	keep(t, []watchdogCase{
		{"expires", func(w *watched) { w.start(phaseIdle, time.Second); pass(time.Second) }, phaseIdle, true},
		{"not a moment early", func(w *watched) { w.start(phaseIdle, time.Second); pass(time.Second - 1) }, phaseIdle, false},
		{"no limit", func(w *watched) { w.start(phaseConnect, 0); pass(time.Hour) }, phaseConnect, false},
		{"left in time", func(w *watched) { w.start(phaseIdle, time.Second); w.leave(); pass(time.Hour) }, phaseIdle, false},
		{"a new phase has its own limit", func(w *watched) {
			w.start(phaseConnect, time.Second)
			pass(time.Second - 1)
			w.start(phaseFirstToken, 3*time.Second)
			pass(3*time.Second - 1)
		}, phaseFirstToken, false},
		{"an unlimited phase ends a limit", func(w *watched) {
			w.start(phaseConnect, time.Second)
			w.start(phaseFirstToken, 0)
			pass(time.Hour)
		}, phaseFirstToken, false},
		{"the later phase expires", func(w *watched) {
			w.start(phaseConnect, time.Second)
			w.start(phaseFirstToken, 2*time.Second)
			pass(2 * time.Second)
		}, phaseFirstToken, true},
		{"time between phases does not count", func(w *watched) {
			for range 5 {
				w.start(phaseIdle, time.Second)
				pass(time.Second - 1)
				w.leave()
				pass(time.Hour)
			}
		}, phaseIdle, false},
		{"stays expired", func(w *watched) {
			w.start(phaseFirstToken, time.Second)
			pass(time.Second)
			w.start(phaseIdle, time.Second)
			pass(time.Hour)
		}, phaseFirstToken, true},
	})
}

func TestWatchdogOfTheTotal(t *testing.T) {
	t.Parallel()
	keep(t, []watchdogCase{
		{"the total expires in a phase that has time", func(w *watched) {
			w.begin(time.Now().Add(3 * time.Second))
			w.start(phaseFirstToken, 2*time.Second)
			pass(time.Second)
			w.start(phaseIdle, time.Hour)
			pass(2 * time.Second)
		}, phaseTotal, true},
		{"the total expires before the first phase", func(w *watched) {
			w.begin(time.Now().Add(time.Second))
			pass(time.Second)
		}, phaseTotal, true},
		{"the total goes on between phases", func(w *watched) {
			w.begin(time.Now().Add(time.Minute))
			w.start(phaseIdle, time.Second)
			w.leave()
			pass(time.Minute)
		}, phaseTotal, true},
		{"and in a phase without a limit", func(w *watched) {
			w.begin(time.Now().Add(time.Minute))
			w.start(phaseIdle, time.Second)
			w.start(phaseFirstToken, 0)
			pass(time.Minute - 1)
		}, phaseFirstToken, false},
		{"a phase expires before the total", func(w *watched) {
			w.begin(time.Now().Add(time.Minute))
			w.start(phaseIdle, time.Second)
			pass(time.Hour)
		}, phaseIdle, true},
		{"nothing expires once it is over", func(w *watched) {
			w.begin(time.Now().Add(time.Minute))
			w.start(phaseIdle, time.Second)
			w.close()
			pass(time.Hour)
		}, phaseIdle, false},
	})
}

// keep runs cases and looks whether the watchdog bit, once, and in which phase.
func keep(t *testing.T, cases []watchdogCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatched()
				tt.run(w)
				phase, _, expired := w.state()
				if phase != tt.phase || expired != tt.bites || (w.aborts == 1) != tt.bites || w.aborts > 1 {
					t.Errorf("phase %q, expired %v, %d aborts", phase, expired, w.aborts)
				}
			})
		})
	}
}

// A timer that has fired cannot be stopped any more. If its phase is over by the time it gets its
// turn, it must not end the next one.
func TestWatchdogIgnoresATimerThatIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatched()
		w.start(phaseConnect, time.Second)
		w.start(phaseFirstToken, time.Hour)
		w.expire()
		w.leave()
		w.expire()
		if _, _, expired := w.state(); expired || w.aborts > 0 {
			t.Error("a timer of an earlier phase ended the exchange")
		}
	})
}

// Run with the race detector, this is what keeps the lock honest.
func TestWatchdogUnderConcurrentUse(t *testing.T) {
	t.Parallel()
	w := watchdog{abort: func() {}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				w.start(phaseIdle, time.Microsecond)
				w.state()
				w.leave()
			}
		})
	}
	wg.Wait()
}

package wire

import (
	"sync"
	"time"
)

// phase is a part of an exchange that has a time limit of its own.
type phase string

// The phases, in their order. Before the first one nothing was tried yet.
const (
	phaseConnect    phase = "connect"
	phaseFirstToken phase = "first token"
	phaseIdle       phase = "idle"

	// phaseTotal is all of it, whatever phase it is in.
	phaseTotal phase = "total"
)

// watchdog ends an exchange whose current phase takes too long. Phases run only while Penstock waits for the
// upstream: the upstream is not responsible for a caller that reads slowly. The total runs on.
//
// Entering, leaving and expiring may happen at the same time. Once it has expired it stays so.
type watchdog struct {
	abort func()

	mu       sync.Mutex
	timer    *time.Timer
	fires    time.Time // when the timer does, at the latest; zero if it is not running
	phase    phase
	limit    time.Duration
	deadline time.Time // of the phase or the total, whichever is first; zero while no limit runs
	total    time.Duration
	end      time.Time // of the total; zero for never
	expired  bool
}

// begin starts the clock of the whole exchange, unless it has no end.
func (w *watchdog) begin(end time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end = end; end.IsZero() {
		return
	}
	now := time.Now()
	w.total, w.deadline = max(0, end.Sub(now)), end
	w.arm(now)
}

// arm has the timer look at the deadline, or earlier: a timer that runs is not set to a later time, which costs more than all else
// that is done for an event of a stream. It finds that it is too early, and is set again.
func (w *watchdog) arm(now time.Time) {
	if !w.fires.IsZero() && !w.deadline.Before(w.fires) {
		return
	}
	w.fires = w.deadline
	if d := w.deadline.Sub(now); w.timer == nil {
		w.timer = time.AfterFunc(d, w.expire)
	} else {
		w.timer.Reset(d)
	}
}

// start starts a phase and its clock. A limit of zero never expires.
func (w *watchdog) start(p phase, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired {
		return
	}
	w.phase, w.limit = p, limit
	if limit <= 0 {
		w.rest()
		return
	}
	now := time.Now()
	w.deadline = now.Add(limit)
	if !w.end.IsZero() && w.end.Before(w.deadline) {
		w.deadline = w.end
	}
	w.arm(now)
}

// rest stops the phase's limit, so that only the total runs. The timer may fire too early then, and see that it is not time yet.
func (w *watchdog) rest() { w.deadline = w.end }

// leave stops the clock of the phase, which stays what it was.
func (w *watchdog) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest()
}

// close stops all clocks.
func (w *watchdog) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = time.Time{}
	w.rest()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.fires = time.Time{}
}

func (w *watchdog) expire() {
	w.mu.Lock()
	// A timer that fired cannot be stopped: its phase may be over by now, and another may be running.
	now := time.Now()
	overdue := !w.deadline.IsZero() && !now.Before(w.deadline)
	w.fires = time.Time{}
	switch {
	case w.deadline.IsZero() || w.expired:
	case overdue:
		w.expired = true
		if w.deadline.Equal(w.end) {
			w.phase, w.limit = phaseTotal, w.total
		}
	default:
		w.arm(now)
	}
	w.mu.Unlock()
	if overdue {
		w.abort()
	}
}

// state returns the current phase, or the one that expired and its limit.
func (w *watchdog) state() (p phase, limit time.Duration, expired bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase, w.limit, w.expired
}

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
)

// watchdog ends an exchange whose current phase takes too long. It runs while someone waits for the
// upstream, and only then: a caller that reads slowly is no fault of the upstream's.
//
// Entering, leaving and expiring may happen at the same time. Once it has expired it stays so.
type watchdog struct {
	abort func()

	mu       sync.Mutex
	timer    *time.Timer
	phase    phase
	limit    time.Duration
	deadline time.Time // zero while no limit runs
	expired  bool
}

// enter starts a phase and its clock. A limit of zero never expires.
func (w *watchdog) enter(p phase, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired {
		return
	}
	w.phase, w.limit, w.deadline = p, limit, time.Time{}
	switch {
	case limit > 0 && w.timer == nil:
		w.deadline = time.Now().Add(limit)
		w.timer = time.AfterFunc(limit, w.expire)
	case limit > 0:
		w.deadline = time.Now().Add(limit)
		w.timer.Reset(limit)
	case w.timer != nil:
		w.timer.Stop()
	}
}

// leave stops the clock. The phase stays what it was.
func (w *watchdog) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = time.Time{}
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watchdog) expire() {
	w.mu.Lock()
	// A timer that fired cannot be taken back: by now its phase may be over and another one running.
	overdue := !w.deadline.IsZero() && !time.Now().Before(w.deadline)
	w.expired = w.expired || overdue
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

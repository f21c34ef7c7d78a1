package wire

import "time"

// streamWait is how a stream waits for the bytes of its next event. Only a stream that has begun does: before, the phases of the
// call run.
type streamWait struct {
	begun    bool
	limit    time.Duration // of one wait
	running  bool          // the clock of the wait runs
	announce func() error  // of the call; nil for none
}

// Waiting implements http1.Phases: it is called before bytes of the answer are waited for. The clock starts once the caller has received what was sent to it: the
// upstream is not responsible for a caller that reads slowly. An event that arrives in several parts is one wait.
func (ex *exchange) Waiting() error {
	w := &ex.wait
	if !w.begun || w.running {
		return nil
	}
	if w.announce != nil {
		if err := w.announce(); err != nil {
			return err
		}
	}
	w.running = true
	ex.watch.start(phaseIdle, w.limit)
	return nil
}

// waited is called when an event has arrived.
func (ex *exchange) waited() {
	if ex.wait.running {
		ex.wait.running = false
		ex.watch.leave()
	}
}

package postgres

import (
	"sync/atomic"
	"time"
)

const (
	// readingFor is how long a reading of the server's clock is good enough to compute the time from.
	readingFor = time.Second
	// readingError is how long a reading may take, and so how late the computed time may be: far less than a lease lasts.
	readingError = 20 * time.Millisecond
)

// serverClock computes the server's time from the last reading of the server's clock and the time that passed here since. Each
// transaction reads the server's clock anyway: so a transaction that needs the time for its first statement need not wait for
// a round trip of its own. The zero value has no reading. It is safe for concurrent use.
type serverClock struct{ last atomic.Pointer[reading] }

// reading is what the server's clock showed for a question that was sent at a time of this process. The server read its clock
// some time after that, so the computed time is late by the time that the question took to arrive.
type reading struct{ sent, server time.Time }

// read takes a reading whose answer has just arrived, unless it took too long.
func (c *serverClock) read(r reading) {
	if time.Since(r.sent) <= readingError {
		c.last.Store(&r)
	}
}

// now is the server's time, false if the last reading is too old. It looks at the wall clock too: while a machine is suspended,
// the monotonic clock stands still.
func (c *serverClock) now() (time.Time, bool) {
	last := c.last.Load()
	if last == nil {
		return time.Time{}, false
	}
	at := time.Now()
	passed, wall := at.Sub(last.sent), at.Round(0).Sub(last.sent.Round(0))
	if passed > readingFor || wall > readingFor || wall < 0 {
		return time.Time{}, false
	}
	return last.server.Add(passed), true
}

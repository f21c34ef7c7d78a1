package postgres

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestServerClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c serverClock
		if got, ok := c.now(); ok {
			t.Errorf("without a reading it is %v", got)
		}
		sent := time.Now()
		time.Sleep(readingError + 1)
		c.read(reading{sent, time.Now()})
		if got, ok := c.now(); ok {
			t.Errorf("with a reading that took too long it is %v", got)
		}
		server := time.Now().Add(42 * time.Minute)
		c.read(reading{time.Now(), server})
		time.Sleep(300 * time.Millisecond)
		if got, ok := c.now(); !ok || !got.Equal(server.Add(300*time.Millisecond)) {
			t.Errorf("got %v, %v, want what the server showed and 300 ms", got, ok)
		}
		time.Sleep(time.Second)
		if got, ok := c.now(); ok {
			t.Errorf("with an old reading it is %v", got)
		}
		c.read(reading{time.Now().Add(time.Minute), server}) // the wall clock was set back
		if got, ok := c.now(); ok {
			t.Errorf("with a reading of the future it is %v", got)
		}
	})
}

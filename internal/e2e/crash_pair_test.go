package e2e

import (
	"testing"
	"time"

	"penstock/internal/sim"
)

// TestCrashPair kills one of two busy servers on one database again and again, while the other goes on, and
// holds that nothing accepted is lost, everything ends once, and the books add up.
func TestCrashPair(t *testing.T) {
	t.Parallel()
	first, d := newRig(t, onPostgres), newDiary()
	if err := first.upstream.Configure(sim.Config{Seed: first.seed, FirstTokenLatency: 30 * time.Millisecond, Jitter: 0.9}); err != nil {
		t.Fatal(err)
	}
	pair := []*rig{first, first.twin()}
	lives := []*life{pair[0].start(death{}), pair[1].start(death{})}
	stop := make(chan struct{})
	crowd := first.crowd(d, wild, stop)
	kills := soakKills(t, 8)
	for range kills {
		i := first.random.IntN(len(pair))
		lives[i].pass(100*time.Millisecond + time.Duration(first.random.Int64N(int64(600*time.Millisecond))))
		lives[i].Kill()
		lives[i].ended = time.Now()
		lives[i] = pair[i].start(death{})
	}
	close(stop)
	crowd.Wait()
	a := newAudit(first, d)
	a.run()
	a.checkBooks()
	if n := pair[0].kills() + pair[1].kills(); n != kills {
		t.Errorf("%d servers were killed, want %d", n, kills)
	}
}

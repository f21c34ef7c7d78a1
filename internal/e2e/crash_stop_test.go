package e2e

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"penstock"
	"penstock/internal/sim"
)

// stopSlack is what a stop may take beyond the grace period: closing the store, ending the process.
const stopSlack = time.Second

// TestCrashFreeStop asks a busy server to stop, several times, and holds that nobody pays for it: every
// item runs exactly once, and nothing is forfeit.
func TestCrashFreeStop(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			// A machine that does other things too may let a lease of a second be lost: that is another test's subject.
			r.lease = 10 * time.Second
			r.configure()
			if err := r.upstream.Configure(sim.Config{Seed: r.seed, FirstTokenLatency: 30 * time.Millisecond, Jitter: 0.9}); err != nil {
				t.Fatal(err)
			}
			d, stop := newDiary(), make(chan struct{})
			crowd := r.crowd(d, calm, stop)
			for range 5 {
				r.stopUnderLoad(d)
			}
			r.start(death{})
			close(stop)
			crowd.Wait()

			a := newAudit(r, d)
			a.run()
			a.checkBooks()
			t.Log(a.sum())
			a.checkNoWaste()
		})
	}
}

// checkNoWaste holds that everything was done once and nothing was paid for in vain.
func (a *audit) checkNoWaste() {
	a.t.Helper()
	for id, item := range a.items {
		if len(item.History) != 1 {
			a.t.Errorf("item %s was tried %d times: %s", id, len(item.History), encoded(item.History))
		}
	}
	for prompt, ran := range a.executions {
		if ran.Attempts > 1 { // some were never accepted, because the server no longer accepted jobs
			a.t.Errorf("%.60q ran %d times", prompt, ran.Attempts)
		}
	}
	for job, entries := range a.entries {
		for _, e := range entries {
			if e.Kind == penstock.EntryForfeit {
				a.t.Errorf("job %s: %v is forfeit for item %s", job, e.Cost, penstock.ViewItem.Format(e.Subject))
			}
		}
	}
}

// stopUnderLoad lets a server work for a while, asks it to stop, and watches how it does so. One item goes on until the
// server was seen to drain, so that it cannot be gone before.
func (r *rig) stopUnderLoad(d *diary) {
	r.t.Helper()
	l := r.start(death{stop: true})
	if l.pass(stopAfter + time.Duration(r.random.Int64N(int64(stopAfter)))) {
		r.t.Fatalf("the server ended by itself; it printed:\n%s", tail(l.Output()))
	}
	last := fmt.Sprintf("stop-%d", len(r.lives))
	id := r.client(d, calm).submit(r.t.Context(), d.orderFor(last, inference{prompt: fmt.Sprintf("%s [sim:tokens=5 hold=%[1]s]", last)}))
	r.awaitRunning(id, 1)
	asked := time.Now()
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	unready := r.watchDrain(l, last)
	r.bury(l)
	took := time.Since(asked)
	r.t.Logf("stopped within %v", took.Round(time.Millisecond))
	if took > shutdownGrace+stopSlack {
		r.t.Errorf("stopping took %v; the grace period is %v; the server printed:\n%s", took, shutdownGrace, tail(l.Output()))
	}
	if !unready {
		r.t.Errorf("the server never said that it was not ready while it stopped; it printed:\n%s", tail(l.Output()))
	}
}

// watchEvery is how often a stopping server is asked whether it is ready.
const watchEvery = 5 * time.Millisecond

// watchDrain asks whether the server is ready until it is gone, and reports whether it ever said no. When it does, its
// last item is let go.
func (r *rig) watchDrain(l *life, last string) (unready bool) {
	r.t.Helper()
	for {
		answer, err := r.admin.Try(r.t.Context(), Call{Method: http.MethodGet, Path: "/readyz"})
		switch {
		case err == nil && answer.Status == http.StatusServiceUnavailable:
			unready = true
			r.release(last)
		case err == nil && unready:
			r.t.Errorf("a server that was stopping became ready again: %d %s", answer.Status, answer.Body)
		}
		if l.pass(watchEvery) {
			return unready
		}
	}
}

package e2e

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
	overdue := first.watchClaims(stop)
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
	worst := <-overdue
	t.Logf("%v; %d kills; claims outlived the leases of their holders by %v at the most", a.sum(), kills, worst)
	if worst > recoverySlack {
		t.Errorf("a dead worker's items were taken over %v after its lease of %v ended", worst, leaseTimeout)
	}
}

// watchClaims looks for claims whose holders lost their leases, until stop is closed, and then tells for how long
// one of them was left lying at the most. A dead worker's lease ends no later than it lasts.
func (r *rig) watchClaims(stop <-chan struct{}) <-chan time.Duration {
	r.t.Helper()
	url, _ := r.lookup(databaseEnv)
	db, err := pgx.Connect(r.t.Context(), url)
	if err != nil {
		r.t.Fatal(err)
	}
	found := make(chan time.Duration, 1)
	go func() {
		defer db.Close(r.t.Context())
		var worst int64 // in microseconds
		for {
			var late int64
			err := db.QueryRow(r.t.Context(), `SELECT COALESCE(MAX(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 - l.expires_at), 0)::bigint
				FROM claims c JOIN leases l ON l.process_id = c.process_id AND l.epoch = c.epoch`).Scan(&late)
			if err != nil {
				r.t.Errorf("looking for claims: %v", err)
			}
			worst = max(worst, late)
			select {
			case <-stop:
				found <- time.Duration(worst) * time.Microsecond
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return found
}

package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the test that edits a database

	"penstock"
)

// at is a death at the first pass of a crash point.
func at(point string) death { return death{point: point, pass: 1, after: 3 * patience} }

// liveAt runs a life that must end at the first pass of a crash point.
func (r *rig) liveAt(point string) {
	r.t.Helper()
	if l := r.live(at(point)); l.crashed != point {
		r.t.Fatalf("the server did not come to %s; it printed:\n%s", point, tail(l.Output()))
	}
}

// orderFor makes an order of inferences that succeed.
func (d *diary) orderFor(name string, inferences ...inference) *order {
	o := &order{name: name, key: "key-" + name, inferences: inferences, ids: map[string]bool{}}
	d.note(func() { d.orders[name] = o })
	return o
}

// submitWhileDying submits an order to a server that dies at a crash point, and waits for its end. It
// returns the job's id if the server lived long enough to tell it; what the upstream holds under the order's name is let
// go when it was told.
func (r *rig) submitWhileDying(d *diary, o *order, point string) string {
	r.t.Helper()
	l := r.start(at(point))
	c := r.client(d, calm)
	id := ""
	answer, err := r.endpoint.Try(r.t.Context(), Call{Method: http.MethodPost, Path: "/v1/jobs", Body: c.orderBody(o),
		Header: map[string]string{"Idempotency-Key": o.key}})
	if o.sent++; err == nil {
		id = c.accepted(o, answer)
	}
	r.release(o.name)
	if l.pass(patience) {
		r.bury(l)
	}
	if l.crashed != point {
		r.t.Fatalf("the server did not come to %s; it printed:\n%s", point, tail(l.Output()))
	}
	return id
}

// TestCrashOfSuspect holds that an item which lost one worker after the other, at every moment of the claim that takes it as a
// suspect too, is not blamed for it: it runs in a child process, and succeeds.
func TestCrashOfSuspect(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r, d := newRig(t, on), newDiary()
			const unlucky = "unlucky [sim:tokens=5 hold=unlucky]" // it ends after it was accepted
			id := r.submitWhileDying(d, d.orderFor("unlucky", inference{prompt: unlucky}), "finish.begin")
			if id == "" {
				t.Fatal("the job was not accepted")
			}
			for range suspectCrashes - 1 {
				r.liveAt("finish.begin")
			}
			for _, moment := range moments {
				r.liveAt(suspectSteps[0] + "." + moment)
			}
			r.liveAt("finish.begin") // of the suspect itself
			r.start(death{})
			c := r.client(d, calm)
			c.await(t.Context(), c.submit(t.Context(), d.orderFor("next", inference{prompt: "harmless [sim:tokens=5]"})))

			a := newAudit(r, d)
			a.run()
			a.checkBooks()
			for _, item := range a.items {
				if item.Status != penstock.StatusSucceeded {
					t.Errorf("item of %s is %s with %v", item.JobID, item.Status, item.Error)
				}
				for i, attempt := range item.History {
					if suspect := item.JobID == id && i >= suspectCrashes; attempt.Isolated != suspect {
						t.Errorf("attempt %d of the item of %s: isolated is %v", i+1, item.JobID, attempt.Isolated)
					}
					if attempt.lost() && (attempt.Target == "" || attempt.StartedAt.IsZero()) {
						t.Errorf("the lost attempt %d does not say where and since when it ran: %+v", i+1, attempt)
					}
				}
			}
		})
	}
}

// TestCrashBeforeRunning holds that an item which no worker had yet is not blamed for the death of any.
func TestCrashBeforeRunning(t *testing.T) {
	t.Parallel()
	r, d := newRig(t, onSQLite), newDiary()
	want := inference{prompt: "patient [sim:tokens=5]"}
	o := d.orderFor("patient", want)
	if id := r.submitWhileDying(d, o, "submit.committed"); id != "" {
		t.Errorf("a server that died before it could answer accepted %s", id)
	}
	for range suspectCrashes + 1 {
		r.liveAt("claim.written")
	}
	r.start(death{})
	c := r.client(d, calm)
	c.await(t.Context(), c.submit(t.Context(), o))

	a := newAudit(r, d)
	a.run()
	a.checkBooks()
	if ran := a.executions[want.prompt]; ran.Attempts != 1 {
		t.Errorf("the item ran %d times, want once", ran.Attempts)
	}
}

// sweepStep is the transition that no load comes to: see TestCrashDuringCancelSweep.
const sweepStep = "cancel_items"

// TestCrashDuringCancelSweep kills the server at each moment of the sweep that cancels what a cancel
// left over. A job of the size that is accepted today is cancelled in one step, so the test itself puts
// the database into the state that a larger one would leave.
func TestCrashDuringCancelSweep(t *testing.T) {
	t.Parallel()
	r, d := newRig(t, onSQLite), newDiary()
	var many []inference
	for n := range 3 * slots {
		many = append(many, inference{prompt: fmt.Sprintf("swept %d [sim:fault=hang]", n)})
	}
	o := d.orderFor("swept", many...)
	if id := r.submitWhileDying(d, o, "submit.committed"); id != "" {
		t.Errorf("a server that died before it could answer accepted %s", id)
	}
	r.requestCancel()
	o.cancel = cancelHeard
	for _, moment := range moments {
		r.liveAt(sweepStep + "." + moment)
	}
	r.start(death{})
	c := r.client(d, calm)
	c.submit(t.Context(), o)

	a := newAudit(r, d)
	a.run()
	a.checkBooks()
	if s := a.sum(); s.statuses[penstock.StatusCancelled] != len(many) {
		t.Errorf("of %d items %v", len(many), s)
	}
}

// requestCancel notes in the database of a dead server that every job shall stop.
func (r *rig) requestCancel() {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.data, "penstock.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	res, err := db.ExecContext(r.t.Context(), `UPDATE jobs SET cancel_requested_at = ? WHERE finished_at = 0`, time.Now().UnixMicro())
	if err != nil {
		r.t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		r.t.Fatalf("%d jobs were marked as cancelled: %v", n, err)
	}
}

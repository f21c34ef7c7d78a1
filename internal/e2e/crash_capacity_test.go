package e2e

import (
	"testing"
)

// capacityStep is the transition that only processes make which share their targets: see
// TestCrashDuringWithdrawal.
const capacityStep = "withdraw"

// TestCrashDuringWithdrawal kills the server at each moment of a visit to the pools. What it had withdrawn
// is lost, and no work with it.
func TestCrashDuringWithdrawal(t *testing.T) {
	t.Parallel()
	r, d := newRig(t, onPostgres), newDiary()
	want := inference{prompt: "roomy [sim:tokens=5 hold=visit]"} // so that it runs while the visit is made
	o := d.orderFor("roomy", want)
	// A visit may begin before the order is accepted, so each life is sent it.
	for _, moment := range moments[:2] {
		r.submitWhileDying(d, o, capacityStep+"."+moment)
	}
	r.start(death{})
	r.release("visit")
	c := r.client(d, calm)
	c.await(t.Context(), c.submit(t.Context(), o))
	second := d.orderFor("second", inference{prompt: "roomy too [sim:tokens=5 hold=last-visit]"})
	for _, l := range r.lives {
		l.Kill()
	}
	r.submitWhileDying(d, second, capacityStep+"."+moments[2])
	r.release("last-visit")
	r.start(death{})
	c.await(t.Context(), c.submit(t.Context(), second))

	a := newAudit(r, d)
	a.run()
	a.checkBooks()
}

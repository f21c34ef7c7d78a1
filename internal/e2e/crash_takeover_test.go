package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"penstock"
)

// takeoverSlack is for noticing that a lease is over, for which processes look once a second, and for a machine that does
// other things too.
const takeoverSlack = 2 * time.Second

// TestCrashTakeover kills a busy server beside an idle one on the same database, and holds that the idle
// one runs the dead one's items within a lease, without anything being started again.
func TestCrashTakeover(t *testing.T) {
	t.Parallel()
	survivor, d := newRig(t, onPostgres), newDiary()
	victim := survivor.twin()
	v := victim.start(death{})
	var many []inference
	for n := range slots {
		many = append(many, inference{prompt: fmt.Sprintf("item %d [sim:tokens=5 hold=takeover]", n)})
	}
	c := victim.client(d, calm)
	id := c.submit(t.Context(), d.orderFor("shared", many...))
	victim.awaitRunning(id, len(many))
	survivor.start(death{})
	killed := time.Now()
	v.Kill()
	survivor.release("takeover")

	a := newAudit(survivor, d)
	a.run()
	a.checkBooks()
	var delays []time.Duration
	for _, item := range a.items {
		if item.Status != penstock.StatusSucceeded || len(item.History) > 2 {
			t.Errorf("item %s is %s after %d attempts", item.ItemID, item.Status, len(item.History))
		}
		if item.lost() > 0 && len(item.History) == 2 {
			delays = append(delays, item.History[1].StartedAt.Sub(killed))
		}
	}
	slices.Sort(delays)
	t.Logf("%d items of the dead server ran again after p50 %v, max %v", len(delays), quantile(delays, 0.5), quantile(delays, 1))
	if len(delays) != len(many) {
		t.Errorf("%d items ran again; the dead server had %d", len(delays), len(many))
	}
	if worst := quantile(delays, 1); worst > leaseTimeout+takeoverSlack {
		t.Errorf("an item took %v to run again; a lease lasts %v", worst, leaseTimeout)
	}
}

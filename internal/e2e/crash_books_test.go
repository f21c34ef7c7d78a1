package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
)

// sums are the figures of a run.
type sums struct {
	jobs, items int
	statuses    map[penstock.Status]int // of items
	poisoned    int                     // items that ended their child processes
	lost        int                     // claims whose worker died
	reruns      int                     // executions to the end beyond the first of each item
	recoveries  []time.Duration         // how long lost items took to run again once a server was ready
	suspects    []time.Duration         // the same, of items that lost so many workers that they run in a child process
}

// sum adds up what the kills cost.
func (a *audit) sum() sums {
	s := sums{items: len(a.items), jobs: len(a.finals), statuses: map[penstock.Status]int{}}
	for _, item := range a.items {
		s.statuses[item.Status]++
		if item.Error != nil && item.Error.Code == penstock.CodePoison {
			s.poisoned++
		}
		deaths := 0
		for i, attempt := range item.History {
			if !attempt.lost() {
				continue
			}
			s.lost++
			deaths++
			if i+1 == len(item.History) || item.History[i+1].lost() {
				continue
			}
			// The server that took the item from its dead worker may have died before it ran it.
			rescued, again := attempt.FinishedAt, item.History[i+1].StartedAt
			if l := a.aliveAt(again); l != nil && rescued.After(l.begun) {
				delay := max(0, again.Sub(l.ready)) // how long a start takes is the machine's affair
				if deaths >= suspectCrashes {
					s.suspects = append(s.suspects, delay)
				} else {
					s.recoveries = append(s.recoveries, delay)
				}
			}
		}
	}
	for _, ran := range a.executions {
		s.reruns += max(0, int(ran.Completed)-1)
	}
	slices.Sort(s.recoveries)
	slices.Sort(s.suspects)
	return s
}

// aliveAt is the server that lived at a time.
func (a *audit) aliveAt(at time.Time) (found *life) {
	for _, l := range a.lives {
		if l.begun.Before(at) {
			found = l
		}
	}
	return found
}

// checkBooks stops the server and audits the ledger, by the command and in the store itself.
func (a *audit) checkBooks() {
	a.t.Helper()
	if code := a.server().Stop(); code != 0 {
		a.t.Errorf("the last server stopped with code %d:\n%s", code, a.lastLog())
	}
	command := Start(a.t, a.env, "ledger", "verify", "--config", a.config)
	if code := command.Exit(); code != 0 {
		a.t.Errorf("ledger verify ended with code %d:\n%s", code, command.Output())
	}
	store := a.openStore()
	report, err := store.VerifyLedger(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range report.Problems {
		a.t.Error("ledger: " + p)
	}
	if int(report.Items) != len(a.items) {
		a.t.Errorf("the ledger knows %d items, the API %d", report.Items, len(a.items))
	}
	for id := range a.finals {
		job, err := penstock.ViewJob.Parse(id)
		if err != nil {
			a.t.Fatal(err)
		}
		if a.entries[id], err = store.JobEntries(a.t.Context(), tenant, job); err != nil {
			a.t.Errorf("ledger entries of %s: %v", id, err)
		}
		if err := a.checkEntries(a.entries[id]); err != nil {
			a.t.Errorf("job %s: %v; its entries are\n%s", id, err, encoded(a.entries[id]))
		}
	}
}

// checkEntries holds that each item is settled once, and that what its lost workers may have spent is
// forfeit once for each of them.
func (a *audit) checkEntries(entries []penstock.LedgerEntry) error {
	settled, forfeit := map[string]int{}, map[string]int{}
	reserved := 0
	for _, e := range entries {
		switch item := penstock.ViewItem.Format(e.Subject); e.Kind {
		case penstock.EntryReserve:
			reserved++
		case penstock.EntrySettle, penstock.EntryRelease:
			settled[item]++
			if tries := len(a.items[item].History); (tries > 0) != (e.Kind == penstock.EntrySettle) {
				return fmt.Errorf("item %s is booked as %s after %d attempts", item, e.Kind, tries)
			}
			if e.Cost != a.items[item].Usage.Cost {
				return fmt.Errorf("item %s is settled at %v and shown at %v", item, e.Cost, a.items[item].Usage.Cost)
			}
		case penstock.EntryForfeit:
			forfeit[item]++
		}
	}
	if reserved != 1 {
		return fmt.Errorf("reserved %d times", reserved)
	}
	for item, n := range settled {
		lost, unknown := a.items[item].lost(), a.items[item].unknown()
		if n != 1 || forfeit[item] < lost || forfeit[item] > unknown {
			return fmt.Errorf("item %s is settled %d times and forfeit %d times, with %d attempts lost and %d of unknown usage",
				item, n, forfeit[item], lost, unknown)
		}
	}
	return nil
}

// quantile is the value below which a part of a sorted list lies.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(float64(len(sorted))*part), len(sorted)-1)]
}

func (s sums) String() string {
	var statuses []string
	for _, status := range penstock.Statuses {
		if n := s.statuses[status]; n > 0 {
			statuses = append(statuses, fmt.Sprintf("%d %s", n, status))
		}
	}
	return fmt.Sprintf("%d jobs, %d items (%s; %d of them poisoned); %d claims lost, %d items run again to the end; "+
		"recovery after a restart p50 %v, max %v", s.jobs, s.items, strings.Join(statuses, ", "), s.poisoned, s.lost, s.reruns,
		quantile(s.recoveries, 0.5).Round(time.Millisecond), quantile(s.recoveries, 1).Round(time.Millisecond))
}

// recoverySlack is for a machine that does other things too.
const recoverySlack = 3 * time.Second

// suspicion is what suspects may take longer: they run a few at a time, and a child process has to start.
const suspicion = 5 * time.Second

// checkFigures holds that the kills cost no more than they may: the work of the slots, and one lease.
func (a *audit) checkFigures() {
	a.t.Helper()
	s := a.sum()
	kills, leases := a.kills(), a.leasesLost()
	a.t.Logf("%v; leases lost alive: %d", s, leases)
	// What a server was at is what had a slot, and what had ended and waited to be recorded, as much again at the most.
	if bound := (kills + leases) * 2 * slots; s.lost > bound || s.reruns > bound {
		a.t.Errorf("%d claims were lost and %d items ran again; %d kills with %d slots explain %d",
			s.lost, s.reruns, kills, slots, bound)
	}
	if worst := quantile(s.suspects, 1); worst > leaseTimeout+recoverySlack+suspicion {
		a.t.Errorf("a suspect took %v to run again after a restart", worst)
	}
	if s.poisoned > 0 {
		a.t.Errorf("%d items are poison, though nothing was wrong with them", s.poisoned)
	}
	if worst := quantile(s.recoveries, 1); worst > leaseTimeout+recoverySlack {
		a.t.Errorf("an item took %v to run again after a restart; a lease lasts %v", worst, leaseTimeout)
	}
}

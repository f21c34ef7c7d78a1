package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

func controlCases() []testCase {
	return []testCase{
		{"what is set is in force until it is lifted", controlSetAndLift},
		{"setting again changes state and reason, not since when", controlSetAgain},
		{"every change is in the audit, and nothing else is", controlAudit},
		{"running items are counted by lane, model and tenant", controlRunning},
		{"calls on a target are summed over the reports of all processes", controlCalls},
		{"controls are bounded", controlBound},
		{"operators who set the same thing at once agree", controlTogether},
		{"a control is changed as it is known, or not", controlConditions},
		{"a control is set only where none exists", controlsOnce},
		{"a dry run of a control changes nothing", controlDryRuns},
		{"a reload is in the audit of operators", reloadAudit},
	}
}

func (r *rig) controls() []store.Control {
	r.t.Helper()
	all, err := r.s.ListControls(r.t.Context())
	r.must("list controls", err)
	return all
}

func (r *rig) hold(c store.Control) store.Control {
	r.t.Helper()
	set, err := r.s.SetControl(r.t.Context(), c, store.Condition{Actor: c.Actor})
	r.must("set control", err)
	return set
}

func (r *rig) pauseOf(kind store.ControlKind, name string) store.Control {
	return store.Control{Kind: kind, Name: name, State: store.ControlPaused, Reason: "the provider is down", Actor: "ada"}
}

func controlSetAndLift(r *rig) {
	r.wantSame("controls of an empty store", r.controls(), []store.Control{})
	lane, tenant := r.pauseOf(store.ControlLane, "bulk"), r.pauseOf(store.ControlTenant, "bulk") // one name, two things
	set := r.hold(tenant)
	if !set.Since.Equal(r.clock.Now()) {
		r.t.Errorf("set at %v, want %v", set.Since, r.clock.Now())
	}
	r.hold(lane)
	lane.Since, tenant.Since = r.clock.Now(), r.clock.Now()
	r.wantSame("controls", r.controls(), []store.Control{lane, tenant})

	for range 2 {
		r.must("lift control", r.s.LiftControl(r.t.Context(), store.Control{Kind: store.ControlLane, Name: "bulk"}, store.Condition{Actor: "bob"}))
		r.wantSame("controls after the lane was resumed", r.controls(), []store.Control{tenant})
	}
}

func controlSetAgain(r *rig) {
	first := r.hold(r.pauseOf(store.ControlModel, "fast"))
	r.clock.Advance(time.Minute)
	same := r.pauseOf(store.ControlModel, "fast")
	same.Actor = "bob"
	r.wantSame("set again", r.hold(same), first)

	drain := same
	drain.State, drain.Reason = store.ControlDraining, "moving it"
	changed := r.hold(drain)
	if !changed.Since.Equal(first.Since) || changed.Actor != "bob" || changed.State != store.ControlDraining {
		r.t.Errorf("changed to %+v, want bob's drain since %v", changed, first.Since)
	}
	r.wantSame("controls", r.controls(), []store.Control{changed})
}

func controlRunning(r *rig) {
	bulk := r.submission(3)
	bulk.Job.Lane, bulk.Job.Model, bulk.Job.Tenant = penstock.LaneBulk, "big", umbra
	r.submit(bulk)
	r.submitN(2)
	other := r.submission(1) // by another name
	other.Job.Lane, other.Job.Model, other.Job.Tenant, other.Job.Resolved.Model = penstock.LaneBulk, "anything", umbra, "big"
	r.submit(other)
	l := r.lease("worker")
	claims := r.claimN(l, 6)
	for _, c := range []store.Control{
		r.pauseOf(store.ControlLane, "bulk"), r.pauseOf(store.ControlLane, "realtime"), r.pauseOf(store.ControlModel, "big"),
		r.pauseOf(store.ControlTenant, string(acme)), r.pauseOf(store.ControlTarget, "first"),
	} {
		r.hold(c)
	}
	running := func() map[string]int64 {
		counts := map[string]int64{}
		for _, c := range r.controls() {
			counts[fmt.Sprintf("%s/%s", c.Kind, c.Name)] = c.Running
		}
		return counts
	}
	r.wantSame("running", running(), map[string]int64{"lane/bulk": 4, "lane/realtime": 0, "model/big": 4, "tenant/acme": 2, "target/first": -1})
	r.win(r.endings(claims, penstock.TransitionSucceed)...)
	r.wantSame("running after all ended", running(), map[string]int64{"lane/bulk": 0, "lane/realtime": 0, "model/big": 0, "tenant/acme": 0, "target/first": -1})
}

func controlCalls(r *rig) {
	hasty, slow, dead := r.lease("hasty"), r.lease("slow"), r.lease("dead")
	report := func(l store.Lease, calls map[string]int) {
		r.t.Helper()
		r.must("renew", r.s.RenewLease(r.t.Context(), l, store.Renewal{TTL: leaseTTL, Calls: calls}))
	}
	want := func(when string, running int64) {
		r.t.Helper()
		all := r.controls()
		if len(all) != 1 || all[0].Running != running {
			r.t.Errorf("%s: %+v, want %d running", when, all, running)
		}
	}
	r.hold(r.pauseOf(store.ControlTarget, "first"))
	want("no process has reported", -1)
	for _, l := range []store.Lease{hasty, slow, dead} {
		report(l, map[string]int{"first": 1, "second": 5})
	}
	want("calls may still begin", -1)
	r.clock.Advance(store.Settled)
	report(hasty, map[string]int{"first": 0})
	report(slow, nil)
	want("one does not know of it", -1)
	report(slow, map[string]int{"first": 2})
	want("one process has not reported since", -1)
	r.clock.Advance(leaseTTL - store.Settled + time.Second)
	report(hasty, map[string]int{"first": 0})
	report(slow, map[string]int{"first": 2})
	want("the third is dead", 2)
	report(slow, map[string]int{"first": 0, "second": 1})
	want("the last call ended", 0)
	r.lease("slow")
	want("one starts anew", -1)
}

func controlBound(r *rig) {
	var group errgroup.Group
	group.SetLimit(16)
	for n := range store.MaxControls {
		group.Go(func() error {
			_, err := r.s.SetControl(r.t.Context(), r.pauseOf(store.ControlTarget, fmt.Sprintf("t-%d", n)), store.Condition{Actor: "ada"})
			return err
		})
	}
	r.must("set many controls", group.Wait())
	_, err := r.s.SetControl(r.t.Context(), r.pauseOf(store.ControlTarget, "one-too-many"), store.Condition{Actor: "ada"})
	r.wantCode("one control too many", err, penstock.CodeConflict)
	drain := r.pauseOf(store.ControlTarget, "t-7")
	drain.State = store.ControlDraining
	r.hold(drain) // what is there can still be changed
}

func controlTogether(r *rig) {
	var group errgroup.Group
	for n := range 8 {
		group.Go(func() error {
			c := r.pauseOf(store.ControlLane, "bulk")
			c.Reason = fmt.Sprintf("reason %d", n)
			_, err := r.s.SetControl(r.t.Context(), c, store.Condition{Actor: c.Actor})
			return err
		})
		group.Go(func() error {
			return r.s.LiftControl(r.t.Context(), store.Control{Kind: store.ControlLane, Name: "bulk"}, store.Condition{Actor: "bob"})
		})
	}
	r.must("set and lift together", group.Wait())
	if all := r.controls(); len(all) > 1 {
		r.t.Errorf("one lane is held back %d times", len(all))
	}
}

func controlAudit(r *rig) {
	pause := r.pauseOf(store.ControlLane, "bulk")
	r.hold(pause)
	r.hold(pause) // changes nothing
	drain := pause
	drain.State, drain.Actor = store.ControlDraining, "bob"
	r.hold(drain)
	for range 2 { // the second changes nothing
		r.must("lift control", r.s.LiftControl(r.t.Context(), store.Control{Kind: store.ControlLane, Name: "bulk"}, store.Condition{Actor: "eve"}))
	}
	r.hold(r.pauseOf(store.ControlTenant, string(umbra)))
	read := func(tenant penstock.TenantID) (lines []string) {
		entries, err := r.s.AuditEntries(r.t.Context(), tenant, store.AuditPage{Limit: everything})
		r.must("read the audit", err)
		for _, e := range entries {
			var before, after struct{ State string }
			r.must("read what was", json.Unmarshal(e.Before, &before))
			r.must("read what became of it", json.Unmarshal(e.After, &after))
			lines = append(lines, fmt.Sprintf("%s %s %s: %s > %s", e.Actor, e.Action, e.Subject, before.State, after.State))
		}
		return lines
	}
	r.wantSame("audit of the operators", read(store.AuditOfOperators), []string{
		"eve control.lift lane/bulk: draining > ", "bob control.set lane/bulk: paused > draining", "ada control.set lane/bulk:  > paused",
	})
	r.wantSame("audit of the tenant", read(umbra), []string{"ada control.set tenant/umbra:  > paused"})
	r.wantSame("audit of another", read(acme), []string{})
}

// reloadAudit reads what is noted of a new configuration.
func reloadAudit(r *rig) {
	r.must("note a reload", r.s.NoteReload(r.t.Context(), store.Reload{Actor: "ada", Before: "cfg_1", After: "cfg_2", Changes: []string{"models.fast: added"}}))
	entries, err := r.s.AuditEntries(r.t.Context(), store.AuditOfOperators, store.AuditPage{Limit: everything})
	r.must("read the audit", err)
	if len(entries) != 1 || entries[0].Actor != "ada" || entries[0].Action != store.ActionReload || string(entries[0].Before) != `{"config":"cfg_1"}` ||
		string(entries[0].After) != `{"changes":["models.fast: added"],"config":"cfg_2"}` {
		r.t.Errorf("the audit has %+v", entries)
	}
}

// controlConditions changes a control that another operator changed meanwhile.
func controlConditions(r *rig) {
	pause := r.pauseOf(store.ControlLane, "bulk")
	_, err := r.s.SetControl(r.t.Context(), pause, store.Condition{Actor: "ada", IfVersion: 5})
	r.wantCode("change what is not there", err, penstock.CodeConflict)
	first := r.hold(pause)
	drain := pause
	drain.State = store.ControlDraining
	second, err := r.s.SetControl(r.t.Context(), drain, store.Condition{Actor: "ada", IfVersion: first.Version()})
	r.must("change what is known", err)
	if second.Version() == first.Version() {
		r.t.Errorf("a change left the version at %d", first.Version())
	}
	_, err = r.s.SetControl(r.t.Context(), pause, store.Condition{Actor: "bob", IfVersion: first.Version()})
	r.wantCode("change what was changed", err, penstock.CodeConflict)
	r.wantCode("lift what was changed", r.s.LiftControl(r.t.Context(), pause, store.Condition{Actor: "bob", IfVersion: first.Version()}), penstock.CodeConflict)
	r.wantSame("controls", r.controls(), []store.Control{second})
	r.must("lift what is known", r.s.LiftControl(r.t.Context(), pause, store.Condition{Actor: "bob", IfVersion: second.Version()}))
	r.wantSame("controls after it was lifted", r.controls(), []store.Control{})
}

// controlsOnce pauses only where no pause exists: one after the other, and at once.
func controlsOnce(r *rig) {
	pause := r.pauseOf(store.ControlLane, "bulk")
	const operators = 8
	var set, refused atomic.Int64
	var group sync.WaitGroup
	for n := range operators {
		group.Go(func() {
			mine := pause
			mine.Reason = fmt.Sprintf("reason %d", n)
			switch _, err := r.s.SetControl(r.t.Context(), mine, store.Condition{Actor: "ada", IfAbsent: true}); {
			case err == nil:
				set.Add(1)
			case errors.Is(err, penstock.ErrStale):
				refused.Add(1)
			default:
				r.t.Errorf("pause at once: %v", err)
			}
		})
	}
	group.Wait()
	if set.Load() != 1 || refused.Load() != operators-1 {
		r.t.Errorf("of %d pauses at once, %d were set and %d refused", operators, set.Load(), refused.Load())
	}
	_, err := r.s.SetControl(r.t.Context(), pause, store.Condition{Actor: "bob", IfAbsent: true})
	r.wantCode("pause what is paused", err, penstock.CodeConflict)
	r.must("resume", r.s.LiftControl(r.t.Context(), pause, store.Condition{Actor: "bob"}))
	_, err = r.s.SetControl(r.t.Context(), pause, store.Condition{Actor: "bob", IfAbsent: true})
	r.must("pause what was resumed", err)
}

// controlDryRuns tries a pause and its end.
func controlDryRuns(r *rig) {
	pause := r.pauseOf(store.ControlLane, "bulk")
	set, err := r.s.SetControl(r.t.Context(), pause, store.Condition{Actor: "ada", DryRun: true})
	r.must("try a pause", err)
	if set.State != store.ControlPaused || len(r.controls()) != 0 {
		r.t.Errorf("a dry run answers %+v and leaves %+v", set, r.controls())
	}
	r.hold(pause)
	r.must("try its end", r.s.LiftControl(r.t.Context(), pause, store.Condition{Actor: "ada", DryRun: true}))
	entries, err := r.s.AuditEntries(r.t.Context(), store.AuditOfOperators, store.AuditPage{Limit: everything})
	r.must("read the audit", err)
	if len(r.controls()) != 1 || len(entries) != 1 {
		r.t.Errorf("dry runs leave %d controls and %d entries in the audit", len(r.controls()), len(entries))
	}
}

package backlog

import (
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// LoadReport is the load as operators see it: the queue over all processes, and the targets as the
// process that answers knows them.
type LoadReport struct {
	Report
	Targets []TargetLoad `json:"targets"`
}

// TargetLoad is the use of a target by one process. The limits are those of all processes together.
type TargetLoad struct {
	Name           string       `json:"name"`
	State          TargetState  `json:"state"`
	Running        int          `json:"running"`
	Permits        int          `json:"permits"` // calls that may run at a time
	CallsPerSecond float64      `json:"calls_per_second"`
	RestSeconds    float64      `json:"rest_seconds"` // the rest of a pause that the target asked for
	Throttles      int64        `json:"throttles"`    // refusals so far, for limits or for load
	Limits         []TargetRate `json:"limits"`       // those that are known
}

// TargetRate is a limit per minute of a target.
type TargetRate struct {
	Resource  string `json:"resource"` // requests, input_tokens, output_tokens, tokens
	PerMinute int64  `json:"per_minute"`
	Used      int64  `json:"used"`    // the use per minute at the recent rate
	Learned   bool   `json:"learned"` // from the headers of answers, if the configuration has no limit
}

// TargetState is whether calls may be made.
type TargetState string

// The states of a target. The first that applies is reported.
const (
	TargetPaused  TargetState = "paused"  // by an operator; draining targets are paused too
	TargetBroken  TargetState = "broken"  // its calls fail: no call is made until the next probe
	TargetProbed  TargetState = "probed"  // one call at a time tests whether it works again
	TargetResting TargetState = "resting" // it asked us to wait
	TargetOpen    TargetState = "open"
)

// Controls is the view of what operators paused.
type Controls interface {
	Paused(kind store.ControlKind, name string) (store.Control, bool)
}

// Targets reports the load of the targets in this process.
type Targets interface {
	Status() []capacity.Status
}

// LoadDeps are the dependencies of Load.
type LoadDeps struct {
	View     *View
	Config   *config.Live
	Controls Controls
	Targets  Targets
	Process  func() Process // this process as it is now
}

// Load describes the load of the queue and of the targets. It is safe for concurrent use.
type Load struct{ LoadDeps }

// NewLoad returns a Load, which computes every report on demand.
func NewLoad(d LoadDeps) *Load { return &Load{d} }

// Report describes the load to operators.
func (l *Load) Report() LoadReport {
	r := LoadReport{Report: l.report(), Targets: []TargetLoad{}}
	configured := l.Config.Current().Targets
	for _, s := range l.Targets.Status() {
		if _, ok := configured[s.Target]; ok { // else a reload removed it
			r.Targets = append(r.Targets, l.target(s))
		}
	}
	return r
}

func (l *Load) report() Report {
	lanes := l.Config.Current().Lanes
	return l.View.Report(l.Process(), func(lane penstock.Lane) time.Duration { return lanes.Of(lane).SLOWait })
}

func (l *Load) target(s capacity.Status) TargetLoad {
	t := TargetLoad{
		Name: s.Target, State: l.state(s), Running: s.Running, Permits: s.Limit, CallsPerSecond: s.Pace,
		RestSeconds: s.Rest.Seconds(), Throttles: s.Throttles, Limits: []TargetRate{},
	}
	for _, rate := range s.Rates {
		t.Limits = append(t.Limits, TargetRate{Resource: rate.Resource, PerMinute: rate.PerMinute, Used: rate.Used, Learned: rate.Learned})
	}
	return t
}

func (l *Load) state(s capacity.Status) TargetState {
	_, paused := l.Controls.Paused(store.ControlTarget, s.Target)
	switch {
	case paused:
		return TargetPaused
	case s.Breaker == capacity.BreakerOpen:
		return TargetBroken
	case s.Breaker == capacity.BreakerHalfOpen:
		return TargetProbed
	case s.Rest > 0:
		return TargetResting
	}
	return TargetOpen
}

// TargetStates lists every state.
var TargetStates = []TargetState{TargetPaused, TargetBroken, TargetProbed, TargetResting, TargetOpen}

// StateOf is the state of a target as this process knows it; open for a target that was not called yet.
func (l *Load) StateOf(target string) TargetState {
	for _, s := range l.Targets.Status() {
		if s.Target == target {
			return l.state(s)
		}
	}
	return l.state(capacity.Status{Target: target})
}

// Metrics describes the load to metrics.
func (l *Load) Metrics() telemetry.Load {
	report := l.report()
	load := telemetry.Load{DesiredWorkers: report.Workers, Unknown: !report.Current}
	for _, row := range report.Lanes {
		load.Lanes = append(load.Lanes, telemetry.LaneLoad{
			Lane: penstock.Lane(row.Name), DesiredSlots: row.Slots, DrainItemsPerSec: row.DrainPerSecond, ArrivalsPerSecond: row.ArrivalsPerSecond,
		})
	}
	for _, row := range report.Tenants {
		load.Tenants = append(load.Tenants, telemetry.TenantLoad{Tenant: row.Name, Ready: row.Ready, Parked: row.Parked, Running: row.Running})
	}
	return load
}

// TenantLanes describes the lanes of one tenant.
func (l *Load) TenantLanes(tenant penstock.TenantID) TenantReport { return l.View.TenantLanes(tenant) }

package store

import (
	"time"

	"penstock"
)

// ControlKind is the kind of object that an operator can pause or drain.
type ControlKind string

// The kinds.
const (
	ControlLane   ControlKind = "lane"
	ControlModel  ControlKind = "model"
	ControlTarget ControlKind = "target"
	ControlTenant ControlKind = "tenant"
)

// ControlKinds lists every kind.
var ControlKinds = []ControlKind{ControlLane, ControlModel, ControlTarget, ControlTenant}

// ControlState is the state of a control. Both states start nothing new and let running work finish.
type ControlState string

// The states.
const (
	ControlPaused   ControlState = "paused"   // until it is resumed
	ControlDraining ControlState = "draining" // an operator waits until nothing of it runs
)

// Control pauses or drains one lane, model, target or tenant.
type Control struct {
	Kind   ControlKind
	Name   string
	State  ControlState
	Reason string // in the operator's words; callers that are refused read it
	Actor  string // who did it
	Since  time.Time

	// Running is the number of job items that still run, in all processes. Of a target it is the number of open calls,
	// synchronous ones included: processes report them with their heartbeats. It is -1 until every live process has
	// reported, [Settled] after the control was set.
	Running int64
}

// Settled is how long after a target was paused a call may still begin on it: a call that found the target open waits for
// capacity, but no longer than that.
const Settled = 6 * time.Second

// Version identifies the state of a control for conditional changes; 0 for a control that is not there.
func (c *Control) Version() int64 {
	if c.State == "" {
		return 0
	}
	return penstock.VersionOf(c.State, c.Reason, c.Actor, c.Since.UnixMicro())
}

// The audited actions on controls.
const (
	ActionSetControl  = "control.set"
	ActionLiftControl = "control.lift"
)

// AuditOfOperators is the owner of audit entries that concern no single tenant: lanes, models and targets. No tenant can
// have that name.
const AuditOfOperators penstock.TenantID = "-"

package store

import (
	"time"

	"penstock"
)

// ControlKind is a kind of thing that an operator can hold back.
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

// ControlState is how a thing is held back. Both states start nothing new and let what runs finish.
type ControlState string

// The states.
const (
	ControlPaused   ControlState = "paused"   // until it is resumed
	ControlDraining ControlState = "draining" // somebody waits for the last of it to finish
)

// Control holds one lane, model, target or tenant back.
type Control struct {
	Kind   ControlKind
	Name   string
	State  ControlState
	Reason string // the operator's own words; callers who are refused read them
	Actor  string // who did it
	Since  time.Time

	// Running is how many items of jobs still run, in all processes. Of a target it is how many calls do, synchronous ones
	// too: processes tell with their heartbeats, and it is -1 until all of them have done so that are alive, [Settled] after
	// it was held back.
	Running int64
}

// Settled is how long after a target was held back a call may begin on it all the same: one that had found it open waits for
// room, but not longer.
const Settled = 6 * time.Second

// Version names what a control says, for those who change it as they know it; 0 for one that is not there.
func (c *Control) Version() int64 {
	if c.State == "" {
		return 0
	}
	return penstock.VersionOf(c.State, c.Reason, c.Actor, c.Since.UnixMicro())
}

// What the audit calls a change of a control.
const (
	ActionSetControl  = "control.set"
	ActionLiftControl = "control.lift"
)

// AuditOfOperators is whose audit tells of what is no tenant's own: lanes, models and targets. No tenant
// can have that name.
const AuditOfOperators penstock.TenantID = "-"

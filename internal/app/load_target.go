package app

import (
	"penstock/internal/backlog"
	"penstock/internal/capacity"
	"penstock/internal/store"
)

// LoadReport is what operators are told of the load: the queue as it is over all processes, and the targets as the
// process that answers knows them.
type LoadReport struct {
	backlog.Report
	Targets []TargetLoad `json:"targets"`
}

// TargetLoad is how much of a target one process uses, and how much more it may. The limits are those of all
// processes together.
type TargetLoad struct {
	Name           string       `json:"name"`
	State          TargetState  `json:"state"`
	Running        int          `json:"running"`
	Permits        int          `json:"permits"` // calls that may run at a time
	CallsPerSecond float64      `json:"calls_per_second"`
	RestSeconds    float64      `json:"rest_seconds"` // for which it is still left alone because it asked for that
	Throttles      int64        `json:"throttles"`    // answers so far that refused us, for limits or for load
	Limits         []TargetRate `json:"limits"`       // those that are known
}

// TargetRate is a limit per minute of a target.
type TargetRate struct {
	Resource  string `json:"resource"` // requests, input_tokens, output_tokens, tokens
	PerMinute int64  `json:"per_minute"`
	Used      int64  `json:"used"`    // about so much in a minute, at the pace of late
	Learned   bool   `json:"learned"` // from the headers of answers, where the configuration has none
}

// TargetState says whether calls may be made.
type TargetState string

// The states of a target. The first that holds is told.
const (
	TargetPaused  TargetState = "paused"  // by an operator; draining ones are too
	TargetBroken  TargetState = "broken"  // its calls fail: nothing is sent until the next probe
	TargetProbed  TargetState = "probed"  // one call at a time finds out whether it works again
	TargetResting TargetState = "resting" // it asked to be left alone
	TargetOpen    TargetState = "open"
)

// callsHeldBack is how many calls this process makes on each target that an operator holds back.
func (a *app) callsHeldBack() map[string]int {
	held := a.controls.Names(store.ControlTarget)
	if len(held) == 0 {
		return nil
	}
	calls := make(map[string]int, len(held))
	for _, name := range held {
		calls[name] = 0
	}
	for _, s := range a.capacity.Status() {
		if _, ok := calls[s.Target]; ok {
			calls[s.Target] = s.Running
		}
	}
	return calls
}

// loadReport describes the load to operators.
func (a *app) loadReport() LoadReport {
	r := LoadReport{Report: a.report(), Targets: []TargetLoad{}}
	configured := a.live.Current().Targets
	for _, s := range a.capacity.Status() {
		if _, ok := configured[s.Target]; !ok {
			continue // a reload removed it
		}
		r.Targets = append(r.Targets, a.targetLoad(s))
	}
	return r
}

func (a *app) targetLoad(s capacity.Status) TargetLoad {
	t := TargetLoad{
		Name: s.Target, State: a.targetState(s), Running: s.Running, Permits: s.Limit, CallsPerSecond: s.Pace,
		RestSeconds: s.Rest.Seconds(), Throttles: s.Throttles, Limits: []TargetRate{},
	}
	for _, rate := range s.Rates {
		t.Limits = append(t.Limits, TargetRate{Resource: rate.Resource, PerMinute: rate.PerMinute, Used: rate.Used, Learned: rate.Learned})
	}
	return t
}

func (a *app) targetState(s capacity.Status) TargetState {
	_, paused := a.controls.Paused(store.ControlTarget, s.Target)
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

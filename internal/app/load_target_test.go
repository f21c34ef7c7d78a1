package app

import (
	"context"
	"testing"
	"time"

	"penstock/internal/capacity"
	"penstock/internal/control"
	"penstock/internal/store"
)

type pausedTargets []string

func (p pausedTargets) ListControls(context.Context) ([]store.Control, error) {
	var all []store.Control
	for _, name := range p {
		all = append(all, store.Control{Kind: store.ControlTarget, Name: name, State: store.ControlPaused})
	}
	return all, nil
}

func TestTargetStateTellsWhatHoldsCallsBack(t *testing.T) {
	t.Parallel()
	a := &app{controls: control.New(control.Deps{Store: pausedTargets{"held"}})}
	if err := a.controls.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status capacity.Status
		want   TargetState
	}{
		{capacity.Status{Target: "a", Breaker: capacity.BreakerClosed}, TargetOpen},
		{capacity.Status{Target: "a", Breaker: capacity.BreakerClosed, Rest: time.Second}, TargetResting},
		{capacity.Status{Target: "a", Breaker: capacity.BreakerHalfOpen, Rest: time.Second}, TargetProbed},
		{capacity.Status{Target: "a", Breaker: capacity.BreakerOpen, Rest: time.Second}, TargetBroken},
		{capacity.Status{Target: "held", Breaker: capacity.BreakerOpen, Rest: time.Second}, TargetPaused},
	} {
		if got := a.targetState(tt.status); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.status, got, tt.want)
		}
	}
}

package app

import (
	"context"
	"testing"
	"time"

	"penstock/internal/control"
	"penstock/internal/room"
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
		status room.Status
		want   TargetState
	}{
		{room.Status{Target: "a", Breaker: room.BreakerClosed}, TargetOpen},
		{room.Status{Target: "a", Breaker: room.BreakerClosed, Rest: time.Second}, TargetResting},
		{room.Status{Target: "a", Breaker: room.BreakerHalfOpen, Rest: time.Second}, TargetProbed},
		{room.Status{Target: "a", Breaker: room.BreakerOpen, Rest: time.Second}, TargetBroken},
		{room.Status{Target: "held", Breaker: room.BreakerOpen, Rest: time.Second}, TargetPaused},
	} {
		if got := a.targetState(tt.status); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.status, got, tt.want)
		}
	}
}

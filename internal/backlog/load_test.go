package backlog

import (
	"testing"
	"time"

	"penstock/internal/capacity"
	"penstock/internal/store"
)

// paused is a set of paused targets.
type paused map[string]bool

func (p paused) Paused(kind store.ControlKind, name string) (store.Control, bool) {
	return store.Control{Kind: kind, Name: name}, kind == store.ControlTarget && p[name]
}

func TestTargetState(t *testing.T) {
	t.Parallel()
	l := NewLoad(LoadDeps{Controls: paused{"held": true}})
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
		if got := l.state(tt.status); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.status, got, tt.want)
		}
	}
}

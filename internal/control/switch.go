package control

import (
	"context"
	"log/slog"

	"penstock/internal/store"
)

// Store keeps controls. Every change is audited.
type Store interface {
	SetControl(ctx context.Context, c store.Control, on store.Condition) (store.Control, error)
	LiftControl(ctx context.Context, c store.Control, on store.Condition) error
}

// SwitchDeps are what a switch works with.
type SwitchDeps struct {
	Store    Store
	View     *View
	Announce func() // makes the other processes refresh their views
	Log      *slog.Logger
}

// Switch pauses, drains and resumes. When a method returns, the change applies to this process, and soon to all others.
// It is safe for concurrent use.
type Switch struct{ SwitchDeps }

// NewSwitch returns a switch.
func NewSwitch(d SwitchDeps) *Switch { return &Switch{d} }

// Set pauses or drains a lane, model, target or tenant. Codes: those of the store.
func (s *Switch) Set(ctx context.Context, c store.Control, on store.Condition) (store.Control, error) {
	c, err := s.Store.SetControl(ctx, c, on)
	if err != nil || on.DryRun {
		return c, err
	}
	s.Log.InfoContext(ctx, "paused", "kind", c.Kind, "name", c.Name, "state", c.State, "reason", c.Reason, "actor", c.Actor)
	return c, s.publish(ctx)
}

// Lift resumes a lane, model, target or tenant. Codes: those of the store.
func (s *Switch) Lift(ctx context.Context, c store.Control, on store.Condition) error {
	if err := s.Store.LiftControl(ctx, c, on); err != nil || on.DryRun {
		return err
	}
	s.Log.InfoContext(ctx, "resumed", "kind", c.Kind, "name", c.Name, "actor", on.Actor)
	return s.publish(ctx)
}

// publish makes every process refresh, this one before it returns.
func (s *Switch) publish(ctx context.Context) error {
	s.Announce()
	return s.View.Refresh(ctx)
}

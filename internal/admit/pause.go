package admit

import (
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// Controls knows what operators hold back.
type Controls interface {
	Paused(kind store.ControlKind, name string) (store.Control, bool)
	// Open are those of the given targets that are not held back.
	Open(targets []string) []string
}

// heldRetryAfter is when to come back to what an operator holds back; nobody knows better.
const heldRetryAfter = 10 * time.Second

// demand is who asks for what, as far as it can be held back.
type demand struct {
	tenant  penstock.TenantID
	lane    penstock.Lane
	model   penstock.ModelNames
	targets []string
}

// held returns the control that keeps a demand from starting, if there is one.
func (s *Service) held(d demand) (store.Control, bool) {
	for _, at := range [...]struct {
		kind store.ControlKind
		name string
	}{{store.ControlTenant, string(d.tenant)}, {store.ControlLane, string(d.lane)}, {store.ControlModel, d.model.Asked}, {store.ControlModel, d.model.Answers}} {
		if c, ok := s.Controls.Paused(at.kind, at.name); ok {
			return c, true
		}
	}
	var last store.Control
	for _, target := range d.targets {
		c, ok := s.Controls.Paused(store.ControlTarget, target)
		if !ok {
			return store.Control{}, false // one is enough
		}
		last = c
	}
	return last, last.Kind != ""
}

// refuseHeld is the answer to whoever cannot wait for an operator.
func (s *Service) refuseHeld(d demand) error {
	c, ok := s.held(d)
	if !ok {
		return nil
	}
	message := fmt.Sprintf("An operator paused the %s %s", c.Kind, c.Name)
	if c.Reason != "" {
		message += ": " + c.Reason
	}
	return &penstock.Error{Code: penstock.CodeOverloaded, Message: message + ".", RetryAfter: heldRetryAfter}
}

// Held reports whether an operator keeps the queued items of a job from starting.
func (s *Service) Held(j penstock.Job) bool {
	if j.Counts.Queued == 0 {
		return false
	}
	_, held := s.held(demand{j.Tenant, j.Lane, j.ModelNames(), j.Resolved.Targets})
	return held
}

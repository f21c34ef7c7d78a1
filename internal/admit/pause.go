package admit

import (
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// Controls says what operators have paused.
type Controls interface {
	Paused(kind store.ControlKind, name string) (store.Control, bool)
	// Open are those of the given targets that are not paused.
	Open(targets []string) []string
}

// heldRetryAfter is the Retry-After of a paused call. The time at which the operator will resume it is unknown.
const heldRetryAfter = 10 * time.Second

// demand is everything about a call or job that an operator can pause.
type demand struct {
	tenant  penstock.TenantID
	lane    penstock.Lane
	model   penstock.ModelNames
	targets []string
}

// held returns the control that pauses a demand, if there is one.
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
			return store.Control{}, false // one open target is enough
		}
		last = c
	}
	return last, last.Kind != ""
}

// refuseHeld refuses a paused call whose caller cannot wait for an operator. Codes: overloaded.
func (s *Service) refuseHeld(d demand) error {
	c, ok := s.held(d)
	if !ok {
		return nil
	}
	message := fmt.Sprintf("An operator paused the %s %s", c.Kind, c.Name)
	if c.Reason != "" {
		message += ": " + c.Reason
	}
	return &penstock.Error{Code: penstock.CodeOverloaded, Message: message + ".", RetryAfter: heldRetryAfter, Err: penstock.ErrPaused}
}

// Held reports whether an operator has paused the queued items of a job.
func (s *Service) Held(j penstock.Job) bool {
	if j.Counts.Queued == 0 {
		return false
	}
	_, held := s.held(demand{j.Tenant, j.Lane, j.ModelNames(), j.Resolved.Targets})
	return held
}

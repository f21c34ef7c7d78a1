package request

import (
	"slices"
	"strings"

	"penstock"
	"penstock/internal/admit"
)

// narrow leaves the targets of an admitted call that its caller names. Codes: invalid_request, no_target_available.
func (o *Overrides) narrow(model string, a *admit.Admitted) error {
	if o.Targets == nil {
		return nil
	}
	for _, name := range o.Targets {
		if !slices.Contains(a.Resolved, name) {
			return penstock.InvalidParam("x-penstock-targets", "x-penstock-targets names %q, which is no target of model %q; its targets are %s.", name, model, strings.Join(a.Resolved, ", "))
		}
	}
	other := func(name string) bool { return !slices.Contains(o.Targets, name) }
	a.Resolved = slices.DeleteFunc(slices.Clone(a.Resolved), other)
	if a.Targets = slices.DeleteFunc(slices.Clone(a.Targets), other); len(a.Targets) == 0 {
		return penstock.Errorf(penstock.CodeNoTargetAvailable, "An operator paused the targets that x-penstock-targets names; leave out the header to use the other targets of model %q.", model)
	}
	return nil
}

package admit

import (
	"slices"

	"penstock"
	"penstock/internal/store"
)

// Considered is what admission leaves of a model for a caller.
type Considered struct {
	Model penstock.Model
	Open  []string          // targets that may be called
	Out   map[string]string // why others may not, by target
}

// Consider says which targets of a model a caller's work may run on, and why not on the others. It admits
// nothing. Codes: scope_missing, model_not_found.
func (s *Service) Consider(caller penstock.Caller, name string) (Considered, error) {
	if err := Require(caller, penstock.ScopeInference); err != nil {
		return Considered{}, err
	}
	if err := checkModel(name); err != nil {
		return Considered{}, err
	}
	snapshot := s.Config.Current()
	_, _, err := resolve(snapshot, name, penstock.Tenant{Models: caller.Tenant.Models}) // its regions are told below
	if err != nil {
		return Considered{}, err
	}
	model, _ := snapshot.Model(name)
	c := Considered{Model: model, Out: map[string]string{}}
	for _, target := range model.Targets {
		if region := snapshot.Targets[target].Region; !allows(caller.Tenant.Regions, region) {
			c.Out[target] = outOfRegion(region)
		} else if _, paused := s.Controls.Paused(store.ControlTarget, target); paused {
			c.Out[target] = "was paused by an operator"
		} else {
			c.Open = append(c.Open, target)
		}
	}
	return c, nil
}

// inRegions are the targets of a model that may be used in some regions, nil for any. Codes: invalid_request.
func inRegions(model penstock.Model, targets map[string]penstock.Target, regions []string) ([]string, error) {
	allowed := slices.DeleteFunc(slices.Clone(model.Targets), func(name string) bool {
		t, known := targets[name]
		return known && !allows(regions, t.Region)
	})
	if len(allowed) == 0 {
		e := penstock.Errorf(penstock.CodeInvalidRequest, "No target of model %q runs where your work may run: %s.", clip(model.Name), join(regions))
		e.Param = "model"
		return nil, e
	}
	return allowed, nil
}

// allows says whether work may run in a region. Where a target does not say where it is, it may be anywhere.
func allows(regions []string, region string) bool {
	return len(regions) == 0 || slices.Contains(regions, region)
}

func outOfRegion(region string) string {
	if region == "" {
		return "does not say in which region it runs"
	}
	return "runs in region " + region
}

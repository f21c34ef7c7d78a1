package directory

import (
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// allowance are the limits and budgets of the keys of one name.
type allowance struct {
	limits  penstock.Limits
	budgets []penstock.Budget
	version int64
}

// paying completes a tenant with the budgets of its keys.
func (s *state) paying(t penstock.Tenant) penstock.Tenant {
	if more := s.budgets[t.ID]; len(more) > 0 {
		t.Budgets = slices.Concat(t.Budgets, more)
	}
	return t
}

// allow stores the limits and budgets of a changed key. A name may have several keys; the last change applies to all.
func (s *state) allow(k store.APIKey) {
	was, known := s.allowed[k.Tenant][k.Name]
	none := k.Limits.None() && len(k.Budgets) == 0
	if known && was.version > k.Version || !known && none {
		return
	}
	names := maps.Clone(s.allowed[k.Tenant]) // earlier states share it
	if names == nil {
		names = map[string]allowance{}
	}
	names[k.Name] = allowance{k.Limits, k.Budgets, k.Version}
	if none {
		delete(names, k.Name)
	}
	s.allowed[k.Tenant] = names
	var all []penstock.Budget
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, names[name].budgets...)
	}
	s.budgets[k.Tenant] = all
}

// KeyLimits are the limits of a tenant's keys of one name, also of those that ended.
func (d *Directory) KeyLimits(tenant penstock.TenantID, name string) penstock.Limits {
	for _, k := range d.Config.Current().KeysOf(tenant) {
		if k.Name == name {
			return k.Limits
		}
	}
	return d.known.Load().allowed[tenant][name].limits
}

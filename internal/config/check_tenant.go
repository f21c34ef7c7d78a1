package config

import (
	"strings"

	"penstock"
)

// CheckTenant holds a tenant that is kept elsewhere to the rules of those in the file. Zero fields of its retention
// stand for what holds for all. Codes: invalid_request, for the first problem.
func (s *Snapshot) CheckTenant(t penstock.Tenant) error {
	c := checker{broken: map[path]bool{}}
	own := TenantConfig{Weight: t.Weight, Lanes: t.Lanes, Regions: t.Regions, Models: t.Models, Tier: t.Tier}
	c.tenants(&File{Models: s.file.Models, Tenants: map[string]TenantConfig{string(t.ID): own}})
	kept := Retention(t.Retention)
	kept.fillDefaults(nil, "", s.file.Retention)
	at := path("tenants").key(string(t.ID))
	c.retention(at+".retention", kept)
	if len(c.problems) == 0 {
		return nil
	}
	c.problems.sort()
	first := c.problems[0]
	param := strings.TrimPrefix(strings.TrimPrefix(first.Path, string(at)), ".")
	if param == "" {
		param = "id"
	}
	return penstock.InvalidParam(param, "%s %s.", param, first.Message)
}

// CheckName holds a name to the rules of those in the file. Codes: invalid_request.
func CheckName(param, name string) error {
	if slug.MatchString(name) {
		return nil
	}
	return penstock.InvalidParam(param, "%s must match %s.", param, strings.Trim(slug.String(), "^$"))
}

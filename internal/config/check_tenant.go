package config

import (
	"strings"

	"penstock"
)

// CheckTenant holds a tenant that is kept elsewhere to the rules of those in the file. Zero fields of its retention
// mean the global default. Codes: invalid_request, for the first problem.
func (s *Snapshot) CheckTenant(t penstock.Tenant) error {
	c := checker{broken: map[path]bool{}}
	own := TenantConfig{Weight: t.Weight, Lanes: t.Lanes, Regions: t.Regions, Models: t.Models, Tier: t.Tier, MediaHosts: t.MediaHosts, Limits: TenantLimits{
		RateLimits: rateLimitsOf(t.Limits), EnqueuedTokens: t.EnqueuedTokens, StoredBytes: t.StoredBytes, Models: map[string]RateLimits{},
	}}
	for model, l := range t.ModelLimits {
		own.Limits.Models[model] = rateLimitsOf(l)
	}
	own.ModelBudgets, own.TagBudgets = map[string]Budget{}, map[string]Budget{}
	for _, b := range t.Budgets { // their amounts were checked when they were read
		if b.Model != "" {
			own.ModelBudgets[b.Model] = BudgetOf(t.Budgets, penstock.Budget{Model: b.Model})
		}
		if b.Tag != "" {
			own.TagBudgets[b.Tag] = BudgetOf(t.Budgets, penstock.Budget{Tag: b.Tag})
		}
	}
	c.tenants(&File{Models: s.file.Models, Tenants: map[string]TenantConfig{string(t.ID): own}})
	kept := Retention(t.Retention)
	kept.fillDefaults(nil, "", s.file.Retention)
	at := path("tenants").key(string(t.ID))
	c.retention(at+".retention", kept)
	if len(c.problems) == 0 {
		return nil
	}
	c.problems.sort()
	return c.problems[0].refusal(at)
}

// refusal reports a problem to the caller who sent the value at a path. Codes: invalid_request.
func (p Problem) refusal(at path) error {
	param := strings.TrimPrefix(strings.TrimPrefix(p.Path, string(at)), ".")
	if param == "" {
		param = "id"
	}
	return penstock.InvalidParam(param, "%s %s.", param, p.Message)
}

// CheckLimits holds limits that are kept elsewhere to the rules of those in the file. Codes: invalid_request; param
// names the limits.
func CheckLimits(l penstock.Limits, param string) error {
	c := checker{broken: map[path]bool{}}
	if c.rateLimits(path(param), rateLimitsOf(l)); len(c.problems) > 0 {
		return c.problems[0].refusal("")
	}
	return nil
}

func rateLimitsOf(l penstock.Limits) RateLimits {
	return RateLimits{
		RequestsPerMinute: l.RequestsPerMinute, InputTokensPerMinute: l.InputTokensPerMinute, OutputTokensPerMinute: l.OutputTokensPerMinute,
		DailyTokens: l.DailyTokens, Concurrency: l.Concurrency, Burst: l.Burst, Wait: l.Wait.Duration(),
	}
}

// CheckName holds a name to the rules of those in the file. Codes: invalid_request.
func CheckName(param, name string) error {
	if slug.MatchString(name) {
		return nil
	}
	return penstock.InvalidParam(param, "%s must match %s.", param, strings.Trim(slug.String(), "^$"))
}

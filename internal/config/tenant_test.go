package config

import (
	"testing"
	"time"

	"penstock"
)

// TestCheckTenant holds tenants of elsewhere to the rules of the file, and names the field at fault.
func TestCheckTenant(t *testing.T) {
	t.Parallel()
	s, err := NewSnapshot(File{
		Providers: map[string]ProviderConfig{"p": {Kind: KindOpenAI}},
		Targets:   map[string]TargetConfig{"t": {Provider: "p", UpstreamModel: "m"}},
		Models:    map[string]ModelConfig{"fast": {Targets: []string{"t"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for param, edit := range map[string]func(*penstock.Tenant){
		"":                      func(*penstock.Tenant) {},
		"id":                    func(t *penstock.Tenant) { t.ID = "No Good" },
		"weight":                func(t *penstock.Tenant) { t.Weight = 1001 },
		"lanes":                 func(t *penstock.Tenant) { t.Lanes = nil },
		"lanes[0]":              func(t *penstock.Tenant) { t.Lanes = []penstock.Lane{"fast"} },
		"regions[0]":            func(t *penstock.Tenant) { t.Regions = []string{"EU"} },
		"models[1]":             func(t *penstock.Tenant) { t.Models = []string{"fast", "slow"} },
		"tier":                  func(t *penstock.Tenant) { t.Tier = "Gold!" },
		"retention.results":     func(t *penstock.Tenant) { t.Retention.Results = 1e6 * time.Hour },
		"retention.events":      func(t *penstock.Tenant) { t.Retention = penstock.Retention{Results: time.Hour, Events: 2 * time.Hour} },
		"retention.idempotency": func(t *penstock.Tenant) { t.Retention.Idempotency = time.Hour },
	} {
		tenant := penstock.Tenant{ID: "search", Weight: 3, Lanes: penstock.Lanes, Models: []string{"fast"}, Regions: []string{"eu"}, Tier: "gold"}
		edit(&tenant)
		err := s.CheckTenant(tenant)
		if (err == nil) != (param == "") || err != nil && (penstock.AsError(err).Param != param || penstock.ErrorCode(err) != penstock.CodeInvalidRequest) {
			t.Errorf("want a problem with %q, got %v", param, err)
		}
	}
	if CheckName("name", "app-1") != nil || penstock.AsError(CheckName("name", "App 1")).Param != "name" {
		t.Error("names are not told apart")
	}
}

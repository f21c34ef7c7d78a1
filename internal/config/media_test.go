package config

import (
	"strings"
	"testing"

	"penstock"
)

func TestMediaHosts(t *testing.T) {
	t.Parallel()
	file := func(hosts []string, network string) File {
		return File{
			Providers:  map[string]ProviderConfig{"own": {Kind: KindOpenAI, BaseURL: "https://models.example.com/v1", Network: network}, "vendor": {Kind: KindOpenAI}, "claude": {Kind: KindAnthropic}},
			Targets:    map[string]TargetConfig{"own": {Provider: "own", UpstreamModel: "x"}, "vendor": {Provider: "vendor", UpstreamModel: "x"}, "claude": {Provider: "claude", UpstreamModel: "x"}},
			Models:     map[string]ModelConfig{"fast": {Targets: []string{"own"}}},
			MediaHosts: hosts, Tenants: map[string]TenantConfig{"acme": {MediaHosts: hosts}},
		}
	}
	for _, hosts := range [][]string{nil, {"none"}, {"any"}, {"public"}, {"public", "10.0.0.1"}, {"cdn.example.com", "*.example.org", "2001:db8::1"}} {
		s, err := NewSnapshot(file(hosts, ""))
		if err != nil {
			t.Fatalf("%v: %v", hosts, err)
		}
		if len(s.MediaHosts) != len(hosts) || len(s.Tenants["acme"].MediaHosts) != len(hosts) {
			t.Errorf("%v became %v and %v", hosts, s.MediaHosts, s.Tenants["acme"].MediaHosts)
		}
		if !s.Targets["own"].Private || s.Targets["vendor"].Private || s.Targets["claude"].Private {
			t.Error("a provider with a base_url of its own is private, the vendors' own are not")
		}
		if err := s.CheckTenant(penstock.Tenant{ID: "other", Weight: 1, Lanes: penstock.Lanes, MediaHosts: hosts}); err != nil {
			t.Errorf("%v of a tenant that is kept elsewhere: %v", hosts, err)
		}
	}
	for _, hosts := range [][]string{{"http://x"}, {"*"}, {"*."}, {"*.10.0.0.1"}, {"a b"}, {"0x7f000001"}, {"none", "any"}, {"any", "a.example"}, {"a.example", "a.example"}, {""}, {"b\u00fccher.example"}, make([]string, 300)} {
		if _, err := NewSnapshot(file(hosts, "")); err == nil || !strings.Contains(err.Error(), "media_hosts") {
			t.Errorf("%q: %v", hosts, err)
		}
	}
	s, err := NewSnapshot(file(nil, NetworkPublic))
	if err != nil || s.Targets["own"].Private {
		t.Errorf("network: public: %v", err)
	}
	if _, err := NewSnapshot(file(nil, "inside")); err == nil || !strings.Contains(err.Error(), "providers.own.network") {
		t.Errorf("an unknown network: %v", err)
	}
}

package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"penstock/internal/config"
	"penstock/internal/sim"
)

// The doctor shows its key as the provider's kind wants it; the simulator refuses any other way.
func TestDoctorKnowsEveryKindOfProvider(t *testing.T) {
	t.Parallel()
	server, err := sim.New(sim.Config{APIKey: "sk-right"})
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(server)
	t.Cleanup(up.Close)
	for _, kind := range config.ProviderKinds {
		for key, want := range map[string]health{"sk-right": healthOK, "sk-wrong": healthWarn} {
			found := checkProvider(t.Context(), config.ProviderConfig{Kind: kind, BaseURL: up.URL + "/v1", APIKey: config.NewSecret(key)})
			if found.Status != want || strings.Contains(found.Detail+found.Next, key) {
				t.Errorf("%s with %s: %+v", kind, key, found)
			}
		}
	}
}

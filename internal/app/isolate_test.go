package app

import (
	"encoding/json"
	"slices"
	"testing"

	"penstock"
	"penstock/internal/config"
)

// The environment of a child holds nothing that it does not need.
func TestChildEnv(t *testing.T) {
	t.Parallel()
	all := []string{"PATH=/bin", "PENSTOCK_DATABASE_URL=postgres://secret", "OPENAI_API_KEY=sk", "HTTPS_PROXY=proxy", "PENSTOCK_ADMIN_KEY=secret", "HOME=/"}
	if got, want := childEnv(all), []string{"PATH=/bin", "HTTPS_PROXY=proxy", "HOME=/"}; !slices.Equal(got, want) {
		t.Errorf("a child inherits %v, want %v", got, want)
	}
}

// A child makes the same adapter of a provider as the server does.
func TestProviderReachesTheChild(t *testing.T) {
	t.Parallel()
	snapshot, err := config.NewSnapshot(config.File{Providers: map[string]config.ProviderConfig{
		"up":    {Kind: config.KindOpenAI, APIKey: config.NewSecret("first"), APIKeys: []config.Secret{config.NewSecret("second")}, BaseURL: "http://127.0.0.1:1/v1"},
		"azure": {Kind: config.KindOpenAI, BaseURL: "https://example.com", Azure: config.Azure{APIVersion: "2024-10-21"}},
		"other": {Kind: config.KindAnthropic},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{live: config.NewLive(snapshot)}
	for name := range snapshot.Providers {
		text, err := a.providerSettings(name)
		if err != nil {
			t.Fatal(err)
		}
		var s providerSettings
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if name == "up" && !slices.Equal(s.Keys, []string{"first", "second"}) {
			t.Errorf("%s has the keys %v", name, s.Keys)
		}
		made, err := s.provider()
		if err != nil || made.Speaks(penstock.EndpointMessages) != (name == "other") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := a.providerSettings("gone"); err != nil || text != nil {
		t.Errorf("a provider that is not configured has settings: %s, %v", text, err)
	}
}

package config

import (
	"strings"
	"testing"
)

func TestProviderDefaults(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		KindOpenAI:    "https://api.openai.com/v1",
		KindAnthropic: "https://api.anthropic.com/v1",
	} {
		s := parseGood(t, "providers: {up: {kind: "+kind+"}, own: {kind: "+kind+", base_url: \"http://127.0.0.1:9/v1/\"}}", noEnv)
		if got := s.Providers["up"].BaseURL; got != want {
			t.Errorf("%s is called at %q by default, want %q", kind, got, want)
		}
		if got := s.Providers["own"].BaseURL; got != "http://127.0.0.1:9/v1" {
			t.Errorf("%s: base_url became %q", kind, got)
		}
	}
}

func TestAzureProviders(t *testing.T) {
	t.Parallel()
	const resource = `base_url: "https://name.openai.azure.com/"`
	good := parseGood(t, "providers: {up: {kind: openai, "+resource+", azure: {api_version: 2024-10-21}}}", noEnv)
	plain := parseGood(t, "providers: {up: {kind: openai, "+resource+"}}", noEnv)
	if got := good.Providers["up"]; got.Azure.APIVersion != "2024-10-21" || got.BaseURL != "https://name.openai.azure.com" {
		t.Errorf("%+v", got)
	}
	if good.Hash == plain.Hash {
		t.Error("the API's version does not show in the hash")
	}
	for text, says := range map[string]string{
		"kind: openai, " + resource + ", azure: {}":                           "api_version: is required",
		"kind: openai, " + resource + `, azure: {api_version: "../x"}`:        "api_version: the name must match",
		"kind: openai, azure: {api_version: 2024-10-21}":                      "base_url: is required with azure",
		"kind: anthropic, " + resource + ", azure: {api_version: 2024-10-21}": "azure: belongs to",
	} {
		_, err := Parse("test.yaml", []byte("providers: {up: {"+text+"}}"), noEnv)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", text, err, says)
		}
	}
}

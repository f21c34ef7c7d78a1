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
		"kind: openai, " + resource + ", azure: {}":                                                           "api_version: is required",
		"kind: openai, " + resource + `, azure: {api_version: "../x"}`:                                        "api_version: the name must match",
		"kind: openai, azure: {api_version: 2024-10-21}":                                                      "base_url: is required with azure",
		`kind: openai, base_url: "https://name.openai.azure.com/openai/v1", azure: {api_version: 2024-10-21}`: "base_url: must be the URL of the resource alone",
		"kind: anthropic, " + resource + ", azure: {api_version: 2024-10-21}":                                 "azure: belongs to",
	} {
		_, err := Parse("test.yaml", []byte("providers: {up: {"+text+"}}"), noEnv)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", text, err, says)
		}
	}
}

// Two targets have one vendor if their providers have the same kind and lead to the same servers.
func TestVendors(t *testing.T) {
	t.Parallel()
	for want, providers := range map[string][]ProviderConfig{
		"openai":                   {{Kind: KindOpenAI, BaseURL: DefaultOpenAIBaseURL}},
		"azure":                    {{Kind: KindOpenAI, BaseURL: "https://a.openai.azure.com", Azure: Azure{"2024-10-21"}}, {Kind: KindOpenAI, BaseURL: "https://b.openai.azure.com", Azure: Azure{"2024-10-21"}}},
		"bedrock":                  {{Kind: KindBedrock, BaseURL: "https://x"}, {Kind: KindBedrock, BaseURL: "https://y"}},
		"vllm":                     {{Kind: "vllm", BaseURL: "http://gpu-1:8000/v1"}, {Kind: "vllm", BaseURL: "http://gpu-2:8000/v1"}},
		"openai at gpu-1:8000":     {{Kind: KindOpenAI, BaseURL: "http://GPU-1:8000/v1"}, {Kind: KindOpenAI, BaseURL: "http://gpu-1:8000/other"}},
		"anthropic at gateway:443": {{Kind: KindAnthropic, BaseURL: "https://gateway:443/v1"}},
	} {
		for _, p := range providers {
			if got := p.vendor(); got != want {
				t.Errorf("%+v: vendor %q, want %q", p, got, want)
			}
		}
	}
}

// A file whose model has targets of several vendors is told what happens to calls that one of them cannot serve, unless it says so.
func TestVendorNotices(t *testing.T) {
	t.Parallel()
	const file = `
providers: {openai: {kind: openai}, again: {kind: openai}, claude: {kind: anthropic}}
targets:
  gpt: {provider: openai, upstream_model: m}
  gpt2: {provider: again, upstream_model: m, capabilities: [streaming]}
  opus: {provider: claude, upstream_model: m}
models:
  one: {targets: [gpt, gpt2]}
  mixed: {targets: [gpt, opus]}
  said: {targets: [gpt, opus], on_incapable: same_vendor}
  moves: {targets: [gpt, opus], on_incapable: skip}
`
	s, err := Parse("test.yaml", []byte(file), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	notices := s.vendorNotices()
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "models.mixed: ") || !strings.Contains(notices[0], "on_incapable: skip") || !strings.Contains(notices[0], "anthropic, openai") {
		t.Errorf("%q", notices)
	}
}

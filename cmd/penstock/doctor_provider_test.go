package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"penstock/internal/config"
	"penstock/internal/provider/preset"
)

// The doctor shows its key as the provider's kind wants it.
func TestDoctorKnowsEveryKindOfProvider(t *testing.T) {
	t.Parallel()
	wants := map[string]http.Header{
		config.KindOpenAI:    {"Authorization": {"Bearer sk-1"}},
		config.KindGemini:    {"X-Goog-Api-Key": {"sk-1"}},
		config.KindBedrock:   {"Authorization": {"Bearer sk-1"}},
		config.KindAnthropic: {"X-Api-Key": {"sk-1"}, "Anthropic-Version": {"2023-06-01"}},
	}
	const azure = "azure"
	wants[azure] = http.Header{"Api-Key": {"sk-1"}}
	for _, kind := range preset.Kinds() {
		wants[kind] = wants[config.KindOpenAI]
	}
	for _, kind := range append([]string{azure}, config.ProviderKinds...) {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Anthropic-Version"} {
				if r.Header.Get(name) != wants[kind].Get(name) {
					w.WriteHeader(http.StatusUnauthorized)
				}
			}
		}))
		p := config.ProviderConfig{Kind: kind, BaseURL: up.URL + "/v1", APIKey: config.NewSecret("sk-1")}
		if kind == azure {
			p.Kind, p.Azure.APIVersion = config.KindOpenAI, "2024-10-21"
		}
		found := checkProvider(t.Context(), p)
		if found.Status != healthOK {
			t.Errorf("%s: %+v", kind, found)
		}
		up.Close()
	}
}

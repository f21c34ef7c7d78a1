package config

import "testing"

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

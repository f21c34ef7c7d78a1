package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/providertest"
)

// Azure's answers are OpenAI's; what differs is where and how they are asked for.
func TestConformanceOfAzure(t *testing.T) {
	t.Parallel()
	d := dialect
	d.Path = "/openai/deployments/gpt-test/chat/completions"
	d.Credentials = func(apiKey string) (name, value string) { return "Api-Key", apiKey }
	providertest.Run(t, providertest.Harness{
		New: func(t testing.TB, up providertest.Config) provider.Provider {
			return newAzure(t, Config{BaseURL: up.URL, APIKey: up.APIKey, RootCAs: up.RootCAs, MaxAnswerBytes: up.MaxAnswerBytes})
		},
		Dialect: d,
		Plain:   true,
	})
}

func newAzure(t testing.TB, cfg Config) *Provider {
	t.Helper()
	cfg.Name, cfg.ConnectionRest = "test", -1
	p, err := NewAzure(cfg, "2024-10-21")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

func TestAzureURLs(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.RequestURI
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[],"data":[],"output":[]}`)
	}))
	t.Cleanup(up.Close)
	p := newAzure(t, Config{BaseURL: up.URL + "/"})
	for endpoint, want := range map[penstock.Endpoint]string{
		penstock.EndpointChat:        "/openai/deployments/my%20gpt%2F4/chat/completions?api-version=2024-10-21",
		penstock.EndpointCompletions: "/openai/deployments/my%20gpt%2F4/completions?api-version=2024-10-21",
		penstock.EndpointEmbeddings:  "/openai/deployments/my%20gpt%2F4/embeddings?api-version=2024-10-21",
		penstock.EndpointResponses:   "/openai/responses?api-version=2024-10-21",
	} {
		if _, err := p.Call(t.Context(), provider.Call{Endpoint: endpoint, UpstreamModel: "my gpt/4", Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != want {
			t.Errorf("%s: called %s, want %s", endpoint, got, want)
		}
	}
	if _, err := p.Call(t.Context(), provider.Call{Endpoint: penstock.EndpointMessages, Body: []byte(`{}`)}); provider.AsError(err).Kind != provider.KindInternal {
		t.Errorf("a call of another protocol: %v", err)
	}
}

func TestAzureSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, version string }{
		{"", "2024-10-21"}, {"https://name.openai.azure.com/openai", "2024-10-21"}, {"https://name.openai.azure.com", ""}, {"name", "2024-10-21"},
	} {
		if _, err := NewAzure(Config{Name: "a", BaseURL: tt.base}, tt.version); err == nil {
			t.Errorf("%+v was accepted", tt)
		}
	}
}

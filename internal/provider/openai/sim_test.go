package openai

import (
	"fmt"
	"testing"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/providertest"
)

func TestAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	ask := func(format string) func(string) string {
		return func(prompt string) string { return fmt.Sprintf(format, prompt) }
	}
	for _, h := range []providertest.SimHarness{
		{Endpoint: penstock.EndpointChat, HasText: true,
			Plain:  ask(`{"model":"fast","messages":[{"role":"user","content":%q}]}`),
			Stream: ask(`{"model":"fast","stream":true,"messages":[{"role":"user","content":%q}]}`)},
		{Endpoint: penstock.EndpointCompletions, HasText: true,
			Plain:  ask(`{"model":"fast","max_tokens":100,"prompt":%q}`),
			Stream: ask(`{"model":"fast","max_tokens":100,"stream":true,"prompt":%q}`)},
		{Endpoint: penstock.EndpointResponses, HasText: true,
			Plain:  ask(`{"model":"fast","input":%q}`),
			Stream: ask(`{"model":"fast","stream":true,"input":%q}`)},
		{Endpoint: penstock.EndpointEmbeddings, Plain: ask(`{"model":"fast","input":%q}`)},
		{Endpoint: penstock.EndpointRank, Plain: ask(`{"model":"fast","query":%q,"documents":["one","two"]}`)},
	} {
		h.New = func(t testing.TB, up providertest.Config) provider.Provider {
			return newProvider(t, Config{BaseURL: up.URL, APIKey: up.APIKey})
		}
		t.Run(string(h.Endpoint), func(t *testing.T) {
			t.Parallel()
			providertest.RunSim(t, h)
		})
	}
}

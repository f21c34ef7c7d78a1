// Package anthropic calls upstreams that speak Anthropic's messages protocol, the counting of tokens included.
//
// It owns what is Anthropic's about the wire: the key and version headers, the one patch to the body
// (the model's name), the meaning of answers and the classification of complaints. Package wire owns
// the exchange itself. Neither chooses targets, tries again, counts money or logs.
//
// Invariants, besides those of package wire:
//   - What the caller sent is what the upstream gets, but for the bytes of the model's name; what the
//     upstream answers is what the caller gets. A caller's anthropic-version and anthropic-beta
//     travel, and only without a version is one sent on our account.
//   - Anthropic counts input that was read from or written to its cache apart from the rest. Usage
//     counts all of it as input, and both as parts of it. Of what was written it also reports how long it is
//     kept, which the price depends on.
//   - Usage is complete when the stream's last count has come. Until then what is known, the input
//     above all, is reported as partial.
//
// A Provider is safe for concurrent use and starts no goroutines of its own. An answer belongs to
// one goroutine.
package anthropic

import (
	"context"
	"net/http"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
	"penstock/internal/provider/wire"
)

const (
	// DefaultBaseURL is where Anthropic itself is found.
	DefaultBaseURL = "https://api.anthropic.com/v1"
	// DefaultVersion is the version of the protocol that is asked for if the caller names none.
	DefaultVersion = "2023-06-01"
)

// Config says which upstream to call, and how. Its BaseURL is [DefaultBaseURL] by default. It ends in
// the version, which SDKs of this protocol append themselves.
type Config = wire.Config

// Provider calls one upstream.
type Provider struct {
	*wire.Client
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider for the upstream that cfg describes. It does not contact it.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	client, err := wire.New(cfg, penstock.EndpointMessages, penstock.EndpointCountTokens)
	if err != nil {
		return nil, err
	}
	return &Provider{Client: client}, nil
}

// Call implements [provider.Provider].
func (p *Provider) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	_, model, err := wire.Patch(call)
	if err != nil {
		return nil, err
	}
	request := wire.Request{Body: body.Edited(call.Body, model), SetHeader: setHeader, Reader: &messageReader{}, Wanted: "a message"}
	if call.Endpoint == penstock.EndpointCountTokens {
		request.Reader, request.Wanted = &countReader{}, "a count of tokens"
	}
	return p.Client.Call(ctx, call, request)
}

func setHeader(h http.Header, apiKey string) {
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", DefaultVersion)
	}
	if apiKey != "" {
		h.Set("X-Api-Key", apiKey)
	}
}

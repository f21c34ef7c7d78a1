// Package openai calls upstreams that speak OpenAI's protocols: OpenAI itself and the many servers
// that are compatible with it, Azure among them, which has URLs and a header of its own. It speaks chat completions, completions, embeddings and responses,
// and rankings of documents, which OpenAI itself does not have.
// The differences of other vendors are data, in package preset.
//
// It owns what is OpenAI's about the wire: the bearer token, the two patches to the body (the model's
// name, and usage in the streams that must be asked for it), the meaning of answers and the
// classification of complaints. Package wire owns the exchange itself. Neither chooses targets, tries
// again, counts money or logs.
//
// Invariants, besides those of package wire:
//   - What the caller sent is what the upstream gets, but for the bytes of the model's name, of
//     stream_options and of members that a preset renames or leaves out; what the upstream answers is what the caller gets, but for a usage chunk that
//     we asked for and the caller did not.
//   - Which of its endpoints a server has is for the server to say: one that lacks an endpoint
//     answers 404, and that is reported.
//
// A Provider is safe for concurrent use and starts no goroutines of its own. An answer belongs to
// one goroutine.
package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/preset"
	"penstock/internal/provider/wire"
)

// DefaultBaseURL is where OpenAI itself is found.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which upstream to call, and how. Its BaseURL is [DefaultBaseURL] by default.
type Config = wire.Config

// Provider calls one OpenAI-compatible upstream.
type Provider struct {
	*wire.Client
	azure  *azure // nil elsewhere
	vendor preset.Preset
	base   string // the URL that paths are appended to where the vendor is bare
	own    bool   // it is OpenAI itself or Azure, which rank no documents
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider for the upstream that cfg describes. It does not contact it.
func New(cfg Config) (*Provider, error) {
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	return &Provider{Client: client, own: isOpenAI(cfg.BaseURL)}, nil
}

// isOpenAI reports whether a base URL is that of OpenAI itself, in any region.
func isOpenAI(base string) bool {
	u, err := url.Parse(base)
	return base == "" || err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".api.openai.com"))
}

// NewPreset returns a provider for a vendor whose protocol differs from OpenAI's as its preset says. It does not contact it.
func NewPreset(cfg Config, vendor preset.Preset) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = vendor.BaseURL
	}
	cfg.Limits = vendor.Limits.Headers()
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	return &Provider{Client: client, vendor: vendor, base: strings.TrimRight(cfg.BaseURL, "/")}, nil
}

func newClient(cfg Config) (*wire.Client, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	return wire.New(cfg, penstock.EndpointChat, penstock.EndpointCompletions,
		penstock.EndpointEmbeddings, penstock.EndpointResponses, penstock.EndpointRank)
}

// Call implements [provider.Provider].
func (p *Provider) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	request, note, err := newRequest(&p.vendor, call)
	if err != nil {
		return nil, err
	}
	request.SetHeader = p.setHeader
	switch {
	case p.azure != nil:
		request.URL = p.azure.url(call)
	case p.vendor.Bare:
		request.URL = p.bareURL(call.Endpoint)
	}
	answer, err := p.Client.Call(ctx, call, request)
	if err != nil || note == "" {
		return answer, err
	}
	return &notedAnswer{answer, note, dropped(&p.vendor, note)}, nil
}

// Speaks implements [provider.Provider].
func (p *Provider) Speaks(e penstock.Endpoint) bool {
	if e == penstock.EndpointRank && p.own {
		return false
	}
	return p.Client.Speaks(e) && (p.vendor.Endpoints == nil || slices.Contains(p.vendor.Endpoints, e))
}

func (p *Provider) setHeader(h http.Header, apiKey string) {
	switch {
	case apiKey == "":
	case p.azure != nil:
		h.Set("Api-Key", apiKey)
	default:
		h.Set("Authorization", "Bearer "+apiKey)
	}
}

// newRequest is the call in the words of its endpoint, and a note on what of its body was left out.
func newRequest(vendor *preset.Preset, call provider.Call) (wire.Request, string, error) {
	patched, err := patchBody(vendor, call)
	if err != nil {
		return wire.Request{}, "", err
	}
	request := wire.Request{Body: patched.body}
	switch call.Endpoint {
	case penstock.EndpointChat:
		request.Wanted, request.Reader = "a chat completion", &completionReader{usageInjected: patched.usageInjected}
	case penstock.EndpointCompletions:
		request.Wanted, request.Reader = "a completion", &completionReader{usageInjected: patched.usageInjected}
	case penstock.EndpointEmbeddings:
		request.Wanted, request.Reader = "a list of embeddings", &embeddingReader{}
	case penstock.EndpointRank:
		request.Wanted, request.Reader = "a ranking of documents", &rankReader{}
	case penstock.EndpointResponses:
		request.Wanted, request.Reader = "a response", &responseReader{}
	default:
		return wire.Request{}, "", &provider.Error{Kind: provider.KindInternal,
			Message: fmt.Sprintf("this provider does not serve %s", call.Endpoint)}
	}
	if vendor.Kind != "" {
		request.Reader = &vendorReader{request.Reader, vendor, call.Endpoint}
	}
	return request, patched.note, nil
}

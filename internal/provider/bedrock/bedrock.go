// Package bedrock calls the Converse API of AWS Bedrock, plain and streamed.
//
// It owns what is AWS's about the wire: URLs that name the model, signatures (SigV4) or a Bedrock API key, the binary event stream, the
// meaning of answers and the classification of complaints. Package wire owns the exchange itself; package translate makes the bodies. No
// caller speaks this dialect, so every call is translated.
//
// Invariants, besides those of package wire:
//   - A stream is complete with its metadata event, which reports the usage and comes last.
//   - Events become server-sent events whose data is an object with one member, named as the type of the event.
//   - Bedrock counts input that was read from or written to its cache apart from the rest. Usage counts all of it as input, and both as
//     parts of it.
//   - The secret access key and the session token never appear in errors.
//
// A Provider is safe for concurrent use and starts no goroutines of its own. An answer belongs to one goroutine.
package bedrock

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
	"penstock/internal/provider/wire"
)

// Config says which upstream to call, and how. Its BaseURL is that of the region by default. Its keys are Bedrock API keys; it has none
// if there are credentials.
type Config = wire.Config

// Credentials sign calls. Without an AccessKeyID calls are not signed.
type Credentials struct {
	Region          string
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string // of temporary credentials, "" for none
}

// Provider calls one upstream.
type Provider struct {
	*wire.Client
	base        string
	credentials Credentials
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider for the upstream that cfg describes. It does not contact it.
func New(cfg Config, c Credentials) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = "https://bedrock-runtime." + c.Region + ".amazonaws.com"
	}
	switch {
	case c.Region == "":
		return nil, fmt.Errorf("provider %q: aws.region: is missing", cfg.Name)
	case (c.AccessKeyID == "") != (c.SecretAccessKey == ""):
		return nil, fmt.Errorf("provider %q: aws: needs both access_key_id and secret_access_key", cfg.Name)
	}
	for _, secret := range []string{c.SecretAccessKey, c.SessionToken} {
		if secret != "" {
			cfg.Hidden = append(cfg.Hidden, secret)
		}
	}
	client, err := wire.New(cfg, penstock.EndpointConverse)
	if err != nil {
		return nil, err
	}
	return &Provider{Client: client, base: strings.TrimRight(cfg.BaseURL, "/"), credentials: c}, nil
}

// Call implements [provider.Provider].
func (p *Provider) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	if call.Endpoint != penstock.EndpointConverse {
		return nil, &provider.Error{Kind: provider.KindInternal, Message: fmt.Sprintf("this provider does not serve %s", call.Endpoint)}
	}
	to := p.url(call)
	request := wire.Request{
		URL: to, Body: body.Pieces{call.Body}, Reader: &converseReader{}, Wanted: "an answer of Converse", Framing: &framing,
		SetHeader: setHeader,
	}
	if call.Stream {
		request.SetHeader = setStreamHeader
	}
	if p.credentials.AccessKeyID != "" {
		signed, err := p.credentials.sign(ctx, to, call.Body)
		if err != nil {
			return nil, &provider.Error{Kind: provider.KindInternal, Message: "the request could not be signed", Err: err}
		}
		plain := request.SetHeader
		request.SetHeader = func(h http.Header, apiKey string) {
			plain(h, apiKey)
			for name, values := range signed {
				h[name] = values
			}
		}
	}
	return p.Client.Call(ctx, call, request)
}

// url is the address of a call.
func (p *Provider) url(call provider.Call) string {
	method := "/converse"
	if call.Stream {
		method = "/converse-stream"
	}
	// AWS's own SDKs escape the colons of model ids as well.
	return p.base + "/model/" + strings.ReplaceAll(url.PathEscape(call.UpstreamModel), ":", "%3A") + method
}

func setStreamHeader(h http.Header, apiKey string) {
	setHeader(h, apiKey)
	h["Accept"] = []string{framing.Type}
}

func setHeader(h http.Header, apiKey string) {
	for name := range h {
		if strings.HasPrefix(name, "X-Amz-") {
			h.Del(name) // a caller's
		}
	}
	if apiKey != "" {
		h.Set("Authorization", "Bearer "+apiKey)
	}
}

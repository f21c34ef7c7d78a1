// Package gemini calls Google's Gemini API: generateContent, plain and streamed, batchEmbedContents and countTokens.
//
// It owns what is Google's about the wire: URLs that name the model and the method, the key header, the meaning of answers and the
// classification of complaints. Package wire owns the exchange itself; package translate makes the bodies. No caller speaks this
// dialect, so every call is translated.
//
// Invariants, besides those of package wire:
//   - A stream is complete with the event that names why the model stopped; the protocol has no other terminator.
//   - Thoughts are output: they are charged as output, and counted apart.
//   - An answer whose prompt was blocked, or whose call of a function is malformed, is an error and no answer.
//
// A Provider is safe for concurrent use and starts no goroutines of its own. An answer belongs to one goroutine.
package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
	"penstock/internal/provider/wire"
)

// DefaultBaseURL is where Google serves the API.
const DefaultBaseURL = "https://generativelanguage.googleapis.com" + defaultVersion

// defaultVersion is the version of the API where the URL names none.
const defaultVersion = "/v1beta"

// Config says which upstream to call, and how. Its BaseURL is [DefaultBaseURL] by default.
type Config = wire.Config

// Provider calls one upstream.
type Provider struct {
	*wire.Client
	base string
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider for the upstream that cfg describes. It does not contact it.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	client, err := wire.New(cfg, penstock.EndpointGenerate, penstock.EndpointEmbedContents, penstock.EndpointCountContents)
	if err != nil {
		return nil, err
	}
	base := strings.TrimRight(cfg.BaseURL, "/")
	if u, err := url.Parse(base); err == nil && u.Path == "" {
		base += defaultVersion
	}
	return &Provider{Client: client, base: base}, nil
}

// Call implements [provider.Provider].
func (p *Provider) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	request := wire.Request{SetHeader: setHeader, URL: p.url(call)}
	switch call.Endpoint {
	case penstock.EndpointGenerate:
		request.Wanted, request.Reader = "an answer of generateContent", &contentReader{}
	case penstock.EndpointEmbedContents:
		request.Wanted, request.Reader = "a list of embeddings", &embeddingReader{}
	case penstock.EndpointCountContents:
		request.Wanted, request.Reader = "a count of tokens", &countReader{}
	default:
		return nil, &provider.Error{Kind: provider.KindInternal, Message: fmt.Sprintf("this provider does not serve %s", call.Endpoint)}
	}
	var err error
	if request.Body, err = named(call); err != nil {
		return nil, err
	}
	return p.Client.Call(ctx, call, request)
}

// url is the address of a call. Streams are asked for as server-sent events.
func (p *Provider) url(call provider.Call) string {
	_, method, _ := strings.Cut(string(call.Endpoint), ":")
	suffix := ""
	if call.Stream && call.Endpoint == penstock.EndpointGenerate {
		method, suffix = "streamGenerateContent", "?alt=sse"
	}
	return p.base + "/models/" + url.PathEscape(modelID(call.UpstreamModel)) + ":" + method + suffix
}

// modelID is a model's name without the prefix that Google lists it with.
func modelID(name string) string { return strings.TrimPrefix(name, "models/") }

// named is the body of a call. Requests that are inside of another body name their model themselves.
func named(call provider.Call) (body.Pieces, error) {
	if call.Endpoint == penstock.EndpointGenerate {
		return body.Pieces{call.Body}, nil
	}
	name, err := jsontext.AppendQuote(nil, "models/"+modelID(call.UpstreamModel))
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindInternal, Message: "the upstream model's name is not UTF-8", Err: err}
	}
	top, err := body.Scan(call.Body)
	if err != nil {
		return nil, wire.RejectBody("the body", err)
	}
	member := `"model":` + string(name) + ","
	var edits []body.Edit
	if inner := top.Value("generateContentRequest"); inner.Found() {
		edits = append(edits, insertion(inner.Start+1, member))
	}
	if requests := top.Value("requests"); requests.Found() {
		in := body.NewCursor(top.Raw("requests"))
		for range in.Elements {
			edits = append(edits, insertion(requests.Start+in.Offset()+1, member))
			in.Skip()
		}
		if err := in.End(); err != nil {
			return nil, wire.RejectBody("requests", err)
		}
	}
	return body.Edited(call.Body, edits...), nil
}

func insertion(at int, text string) body.Edit {
	return body.Edit{At: body.Span{Start: at, End: at}, Text: text}
}

func setHeader(h http.Header, apiKey string) {
	h.Del("X-Goog-Api-Key") // a caller's
	if apiKey != "" {
		h.Set("X-Goog-Api-Key", apiKey)
	}
}

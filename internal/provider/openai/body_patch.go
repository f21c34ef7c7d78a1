package openai

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
	"penstock/internal/provider"
)

// patched is a body that is ready for the upstream.
type patched struct {
	body []byte
	// usageInjected: the upstream will tell usage in the stream although the caller did not ask.
	usageInjected bool
}

// patchBody makes the body that the upstream gets: the caller's bytes with the model replaced and,
// in a stream, usage asked for. Everything else keeps its bytes and its order, because a body that
// was parsed and written again no longer hits the upstream's prompt cache.
//
// A name that appears twice is rejected where we patch: which of the two counts differs from server
// to server, so that what was checked here could be something else there.
func patchBody(call provider.Call) (patched, error) {
	model, err := jsontext.AppendQuote(nil, call.UpstreamModel)
	if err != nil {
		return patched{}, &provider.Error{Kind: provider.KindInternal, Message: "the upstream model's name is not UTF-8", Err: err}
	}
	top, err := body.Scan(call.Body)
	if err != nil {
		return patched{}, rejectedBody("the body", err)
	}
	edits := []body.Edit{top.Replace("model", string(model))}
	if !call.Stream {
		return patched{body: body.Apply(call.Body, edits...)}, nil
	}
	usage, err := askForUsage(top)
	if err != nil {
		return patched{}, err
	}
	edits = append(edits, usage...)
	return patched{body: body.Apply(call.Body, edits...), usageInjected: len(usage) > 0}, nil
}

// askForUsage returns the edits that make a stream tell its usage, none if it does so already. A
// value of the wrong type is left for the upstream to complain about.
func askForUsage(top body.Object) ([]body.Edit, error) {
	const options, includeUsage, wanted = "stream_options", "include_usage", `{"include_usage":true}`
	at := top.Value(options)
	if !at.Found() {
		// By now the object has a member before this one: the model, if nothing else.
		return []body.Edit{top.Append(options, wanted)}, nil
	}
	value := top.Raw(options)
	if string(value) == "null" {
		return []body.Edit{{At: at, Text: wanted}}, nil
	}
	if value[0] != '{' {
		return nil, nil
	}
	inner, err := body.Scan(value)
	if err != nil {
		return nil, rejectedBody(options, err)
	}
	switch string(inner.Raw(includeUsage)) {
	case "", "false", "null":
		return []body.Edit{inner.Replace(includeUsage, "true").Shifted(at.Start)}, nil
	default:
		return nil, nil
	}
}

func rejectedBody(what string, err error) *provider.Error {
	return &provider.Error{Kind: provider.KindRejected, Message: fmt.Sprintf("%s %v", what, err)}
}

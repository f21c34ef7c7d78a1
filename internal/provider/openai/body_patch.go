package openai

import (
	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
	"penstock/internal/provider/preset"
	"penstock/internal/provider/wire"
)

// patched is a body that is ready for the upstream.
type patched struct {
	body body.Pieces
	// usageInjected: the upstream will report usage in the stream although the caller did not ask.
	usageInjected bool
	// note names the members that the vendor does not accept, and that were left out.
	note string
}

// patchBody makes the body that the upstream gets: the caller's bytes with the model replaced, in
// a stream that reports usage only on request the request for it, and what differs at the vendor.
func patchBody(vendor *preset.Preset, call provider.Call) (patched, error) {
	note, err := fitBody(vendor, &call)
	if err != nil {
		return patched{}, err
	}
	top, model, err := wire.Patch(call)
	if err != nil {
		return patched{}, err
	}
	edits := append(renames(vendor, call.Endpoint, top), model)
	if !call.Stream || !reportsUsageOnRequest(call.Endpoint) || vendor.UsageUnasked {
		return patched{body: body.Edited(call.Body, edits...), note: note}, nil
	}
	usage, err := askForUsage(top)
	if err != nil {
		return patched{}, err
	}
	edits = append(edits, usage...)
	return patched{body: body.Edited(call.Body, edits...), usageInjected: len(usage) > 0, note: note}, nil
}

// reportsUsageOnRequest: responses report usage unasked, embeddings are never streamed, and both refuse the
// option.
func reportsUsageOnRequest(e penstock.Endpoint) bool {
	return e == penstock.EndpointChat || e == penstock.EndpointCompletions
}

// askForUsage returns the edits that make a stream report its usage, none if it does so already. A
// value of the wrong type is left for the upstream to complain about.
func askForUsage(top body.Object) ([]body.Edit, error) {
	const options, includeUsage, wanted = memberStreamOptions, "include_usage", `{"include_usage":true}`
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
		return nil, wire.RejectBody(options, err)
	}
	switch string(inner.Raw(includeUsage)) {
	case "", "false", "null":
		return []body.Edit{inner.Replace(includeUsage, "true").Shifted(at.Start)}, nil
	default:
		return nil, nil
	}
}

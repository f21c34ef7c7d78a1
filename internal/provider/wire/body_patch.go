package wire

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
	"penstock/internal/provider"
)

// Patch starts the body that the upstream gets: it finds the members of the caller's and returns the
// edit that replaces the model. Everything else keeps its bytes and its order, because a body that was
// parsed and written again no longer hits the upstream's prompt cache.
//
// A name that appears twice is rejected: which of the two counts differs from server to server, so
// that what was checked here could be something else there.
func Patch(call provider.Call) (top body.Object, model body.Edit, err error) {
	name, err := jsontext.AppendQuote(nil, call.UpstreamModel)
	if err != nil {
		return body.Object{}, body.Edit{}, &provider.Error{
			Kind: provider.KindInternal, Message: "the upstream model's name is not UTF-8", Err: err}
	}
	if call.Object != nil {
		top = *call.Object
	} else if top, err = body.Scan(call.Body); err != nil {
		return body.Object{}, body.Edit{}, RejectBody("the body", err)
	}
	return top, top.Replace("model", string(name)), nil
}

// RejectBody says what is wrong with a caller's body, or a part of it.
func RejectBody(what string, err error) *provider.Error {
	return &provider.Error{Kind: provider.KindRejected, Message: fmt.Sprintf("%s %v", what, err)}
}

package openai

import (
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// KeptResponse is a response that its caller wants to be kept here.
type KeptResponse struct {
	Body       []byte // what is to be run: the upstream keeps nothing
	Stream     bool
	Background bool
}

// KeepResponse reads whether the body of a response asks for it to be kept, and how. Everything else in it is for
// [ReadResponse]. Codes: invalid_request.
func KeepResponse(text []byte) (kept KeptResponse, wanted bool, err error) {
	f, err := dialect.Scan(text, responseFormat)
	if err != nil {
		return kept, false, err
	}
	store, background, stream := f.Bool("store"), f.Bool("background"), f.Bool("stream")
	if background && !store && f.Given("store") {
		f.Refuse("store", "store is false, but a response in the background is kept until it was fetched; leave store out.")
	}
	if err := f.Err(); err != nil || (!store && !background) {
		return kept, false, err
	}
	kept = KeptResponse{Stream: stream, Background: background}
	edits := []body.Edit{f.Replace("store", "false")}
	for _, name := range []string{"background", "stream"} {
		if f.Value(name).Found() {
			edits = append(edits, f.Replace(name, "false"))
		}
	}
	kept.Body = body.Apply(text, edits...)
	return kept, true, nil
}

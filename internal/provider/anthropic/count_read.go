package anthropic

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// countReader reads the answer to how long a message is. Nothing is generated, and nothing is charged.
type countReader struct{ messageReader }

// Plain implements [wire.Reader].
func (r *countReader) Plain(body []byte) (wire.Part, error) {
	var m struct {
		InputTokens *int64         `json:"input_tokens"`
		Error       jsontext.Value `json:"error"`
	}
	if err := wire.Decode(body, &m); err != nil {
		return wire.Part{}, err
	}
	if wire.IsSet(m.Error) {
		return wire.Part{Failed: true}, nil
	}
	if m.InputTokens == nil || *m.InputTokens < 0 {
		return wire.Part{}, errors.New("it has no input_tokens")
	}
	return wire.Part{}, nil
}

// Event implements [wire.Reader].
func (r *countReader) Event(sse.Event) (wire.Part, error) {
	return wire.Part{}, errors.New("a count is not streamed")
}

// Usage implements [wire.Reader].
func (r *countReader) Usage() (penstock.Usage, wire.Reported) {
	return penstock.Usage{}, wire.ReportedAll
}

// Complaint implements [wire.Reader]. Many servers that speak the protocol do not count: that is no sign of a target that
// is out of order.
func (r *countReader) Complaint(status int, body []byte) wire.Complaint {
	c := r.messageReader.Complaint(status, body)
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if c.Kind == provider.KindServer {
			c.Kind = provider.KindRejected
		}
	}
	return c
}

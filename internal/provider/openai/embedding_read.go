package openai

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// embeddingReader reads lists of embeddings. They carry no text and are never streamed.
type embeddingReader struct {
	usage    penstock.Usage
	reported wire.Reported
}

// Plain implements [wire.Reader].
func (r *embeddingReader) Plain(body []byte) (wire.Part, error) {
	var list struct {
		Object errorMark      `json:"object"`
		Data   arrayMark      `json:"data"`
		Usage  jsontext.Value `json:"usage"`
		Error  jsontext.Value `json:"error"`
	}
	if err := wire.Decode(body, &list); err != nil {
		return wire.Part{}, err
	}
	if wire.IsSet(list.Error) || bool(list.Object) {
		return wire.Part{Failed: true}, nil
	}
	if !list.Data {
		return wire.Part{}, errors.New("it has no data")
	}
	r.usage, r.reported = readUsage(list.Usage)
	return wire.Part{}, nil
}

// Event implements [wire.Reader]. The one thing that a server can stream here is an error.
func (r *embeddingReader) Event(ev sse.Event) (wire.Part, error) {
	if c, err := readCompletion(ev.Data); err == nil && c.failed {
		return wire.Part{Failed: true}, nil
	}
	return wire.Part{}, errors.New("embeddings are not streamed")
}

// Usage implements [wire.Reader].
func (r *embeddingReader) Usage() (penstock.Usage, wire.Reported) { return r.usage, r.reported }

// Complaint implements [wire.Reader].
func (r *embeddingReader) Complaint(status int, body []byte) wire.Complaint {
	return readComplaint(status, body)
}

// arrayMark reports whether a member is an array. Thousands of vectors are passed over, not copied.
type arrayMark bool

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (m *arrayMark) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*m = dec.PeekKind() == '['
	return dec.SkipValue()
}

package gemini

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// embeddingReader reads answers of batchEmbedContents. They have no text, are never streamed, and most report no usage.
type embeddingReader struct{ contentReader }

// Plain implements [wire.Reader].
func (r *embeddingReader) Plain(body []byte) (wire.Part, error) {
	var list struct {
		Embeddings    jsontext.Value `json:"embeddings"`
		UsageMetadata jsontext.Value `json:"usageMetadata"`
		Error         jsontext.Value `json:"error"`
	}
	if err := wire.Decode(body, &list); err != nil {
		return wire.Part{}, err
	}
	if wire.IsSet(list.Error) {
		return wire.Part{Failed: true}, nil
	}
	if list.Embeddings.Kind() != '[' {
		return wire.Part{}, errors.New("it has no embeddings")
	}
	r.count(list.UsageMetadata)
	return wire.Part{}, nil
}

// Event implements [wire.Reader].
func (r *embeddingReader) Event(sse.Event) (wire.Part, error) {
	return wire.Part{}, errors.New("embeddings are not streamed")
}

// countReader reads answers of countTokens. Nothing is generated, and nothing is charged.
type countReader struct{ contentReader }

// Plain implements [wire.Reader].
func (r *countReader) Plain(body []byte) (wire.Part, error) {
	var c struct {
		TotalTokens *int64         `json:"totalTokens"`
		Error       jsontext.Value `json:"error"`
	}
	if err := wire.Decode(body, &c); err != nil {
		return wire.Part{}, err
	}
	if wire.IsSet(c.Error) {
		return wire.Part{Failed: true}, nil
	}
	if c.TotalTokens == nil || *c.TotalTokens < 0 {
		return wire.Part{}, errors.New("it has no totalTokens")
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

package openai

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errorMark reports whether an object is an error.
type errorMark bool

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (m *errorMark) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	*m = string(value) == `"error"`
	return err
}

// content is a message's text: a string, or a list of parts of which some are text. Anything else,
// null above all, is no text.
type content string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = ""
	switch dec.PeekKind() {
	case '"':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*c = content(token.String())
		return nil
	case '[':
		var parts []struct {
			Text content `json:"text"`
		}
		if err := json.UnmarshalDecode(dec, &parts); err != nil {
			return err
		}
		var all strings.Builder
		for _, part := range parts {
			all.WriteString(string(part.Text))
		}
		*c = content(all.String())
		return nil
	default:
		return dec.SkipValue()
	}
}

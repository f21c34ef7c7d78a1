package wire

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads JSON and accepts some JSON of servers that the standard does not: the answer is forwarded
// unchanged, so only the members that are read here have to be valid.
func Decode(text []byte, into any) error {
	return json.Unmarshal(text, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// IsSet reports whether a member is present and not null.
func IsSet(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// Scalar is a string, or a number as text; servers differ on which one an error's code is. Anything
// else reads as "".
type Scalar string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (s *Scalar) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = ""
	if kind := dec.PeekKind(); kind != '"' && kind != '0' {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*s = Scalar(token.String())
	return nil
}

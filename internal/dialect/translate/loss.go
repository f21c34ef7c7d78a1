package translate

import "github.com/go-json-experiment/json/jsontext"

// lose notes that a part of the upstream's answer was left out.
func (n *notes) lose(what string) { n.drop("answer." + what) }

// dropped names what was left out so far.
func (n *notes) dropped() []string { return n.paths }

// saidMark reports whether a member has content: it is present, and neither null nor empty.
type saidMark bool

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (m *saidMark) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	switch string(value) {
	case "null", `""`, "[]", "{}", "false":
		*m = false
	default:
		*m = err == nil
	}
	return err
}

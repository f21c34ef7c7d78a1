package sim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds on the stop sequences of a request. OpenAI and Gemini have theirs; the other services allow more than anybody sends.
const (
	maxStopsOpenAI = 4
	maxStopsGemini = 5
	maxStops       = 64
)

// stopList is the stop sequences of a request: a text, or a list of texts.
type stopList []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *stopList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '"':
		var one string
		err := json.UnmarshalDecode(dec, &one)
		*l = stopList{one}
		return err
	case '[':
		return json.UnmarshalDecode(dec, (*[]string)(l))
	}
	return errors.New("stop is a text or a list of texts")
}

// check holds the list to the bound of its dialect.
func (l stopList) check(param string, most int) error {
	if len(l) > most {
		return invalid(param, fmt.Sprintf("Invalid '%s': array too long. Expected at most %d stop sequences.", param, most))
	}
	for i, s := range l {
		if s == "" {
			return invalid(param, fmt.Sprintf("Invalid '%s.%d': a stop sequence must not be empty.", param, i))
		}
	}
	return nil
}

// before returns the text up to the first stop sequence in it, and that sequence; the whole text and "" if it has none.
func (t text) before(stops stopList) (text, string) {
	if len(stops) == 0 {
		return t, ""
	}
	whole := t.String()
	at, found := len(whole), ""
	for _, s := range stops {
		if i := strings.Index(whole, s); i >= 0 && (found == "" || i < at) {
			at, found = i, s
		}
	}
	if found == "" {
		return t, ""
	}
	var pieces []string
	for piece := range t.tokens() {
		if at == 0 {
			break
		}
		piece = piece[:min(len(piece), at)] // the sequence may begin within a token
		pieces, at = append(pieces, piece), at-len(piece)
	}
	return listed(pieces), found
}

package sim

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// media counts what a prompt shows besides text.
type media struct {
	inline int // images whose bytes are in the request
	bytes  int // of those
	linked int // images that are named by URL or by the id of a file
	files  int // documents, sounds and other parts
}

func (m *media) add(other media) {
	m.inline += other.inline
	m.bytes += other.bytes
	m.linked += other.linked
	m.files += other.files
}

// addImage counts an image. The bytes of a data URL, or of Anthropic's base64 source, are its size.
func (m *media) addImage(part *contentPart) {
	data := part.Source.Data
	if head, rest, found := strings.Cut(string(part.ImageURL), ","); found && strings.HasPrefix(head, "data:") {
		data = rest
	}
	if data == "" {
		m.linked++
		return
	}
	m.inline++
	m.bytes += base64.StdEncoding.DecodedLen(len(data)) - strings.Count(data[max(0, len(data)-2):], "=")
}

// words say what the model saw, one token each.
func (m media) words() []string {
	count := func(n int, of string) string {
		if n == 1 {
			return "1 " + of
		}
		return fmt.Sprintf("%d %ss", n, of)
	}
	var seen []string
	if m.inline > 0 {
		seen = append(seen, fmt.Sprintf("%s of %s", count(m.inline, "image"), count(m.bytes, "byte")))
	}
	if m.linked > 0 {
		seen = append(seen, count(m.linked, "image")+" by reference")
	}
	if m.files > 0 {
		seen = append(seen, count(m.files, "file"))
	}
	if len(seen) == 0 {
		return nil
	}
	return strings.Fields("sees " + strings.Join(seen, " and ") + ":")
}

// mediaSource is where Anthropic's images are.
type mediaSource struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// address is the URL of an image: a string, or an object that has it.
type address string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *address) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return json.UnmarshalDecode(dec, (*string)(a))
	}
	var object struct {
		URL string `json:"url"`
	}
	err := json.UnmarshalDecode(dec, &object)
	*a = address(object.URL)
	return err
}

// Package token counts the tokens of texts with a tokenizer that is part of the binary: for token counts, for the
// estimates of dry runs, and for inputs that may be too long for their model (see package overflow). All other inferences are
// estimated by bytes, since counting costs a thousand times as much, and settled by the upstream's own count.
//
// The vocabulary is o200k_base. Models with another vocabulary get an estimate, which is closer than an estimate by
// bytes, above all for code.
//
// A [Counter] is safe for concurrent use. It loads its vocabulary at its first use.
package token

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tiktoken-go/tokenizer/codec"
)

const (
	// MaxText is how much of a text is counted, in bytes; what is behind it is taken to be like it.
	MaxText = 256 << 10
	// MaxMember is how much of the texts in one member is counted, in bytes; the texts behind it are taken to be like them.
	MaxMember = 1 << 20
	// piece bounds what the tokenizer sees at a time: the expression that it splits with may go back over all of a
	// run that has no boundary in it. Cutting there costs at most one token for each piece.
	piece = 2 << 10

	// perMessage is what upstreams add for the frame around a message.
	perMessage = 4
	// PerImage is what an image of ordinary size is counted as, and a document; their bytes say nothing.
	PerImage = 1600
)

// Media are the members whose strings are counted as images: their data, or the addresses of it.
var Media = []string{"data", "url", "image_url", "file_data"}

// Counter counts tokens. The zero value is ready.
type Counter struct {
	load  sync.Once
	codec *codec.Codec
}

// Text is how many tokens a text has.
func (c *Counter) Text(text string) int64 {
	c.load.Do(func() { c.codec = codec.NewO200kBase() })
	var tokens, counted int64
	for rest := text; rest != "" && counted < MaxText; {
		next := cut(rest)
		n, err := c.codec.Count(next)
		if err != nil { // only invalid UTF-8 could be one, and the codec takes that as it is
			n = len(next)
		}
		tokens += int64(n)
		counted += int64(len(next))
		rest = rest[len(next):]
	}
	if all := int64(len(text)); counted > 0 && counted < all {
		tokens = tokens * all / counted
	}
	return tokens
}

// cut takes a piece off the front of a text: up to a space or line end where there is one, never inside a rune.
func cut(text string) string {
	if len(text) <= piece {
		return text
	}
	if at := strings.LastIndexAny(text[:piece], " \n"); at > piece/2 {
		return text[:at]
	}
	end := piece
	for end > piece-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Body is how many tokens of input the body of an inference is, of either dialect: the strings in it, without
// the names around them and the settings beside them; tools with their names, since these are part of the
// prompt. A body that is no JSON is counted as text.
func (c *Counter) Body(body []byte) int64 {
	w := walker{counter: c, dec: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))}
	if err := w.top(); err != nil {
		return c.Text(string(body))
	}
	return w.tokens
}

// Member is how many tokens of input a member of the body of an inference is, or an element of a member that is a list. Members
// that are no input have none. The members of a body add up to the tokens of the body, up to MaxMember of each.
func (c *Counter) Member(name string, value []byte) int64 {
	switch {
	case name == "tools" || name == "functions":
		return c.Text(string(value))
	case !prompts[name]:
		return 0
	}
	w := walker{counter: c, dec: jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true))}
	if err := w.value(name); err != nil {
		return c.Text(string(value))
	}
	return w.tokens
}

// prompts are the members of a body that its input is in.
var prompts = map[string]bool{
	"messages": true, "system": true, "prompt": true, "input": true, "instructions": true, "query": true, "documents": true, "tools": true, "functions": true,
}

// labels are members of messages that say what something is and are no part of its text.
var labels = map[string]bool{
	"type": true, "role": true, "id": true, "media_type": true, "tool_use_id": true, "tool_call_id": true, "call_id": true, "signature": true, "detail": true,
}

// walker sums up the tokens of a body on its way through it.
type walker struct {
	counter *Counter
	dec     *jsontext.Decoder
	tokens  int64
	// Bytes of texts that were counted, and their tokens.
	counted, exact int64
}

// top reads the outermost object.
func (w *walker) top() error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		name, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		switch n := name.String(); {
		case n == "tools" || n == "functions":
			value, err := w.dec.ReadValue()
			if err != nil {
				return err
			}
			w.tokens += w.counter.Text(string(value))
		case prompts[n]:
			err = w.value(n)
		default:
			err = w.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value counts the value of a member, all that is nested in it included.
func (w *walker) value(member string) error {
	switch w.dec.PeekKind() {
	case '"':
		text, err := w.dec.ReadToken()
		if err == nil {
			w.tokens += w.text(member, text.String())
		}
		return err
	case '[':
		return w.list(member)
	case '{':
		return w.object()
	}
	return w.dec.SkipValue()
}

func (w *walker) list(member string) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		if err := w.value(member); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *walker) object() error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		name, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		member := name.String()
		if member == "role" {
			w.tokens += perMessage
		}
		if err := w.value(member); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// text counts a string by what it is.
func (w *walker) text(member, text string) int64 {
	switch {
	case labels[member]:
		return 0
	case slices.Contains(Media, member):
		return PerImage
	case w.counted >= MaxMember:
		return int64(len(text)) * w.exact / w.counted
	}
	n := w.counter.Text(text)
	w.counted, w.exact = w.counted+int64(len(text)), w.exact+n
	return n
}

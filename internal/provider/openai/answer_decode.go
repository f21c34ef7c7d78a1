package openai

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

// lenient accepts what compatible servers send although the JSON standard would rather not: the
// answer is forwarded as it came, so only what is read here has to be understood.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// completion is what Penstock reads of an answer, and of each chunk of a streamed one.
type completion struct {
	Object  errorMark      `json:"object"`
	Choices []choice       `json:"choices"`
	Usage   jsontext.Value `json:"usage"`
	Error   jsontext.Value `json:"error"`
}

type choice struct {
	Index   int     `json:"index"`
	Message message `json:"message"` // of a plain answer
	Delta   message `json:"delta"`   // of a chunk
}

type message struct {
	Content content `json:"content"`
}

// reset prepares c for another chunk, keeping its memory.
func (c *completion) reset() {
	*c = completion{Choices: c.Choices[:0], Usage: c.Usage[:0], Error: c.Error[:0]}
}

// failed reports whether the server put an error where an answer belongs.
func (c *completion) failed() bool {
	return isSet(c.Error) || bool(c.Object)
}

// text is what the first choice says. Callers that ask for several choices get them all on the
// wire, but their texts have no order among each other.
func (c *completion) text() string {
	for i := range c.Choices {
		if ch := &c.Choices[i]; ch.Index == 0 {
			return string(ch.Message.Content) + string(ch.Delta.Content)
		}
	}
	return ""
}

// tokens returns the usage that the server told, if it did. Usage that makes no sense counts as
// not told: whoever charges for it must then assume the worst, and not what is cheapest.
func (c *completion) tokens() (penstock.Usage, bool) {
	if !isSet(c.Usage) {
		return penstock.Usage{}, false
	}
	var u struct {
		Prompt     *int64 `json:"prompt_tokens"`
		Completion int64  `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if err := json.Unmarshal(c.Usage, &u, lenient); err != nil || u.Prompt == nil {
		return penstock.Usage{}, false
	}
	usage := penstock.Usage{InputTokens: *u.Prompt, CachedInputTokens: u.Details.Cached, OutputTokens: u.Completion}
	if usage.InputTokens < 0 || usage.OutputTokens < 0 || usage.CachedInputTokens < 0 {
		return penstock.Usage{}, false
	}
	return usage, true
}

// isSet reports whether a member is present and not null.
func isSet(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// errorMark tells whether an object says that it is an error. It is there on every chunk, so it is
// compared in place and not made a string.
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

// scalar is a string, or a number as text; servers differ on which one an error's code is. Anything
// else reads as "".
type scalar string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (s *scalar) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = ""
	if kind := dec.PeekKind(); kind != '"' && kind != '0' {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*s = scalar(token.String())
	return nil
}

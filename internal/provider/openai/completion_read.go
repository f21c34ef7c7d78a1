package openai

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

var done = []byte("[DONE]")

// completionReader reads chat completions, and completions of the older kind.
type completionReader struct {
	usageInjected bool // the caller did not ask for usage and must not see it

	decoded  completion // memory to decode chunks into
	usage    penstock.Usage
	complete bool
}

// Plain implements [wire.Reader].
func (r *completionReader) Plain(body []byte) (wire.Part, error) {
	c := &r.decoded
	if err := wire.Decode(body, c); err != nil {
		return wire.Part{}, err
	}
	if c.failed() {
		return wire.Part{Failed: true}, nil
	}
	if c.Choices == nil {
		return wire.Part{}, errors.New("it has no choices")
	}
	r.count(c.Usage)
	return wire.Part{Text: c.text()}, nil
}

// Event implements [wire.Reader].
func (r *completionReader) Event(ev sse.Event) (wire.Part, error) {
	if bytes.Equal(ev.Data, done) {
		return wire.Part{Last: true}, nil
	}
	c := &r.decoded
	c.reset()
	if err := wire.Decode(ev.Data, c); err != nil {
		return wire.Part{}, err
	}
	if c.failed() {
		return wire.Part{Failed: true}, nil
	}
	r.count(c.Usage)
	return wire.Part{
		Text: c.text(),
		// Usage alone, as the protocol sends it last. Some servers add usage to chunks with choices, and
		// some send other chunks without choices: those are the caller's.
		Hidden: r.usageInjected && len(c.Choices) == 0 && wire.IsSet(c.Usage),
	}, nil
}

func (r *completionReader) count(told jsontext.Value) {
	if usage, ok := readUsage(told); ok {
		r.usage, r.complete = usage, true
	}
}

// Usage implements [wire.Reader].
func (r *completionReader) Usage() (penstock.Usage, bool) { return r.usage, r.complete }

// Complaint implements [wire.Reader].
func (r *completionReader) Complaint(status int, body []byte) wire.Complaint {
	return readComplaint(status, body)
}

// completion is what Penstock reads of an answer, and of each chunk of a streamed one.
type completion struct {
	Object  errorMark      `json:"object"`
	Choices []choice       `json:"choices"`
	Usage   jsontext.Value `json:"usage"`
	Error   jsontext.Value `json:"error"`
}

type choice struct {
	Index   int     `json:"index"`
	Message message `json:"message"` // of a plain chat
	Delta   message `json:"delta"`   // of a chunk of a chat
	Text    content `json:"text"`    // of the older kind, plain or chunk
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
	return wire.IsSet(c.Error) || bool(c.Object)
}

// text is what the first choice says. Callers that ask for several choices get them all on the
// wire, but their texts have no order among each other.
func (c *completion) text() string {
	for i := range c.Choices {
		if ch := &c.Choices[i]; ch.Index == 0 {
			return string(ch.Message.Content) + string(ch.Delta.Content) + string(ch.Text)
		}
	}
	return ""
}

// readUsage reads the counts that a server told, in the names of completions (prompt, completion) or
// of responses (input, output). Usage that makes no sense counts as not told: whoever charges for it
// must then assume the worst, and not what is cheapest.
func readUsage(told jsontext.Value) (penstock.Usage, bool) {
	if !wire.IsSet(told) {
		return penstock.Usage{}, false
	}
	type input struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"` // not OpenAI's own, but widely told
	}
	type output struct {
		Reasoning int64 `json:"reasoning_tokens"`
	}
	var u struct {
		Prompt            *int64 `json:"prompt_tokens"`
		Completion        int64  `json:"completion_tokens"`
		PromptDetails     input  `json:"prompt_tokens_details"`
		CompletionDetails output `json:"completion_tokens_details"`
		Input             *int64 `json:"input_tokens"`
		Output            int64  `json:"output_tokens"`
		InputDetails      input  `json:"input_tokens_details"`
		OutputDetails     output `json:"output_tokens_details"`
	}
	if wire.Decode(told, &u) != nil {
		return penstock.Usage{}, false
	}
	if u.Prompt == nil {
		u.Prompt, u.PromptDetails, u.Completion, u.CompletionDetails = u.Input, u.InputDetails, u.Output, u.OutputDetails
	}
	if u.Prompt == nil {
		return penstock.Usage{}, false
	}
	usage := penstock.Usage{
		InputTokens: *u.Prompt, CachedInputTokens: u.PromptDetails.Cached, CacheWriteTokens: u.PromptDetails.CacheWrite,
		OutputTokens: u.Completion, ReasoningTokens: u.CompletionDetails.Reasoning,
	}
	if min(usage.InputTokens, usage.CachedInputTokens, usage.CacheWriteTokens, usage.OutputTokens, usage.ReasoningTokens) < 0 {
		return penstock.Usage{}, false
	}
	return usage, true
}

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

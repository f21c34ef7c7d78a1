package translate

import (
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
)

// completion is what is read of a chat completion, and of each chunk of a streamed one.
type completion struct {
	ID      string             `json:"id"`
	Choices []completionChoice `json:"choices"`
	Usage   jsontext.Value     `json:"usage"`
	Error   jsontext.Value     `json:"error"`
}

type completionChoice struct {
	Index        int               `json:"index"`
	Message      completionMessage `json:"message"` // of a whole answer
	Delta        completionMessage `json:"delta"`   // of a chunk
	FinishReason string            `json:"finish_reason"`
}

type completionMessage struct {
	Content   spokenText       `json:"content"`
	Refusal   spokenText       `json:"refusal"`
	ToolCalls []completionCall `json:"tool_calls"`

	// What servers call the reasoning of a model. Some send both.
	ReasoningContent spokenText `json:"reasoning_content"`
	Reasoning        spokenText `json:"reasoning"`

	// What a message cannot hold.
	Annotations saidMark `json:"annotations"`
	Audio       saidMark `json:"audio"`
}

type completionCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments loose  `json:"arguments"`
	} `json:"function"`
}

// maxUnnamedBytes bounds the arguments that are held back until a call has its name.
const maxUnnamedBytes = 64 << 10

// chatReader reads chat completions. Only the first choice is read: more cannot be asked for.
type chatReader struct {
	begun   bool
	id      string
	end     ending
	refused bool
	calls   int // how many were begun
	notes

	// The call that is being read. Upstreams send one call after the other; its parts share an index.
	index   int
	callID  string
	name    string
	unnamed string // arguments that arrived before the name
	aside   bool   // text arrived since the call began
}

func (r *chatReader) plain(body []byte, w writer) error {
	var c completion
	if err := json.Unmarshal(body, &c, lenient); err != nil {
		return malformed(err, "it is not a chat completion")
	}
	if c.Choices == nil && !isSet(c.Error) {
		return malformed(nil, "it is a chat completion without choices")
	}
	return r.read(&c, w)
}

func (r *chatReader) event(data []byte, w writer) error {
	if string(data) == "[DONE]" {
		return nil
	}
	var c completion
	if err := json.Unmarshal(data, &c, lenient); err != nil {
		return malformed(err, "an event is not a chunk of a chat completion")
	}
	return r.read(&c, w)
}

func (r *chatReader) read(c *completion, w writer) error {
	if isSet(c.Error) {
		return upstreamSaid(c.Error)
	}
	// Some upstreams send what is not part of the answer first, without an id and without choices.
	if !r.begun && len(c.Choices) > 0 {
		r.begun, r.id = true, c.ID
		w.begin(c.ID)
	}
	if usage, ok := tokensFromChat(c.Usage); ok {
		r.end.usage = usage
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			r.lose("choices")
			continue
		}
		if err := r.said(&choice.Message, w); err != nil {
			return err
		}
		if err := r.said(&choice.Delta, w); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			r.end.stop = stopFromChat(choice.FinishReason)
		}
	}
	return nil
}

func (r *chatReader) said(m *completionMessage, w writer) error {
	if thought := cmp.Or(m.ReasoningContent, m.Reasoning); thought != "" {
		r.aside = true
		w.thought(string(thought))
	}
	if m.Annotations {
		r.lose("annotations")
	}
	if m.Audio {
		r.lose("audio")
	}
	if m.Content != "" {
		r.aside = true
		w.text(string(m.Content))
	}
	if m.Refusal != "" {
		r.aside = true
		if to, ok := ableTo[refuser](w); ok {
			to.refuse(string(m.Refusal))
		} else {
			r.refused = true
			w.text(string(m.Refusal))
		}
	}
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		if call.Index == nil {
			call.Index = &i // whole answers count their calls by their place
		}
		if err := r.call(call, w); err != nil {
			return err
		}
	}
	return nil
}

// call takes up a part of a tool call. The first part has the id and the name, the others are joined to
// it by the index alone. Some upstreams give every call the index 0; then another id makes another call.
func (r *chatReader) call(part *completionCall, w writer) error {
	another := part.ID != "" && r.callID != "" && part.ID != r.callID && part.Function.Name != ""
	switch {
	case r.calls == 0 || *part.Index > r.index || (*part.Index == r.index && another):
		if err := r.named(); err != nil {
			return err
		}
		r.calls++
		r.index, r.callID, r.name, r.unnamed = *part.Index, part.ID, "", ""
		r.aside = false
	case *part.Index < r.index:
		return malformed(nil, "it goes back to a tool call after it began another")
	}
	arguments := string(part.Function.Arguments)
	if r.aside && arguments != "" {
		return malformed(nil, "it goes back to a tool call after it said something else")
	}
	if r.name != "" {
		if arguments != "" {
			w.arguments(arguments)
		}
		return nil
	}
	r.unnamed += arguments
	if r.callID == "" {
		r.callID = part.ID
	}
	if len(r.unnamed) > maxUnnamedBytes {
		return malformed(nil, "a tool call tells its arguments before its name")
	}
	if part.Function.Name == "" {
		return nil
	}
	r.name = part.Function.Name
	id := r.callID
	if id == "" {
		id = r.id + "#" + strconv.Itoa(r.calls) // some upstreams give none
	}
	w.call(portableID(id), r.name)
	if r.unnamed != "" {
		w.arguments(r.unnamed)
		r.unnamed = ""
	}
	return nil
}

// named checks that the call that was read last has its name.
func (r *chatReader) named() error {
	if r.calls > 0 && r.name == "" {
		return malformed(nil, "a tool call has no name")
	}
	return nil
}

func (r *chatReader) ending() (ending, error) {
	if !r.begun {
		return ending{}, malformed(nil, "it has no choices")
	}
	switch {
	case r.refused && r.end.stop == stopTurn:
		r.end.stop = stopRefusal
	case r.calls > 0 && r.end.stop == stopTurn:
		r.end.stop = stopTools // some upstreams say stop
	}
	return r.end, r.named()
}

// upstreamSaid is an error in place of an answer. Most adapters find it first; this is for those that
// do not.
func upstreamSaid(raw jsontext.Value) *provider.Error {
	var said struct {
		Message spokenText `json:"message"`
	}
	if json.Unmarshal(raw, &said, lenient) != nil || said.Message == "" {
		said.Message = "the upstream broke off its answer with an error"
	}
	return &provider.Error{Kind: provider.KindServer, Message: clip(string(said.Message), maxSaidBytes)}
}

// spokenText is a string, or a list of parts of which some are text. Anything else is no text.
type spokenText string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (s *spokenText) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = ""
	switch dec.PeekKind() {
	case '"':
		return json.UnmarshalDecode(dec, (*string)(s))
	case '[':
		var parts []jsontext.Value
		if err := json.UnmarshalDecode(dec, &parts); err != nil {
			return err
		}
		for _, raw := range parts {
			var part struct {
				Type string `json:"type"`
				Text string `json:"text"`
			}
			if json.Unmarshal(raw, &part, lenient) == nil && part.Type == "text" {
				*s += spokenText(part.Text)
			}
		}
		return nil
	}
	return dec.SkipValue()
}

// loose is a string; an object, which some upstreams send instead, is its text.
type loose string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (l *loose) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*l = ""
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, (*string)(l))
	}
	raw, err := dec.ReadValue()
	if err == nil && raw.Kind() == '{' {
		*l = loose(raw)
	}
	return err
}

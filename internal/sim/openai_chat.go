package sim

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const systemFingerprint = "fp_sim"

type chatRequest struct {
	generation
	Messages            []chatMessage `json:"messages"`
	MaxCompletionTokens *int          `json:"max_completion_tokens"`
	Tools               []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice toolChoice `json:"tool_choice"`
}

type chatMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// toolChoice is "none", "auto" or "required", or an object that names a function.
type toolChoice struct {
	mode string
	name string
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *toolChoice) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n', '"':
		return json.UnmarshalDecode(dec, &c.mode)
	case '{':
		var object struct {
			Type     string `json:"type"`
			Name     string `json:"name"` // of a response
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		err := json.UnmarshalDecode(dec, &object)
		c.mode, c.name = object.Type, object.Function.Name+object.Name
		return err
	}
	return errors.New("tool_choice is a string or an object")
}

func decodeChat(body []byte) (*call, error) {
	r := new(chatRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	p := new(prompt)
	for i, m := range r.Messages {
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool", "function"}, m.Role) {
			param := "messages." + strconv.Itoa(i) + ".role"
			return nil, invalid(param, "Invalid value for '"+param+"': use system, developer, user, assistant or tool.")
		}
		p.add(m.Role, m.Content)
	}
	tool, err := r.demandedTool()
	if err != nil {
		return nil, err
	}
	c := &call{model: r.Model, prompt: p, tool: tool, stream: r.Stream, responder: r}
	for _, limit := range []*int{r.MaxTokens, r.MaxCompletionTokens} {
		if limit != nil {
			c.maxTokens = *limit
		}
	}
	return c, nil
}

func (r *chatRequest) validate() error {
	if err := r.generation.validate(); err != nil {
		return err
	}
	switch {
	case r.Messages == nil:
		return required("messages")
	case len(r.Messages) == 0:
		return invalid("messages", "Invalid 'messages': empty array. Expected at least one message.")
	case r.MaxCompletionTokens != nil && *r.MaxCompletionTokens < 1:
		return invalid("max_completion_tokens", "Invalid 'max_completion_tokens': expected a value of at least 1.")
	}
	return nil
}

// demandedTool returns the function that the request insists on, or "".
func (r *chatRequest) demandedTool() (string, error) {
	choice := r.ToolChoice
	if choice.mode != "" && len(r.Tools) == 0 {
		return "", invalid("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
	}
	for i, tool := range r.Tools {
		if tool.Function.Name == "" {
			return "", required("tools." + strconv.Itoa(i) + ".function.name")
		}
	}
	switch choice.mode {
	case "required":
		return r.Tools[0].Function.Name, nil
	case "function":
		for _, tool := range r.Tools {
			if tool.Function.Name == choice.name {
				return choice.name, nil
			}
		}
		return "", invalid("tool_choice", "Tool choice '"+abridge(choice.name)+"' not found in 'tools'.")
	}
	return "", nil
}

type chatCompletion struct {
	ID                string       `json:"id"`
	Object            string       `json:"object"`
	Created           int64        `json:"created"`
	Model             string       `json:"model"`
	Choices           []chatChoice `json:"choices"`
	Usage             openAIUsage  `json:"usage"`
	SystemFingerprint string       `json:"system_fingerprint"`
}

type chatChoice struct {
	Index        int            `json:"index"`
	Message      chatAnswer     `json:"message"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

type chatAnswer struct {
	Role      string         `json:"role"`
	Content   *string        `json:"content"`
	Refusal   *string        `json:"refusal"`
	ToolCalls []chatToolCall `json:"tool_calls,omitempty"`
}

type chatToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

func (r *chatRequest) plain(a *answer) []byte {
	message := chatAnswer{Role: "assistant"}
	if a.tool == "" {
		message.Content = new(a.script.String())
	} else {
		function := chatFunction{Name: a.tool, Arguments: strings.Join(toolArguments(), "")}
		message.ToolCalls = []chatToolCall{{ID: "call_" + a.id, Type: "function", Function: function}}
	}
	return encode(chatCompletion{
		ID:                "chatcmpl-" + a.id,
		Object:            "chat.completion",
		Created:           a.created.Unix(),
		Model:             a.model,
		Choices:           []chatChoice{{Message: message, FinishReason: a.finishReason()}},
		Usage:             a.openAIUsage(),
		SystemFingerprint: systemFingerprint,
	})
}

type chatChunk struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	Created           int64             `json:"created"`
	Model             string            `json:"model"`
	SystemFingerprint string            `json:"system_fingerprint"`
	Choices           []chatChunkChoice `json:"choices"`
	Usage             jsontext.Value    `json:"usage,omitzero"` // absent unless asked for, then null until the last chunk
}

type chatChunkChoice struct {
	Index        int            `json:"index"`
	Delta        chatDelta      `json:"delta"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

type chatDelta struct {
	Role      string             `json:"role,omitempty"`
	Content   jsontext.Value     `json:"content,omitzero"`
	Refusal   jsontext.Value     `json:"refusal,omitzero"`
	ToolCalls []chatToolCallPart `json:"tool_calls,omitempty"`
}

// chatToolCallPart carries id, type and name in the first part only; the rest is joined by index.
type chatToolCallPart struct {
	Index    int          `json:"index"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

func (r *chatRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		chunk := chatChunk{
			ID:                "chatcmpl-" + a.id,
			Object:            "chat.completion.chunk",
			Created:           a.created.Unix(),
			Model:             a.model,
			SystemFingerprint: systemFingerprint,
		}
		if r.includeUsage() {
			chunk.Usage = jsontext.Value("null")
		}
		for delta, token := range chatDeltas(a) {
			chunk.Choices = []chatChunkChoice{{Delta: delta}}
			if !yield(frame{data: dataEvent(encode(chunk)), token: token}) {
				return
			}
		}
		chunk.Choices = []chatChunkChoice{{FinishReason: a.finishReason()}}
		if !yield(frame{data: dataEvent(encode(chunk))}) {
			return
		}
		if r.includeUsage() {
			chunk.Choices, chunk.Usage = []chatChunkChoice{}, encode(a.openAIUsage())
			if !yield(frame{data: dataEvent(encode(chunk))}) {
				return
			}
		}
		yield(frame{data: doneEvent()})
	}
}

// chatDeltas yields the pieces of an answer, each with whether it carries a token.
func chatDeltas(a *answer) iter.Seq2[chatDelta, bool] {
	return func(yield func(chatDelta, bool) bool) {
		null := jsontext.Value("null")
		if a.tool != "" {
			first := chatToolCallPart{ID: "call_" + a.id, Type: "function", Function: chatFunction{Name: a.tool}}
			if !yield(chatDelta{Role: "assistant", Content: null, ToolCalls: []chatToolCallPart{first}}, false) {
				return
			}
			for _, piece := range toolArguments() {
				part := chatToolCallPart{Function: chatFunction{Arguments: piece}}
				if !yield(chatDelta{ToolCalls: []chatToolCallPart{part}}, true) {
					return
				}
			}
			return
		}
		if !yield(chatDelta{Role: "assistant", Content: jsontext.Value(`""`), Refusal: null}, false) {
			return
		}
		for token := range a.script.tokens() {
			if !yield(chatDelta{Content: encode(token)}, true) {
				return
			}
		}
	}
}

package translate

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// chatRequest is the body of a chat completion: what of it can be carried.
type chatRequest struct {
	Model               string          `json:"model,omitzero"`
	Messages            []chatMessage   `json:"messages"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens,omitzero"` // only written; package dialect reads it
	Stream              bool            `json:"stream,omitzero"`
	StreamOptions       *streamOptions  `json:"stream_options,omitzero"`
	Temperature         *float64        `json:"temperature,omitzero"`
	TopP                *float64        `json:"top_p,omitzero"`
	Stop                texts           `json:"stop,omitzero"`
	Tools               []chatTool      `json:"tools,omitzero"`
	ToolChoice          *chatToolChoice `json:"tool_choice,omitzero"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls,omitzero"`
	User                string          `json:"user,omitzero"`
	ReasoningEffort     string          `json:"reasoning_effort,omitzero"`
	ResponseFormat      *chatFormat     `json:"response_format,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool           `json:"include_usage"`
	Unknown      jsontext.Value `json:",embed"`
}

// chatFormat asks for text, for JSON, or for JSON by a schema.
type chatFormat struct {
	Type       string         `json:"type"`
	JSONSchema *chatSchema    `json:"json_schema,omitzero"`
	Unknown    jsontext.Value `json:",embed"`
}

type chatSchema struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

type chatMessage struct {
	Role       string         `json:"role"`
	Content    chatContent    `json:"content"`
	Refusal    string         `json:"refusal,omitzero"`
	ToolCalls  []chatToolCall `json:"tool_calls,omitzero"`
	ToolCallID string         `json:"tool_call_id,omitzero"`
	Audio      jsontext.Value `json:"audio,omitzero"`
	Function   jsontext.Value `json:"function_call,omitzero"`
	Unknown    jsontext.Value `json:",embed"`
}

// chatContent is the content of a message: a string, or a list of parts. A single text is written as a
// string, which every compatible server understands.
type chatContent []chatPart

type chatPart struct {
	Type     string         `json:"type"`
	Text     string         `json:"text,omitzero"`
	Refusal  string         `json:"refusal,omitzero"`
	ImageURL *chatImage     `json:"image_url,omitzero"`
	File     *chatFile      `json:"file,omitzero"`
	Unknown  jsontext.Value `json:",embed"`
}

type chatImage struct {
	URL     string         `json:"url"`
	Detail  string         `json:"detail,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

type chatFile struct {
	Filename string         `json:"filename,omitzero"`
	FileData string         `json:"file_data,omitzero"`
	FileID   string         `json:"file_id,omitzero"`
	Unknown  jsontext.Value `json:",embed"`
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *chatContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*[]chatPart)(c))
	}
	var text string
	err := json.UnmarshalDecode(dec, &text)
	*c = chatContent{{Type: "text", Text: text}}
	return err
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c chatContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch {
	case c == nil:
		return enc.WriteToken(jsontext.Null)
	case len(c) == 0:
		return enc.WriteToken(jsontext.String(""))
	case len(c) == 1 && c[0].Type == "text":
		return enc.WriteToken(jsontext.String(c[0].Text))
	}
	return json.MarshalEncode(enc, []chatPart(c))
}

type chatToolCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function chatCalled     `json:"function"`
	Unknown  jsontext.Value `json:",embed"`
}

type chatCalled struct {
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"`
	Unknown   jsontext.Value `json:",embed"`
}

type chatTool struct {
	Type     string         `json:"type"`
	Function chatFunction   `json:"function,omitzero"`
	Unknown  jsontext.Value `json:",embed"`
}

type chatFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// chatToolChoice is "none", "auto" or "required", or an object that names a function.
type chatToolChoice struct {
	Type string // the string, or the object's type
	Name string // of the function
}

type namedChoice struct {
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *chatToolChoice) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &c.Type)
	}
	var named namedChoice
	err := json.UnmarshalDecode(dec, &named)
	c.Type, c.Name = named.Type, named.Function.Name
	return err
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c chatToolChoice) MarshalJSONTo(enc *jsontext.Encoder) error {
	if c.Name == "" {
		return enc.WriteToken(jsontext.String(c.Type))
	}
	named := namedChoice{Type: c.Type}
	named.Function.Name = c.Name
	return json.MarshalEncode(enc, named)
}

// texts is a string or a list of strings.
type texts []string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (t *texts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*[]string)(t))
	}
	var one string
	err := json.UnmarshalDecode(dec, &one)
	*t = texts{one}
	return err
}

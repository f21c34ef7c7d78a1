package translate

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// messageRequest is the body of a call for a message: what of it can be carried.
type messageRequest struct {
	Model         string             `json:"model,omitzero"`
	System        blocks             `json:"system,omitzero"`
	Messages      []turn             `json:"messages"`
	MaxTokens     int64              `json:"max_tokens,omitzero"` // only written; package dialect reads it
	Stream        bool               `json:"stream,omitzero"`
	Temperature   *float64           `json:"temperature,omitzero"`
	TopP          *float64           `json:"top_p,omitzero"`
	StopSequences []string           `json:"stop_sequences,omitzero"`
	Tools         []messageTool      `json:"tools,omitzero"`
	ToolChoice    *messageToolChoice `json:"tool_choice,omitzero"`
	Metadata      *messageMetadata   `json:"metadata,omitzero"`
	Thinking      *thinking          `json:"thinking,omitzero"`
	OutputConfig  *outputConfig      `json:"output_config,omitzero"`
}

// turn is the content of one role until the other role's next turn.
type turn struct {
	Role    string         `json:"role"`
	Content blocks         `json:"content"`
	Unknown jsontext.Value `json:",embed"`
}

// blocks is a string or a list of blocks. It is always written as a list.
type blocks []block

// block is a text, an image, a document, the use of a tool or its result; each type has its own fields.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitzero"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature *string        `json:"signature,omitzero"`
	Data      string         `json:"data,omitzero"` // of thinking that is encrypted
	Source    *source        `json:"source,omitzero"`
	Title     string         `json:"title,omitzero"`
	Citations jsontext.Value `json:"citations,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitzero"`
	Content   blocks         `json:"content,omitempty"`
	IsError   bool           `json:"is_error,omitzero"`
	Unknown   jsontext.Value `json:",embed"`

	partSignature string // of Gemini, never read from a body
	path          string // in the caller's body, if the block was made from another dialect
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (b *blocks) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		var text string
		err := json.UnmarshalDecode(dec, &text)
		*b = blocks{{Type: "text", Text: text}}
		return err
	case '{':
		// The content of server tools' results is a single object. Those blocks are refused by their type,
		// which says more than that an object is no list.
		*b = nil
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, (*[]block)(b))
}

// source is where an image or a document is.
type source struct {
	Type      string         `json:"type"`
	MediaType string         `json:"media_type,omitzero"`
	Data      string         `json:"data,omitzero"`
	URL       string         `json:"url,omitzero"`
	Unknown   jsontext.Value `json:",embed"`
}

type messageTool struct {
	Type        string         `json:"type,omitzero"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

type messageToolChoice struct {
	Type                   string         `json:"type"`
	Name                   string         `json:"name,omitzero"`
	DisableParallelToolUse bool           `json:"disable_parallel_tool_use,omitzero"`
	Unknown                jsontext.Value `json:",embed"`
}

type messageMetadata struct {
	UserID  string         `json:"user_id,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

type thinking struct {
	Type         string         `json:"type"`
	BudgetTokens int64          `json:"budget_tokens,omitzero"`
	Unknown      jsontext.Value `json:",embed"`
}

type outputConfig struct {
	Effort  string         `json:"effort,omitzero"`
	Format  *messageFormat `json:"format,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// messageFormat asks for JSON by a schema.
type messageFormat struct {
	Type    string         `json:"type"`
	Schema  jsontext.Value `json:"schema,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

package translate

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// responseRequest is the body of a response: what of it can be carried.
type responseRequest struct {
	Model             string              `json:"model"`
	Instructions      string              `json:"instructions"`
	Input             responseInput       `json:"input"`
	Stream            bool                `json:"stream"`
	Temperature       *float64            `json:"temperature"`
	TopP              *float64            `json:"top_p"`
	Tools             []responseTool      `json:"tools"`
	ToolChoice        *responseToolChoice `json:"tool_choice"`
	ParallelToolCalls *bool               `json:"parallel_tool_calls"`
	User              string              `json:"user"`
	Reasoning         *responseReasoning  `json:"reasoning"`
	Text              *responseText       `json:"text"`
}

type responseReasoning struct {
	Effort  string         `json:"effort"`
	Unknown jsontext.Value `json:",embed"`
}

type responseText struct {
	Format  *responseFormat `json:"format"`
	Unknown jsontext.Value  `json:",embed"`
}

type responseFormat struct {
	Type    string         `json:"type"`
	Unknown jsontext.Value `json:",embed"` // of a schema: its name, the schema, and how strictly it holds
}

// responseInput is a text, or a list of items.
type responseInput []responseItem

// responseItem is a message, the call of a tool, its result, or reasoning; each type has its own fields.
type responseItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   responseContent `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    responseContent `json:"output"`
	// Summary and EncryptedContent are of reasoning. Items of other types have neither.
	Summary          jsontext.Value `json:"summary"`
	EncryptedContent jsontext.Value `json:"encrypted_content"`

	ID      jsontext.Value `json:"id"`     // names what the upstream has not kept
	Status  jsontext.Value `json:"status"` // says nothing about what was said
	Unknown jsontext.Value `json:",embed"`
}

// responseContent is a text, or a list of parts.
type responseContent []responsePart

type responsePart struct {
	Type        string         `json:"type"`
	Text        string         `json:"text"`
	Refusal     string         `json:"refusal"`
	ImageURL    string         `json:"image_url"`
	Detail      string         `json:"detail"`
	FileData    string         `json:"file_data"`
	Filename    string         `json:"filename"`
	Annotations jsontext.Value `json:"annotations"` // of what the model said
	Logprobs    jsontext.Value `json:"logprobs"`
	Unknown     jsontext.Value `json:",embed"`
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (in *responseInput) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*[]responseItem)(in))
	}
	item := responseItem{Role: "user"}
	err := json.UnmarshalDecode(dec, &item.Content)
	*in = responseInput{item}
	return err
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *responseContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		var text string
		err := json.UnmarshalDecode(dec, &text)
		*c = responseContent{{Type: "input_text", Text: text}}
		return err
	case '{':
		// The results of hosted tools. Those items are refused by their type, which says more.
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, (*[]responsePart)(c))
}

type responseTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      jsontext.Value `json:"strict"`
	Unknown     jsontext.Value `json:",embed"`
}

// responseToolChoice is "none", "auto" or "required", or an object that names a function.
type responseToolChoice struct {
	Type string
	Name string
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *responseToolChoice) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &c.Type)
	}
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	err := json.UnmarshalDecode(dec, &named)
	c.Type, c.Name = named.Type, named.Name
	return err
}

// chatFromResponseBody is the chat completion that a response becomes. Its format has a schema.
type chatFromResponseBody struct {
	chatRequest
	ResponseFormat jsontext.Value `json:"response_format,omitzero"`
}

package translate

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/dialect/openai"
)

const prefixResponse = "resp_"

// writtenResponse is a response as a whole. Strict clients want its members in every state.
type writtenResponse struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	CreatedAt         int64              `json:"created_at"`
	Status            string             `json:"status"`
	Background        bool               `json:"background"`
	Error             *struct{}          `json:"error"`
	IncompleteDetails *incompleteDetails `json:"incomplete_details"`
	Model             string             `json:"model"`
	Output            []*writtenItem     `json:"output"`
	Previous          *string            `json:"previous_response_id"`
	Store             bool               `json:"store"`
	openai.Echo
	Usage *responseUsage `json:"usage"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

// responseUsage is usage in a response, whose input includes what was read from and written to a cache.
type responseUsage struct {
	InputTokens  int64        `json:"input_tokens"`
	Input        promptDetail `json:"input_tokens_details"`
	OutputTokens int64        `json:"output_tokens"`
	Output       outputDetail `json:"output_tokens_details"`
	TotalTokens  int64        `json:"total_tokens"`
}

func (t tokens) response() *responseUsage {
	u := t.chat()
	return &responseUsage{InputTokens: u.PromptTokens, Input: u.Prompt, OutputTokens: u.CompletionTokens, Output: u.Completion, TotalTokens: u.TotalTokens}
}

// writtenItem is a message, the call of a function, or reasoning.
type writtenItem struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Status    string         `json:"status,omitzero"`
	Role      string         `json:"role,omitzero"`
	Content   []*writtenPart `json:"content,omitzero"`
	CallID    string         `json:"call_id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Arguments *string        `json:"arguments,omitzero"`
	Summary   []*writtenPart `json:"summary,omitzero"`
	// EncryptedContent is sealed reasoning: see sealed.
	EncryptedContent string `json:"encrypted_content,omitzero"`
}

// writtenPart is a text of a message, a refusal, or a text of a summary of reasoning.
type writtenPart struct {
	Type        string           `json:"type"`
	Text        *string          `json:"text,omitzero"`
	Refusal     *string          `json:"refusal,omitzero"`
	Annotations []jsontext.Value `json:"annotations,omitzero"`
}

// responseEvent is an event of a stream; each type has its own fields.
type responseEvent struct {
	Type           string           `json:"type"`
	SequenceNumber int              `json:"sequence_number"`
	Response       *writtenResponse `json:"response,omitzero"`
	OutputIndex    *int             `json:"output_index,omitzero"`
	Item           *writtenItem     `json:"item,omitzero"`
	ItemID         string           `json:"item_id,omitzero"`
	ContentIndex   *int             `json:"content_index,omitzero"`
	SummaryIndex   *int             `json:"summary_index,omitzero"`
	Part           *writtenPart     `json:"part,omitzero"`
	Delta          *string          `json:"delta,omitzero"`
	Text           *string          `json:"text,omitzero"`
	Refusal        *string          `json:"refusal,omitzero"`
	Name           string           `json:"name,omitzero"`
	Arguments      *string          `json:"arguments,omitzero"`
	Logprobs       []struct{}       `json:"logprobs,omitzero"`
}

// The types of items.
const (
	itemMessage   = "message"
	itemCall      = "function_call"
	itemReasoning = "reasoning"
)

// The types of parts.
const (
	partOutputText = "output_text"
	partRefusal    = "refusal"
	partSummary    = "summary_text"
)

func newPart(kind, text string) *writtenPart {
	switch kind {
	case partRefusal:
		return &writtenPart{Type: kind, Refusal: &text}
	case partOutputText:
		return &writtenPart{Type: kind, Text: &text, Annotations: []jsontext.Value{}}
	}
	return &writtenPart{Type: kind, Text: &text}
}

package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/rest"
)

// The bodies of inferences as OpenAPI describes them: the members that nearly all callers send, for generated clients. No handler
// decodes them. A body is read by its dialect and passed on with all its members, known or not.
type (
	chatBody struct {
		passedOn
		Model               string            `json:"model,omitzero" about:"A model of GET /v1/models. Optional if the prompt names one."`
		Messages            []chatTurn        `json:"messages,omitzero" about:"Optional with a prompt: they follow its messages."`
		Prompt              *promptNamed      `json:"prompt,omitzero"`
		Stream              bool              `json:"stream,omitzero"`
		MaxCompletionTokens int               `json:"max_completion_tokens,omitzero"`
		Temperature         float64           `json:"temperature,omitzero"`
		TopP                float64           `json:"top_p,omitzero"`
		N                   int               `json:"n,omitzero"`
		Stop                jsontext.Value    `json:"stop,omitzero" about:"A string, or an array of strings."`
		Tools               []toolBody        `json:"tools,omitzero"`
		ToolChoice          jsontext.Value    `json:"tool_choice,omitzero"`
		ResponseFormat      jsontext.Value    `json:"response_format,omitzero"`
		User                string            `json:"user,omitzero" about:"The subject of the call, unless x-penstock-subject is sent."`
		Metadata            map[string]string `json:"metadata,omitzero" about:"Tags of the call, beside those of x-penstock-tags."`
	}
	promptNamed struct {
		Name      string         `json:"name,omitzero" about:"The name of a prompt of the registry."`
		ID        string         `json:"id,omitzero" about:"The id of the prompt, pmpt_…, or the id that it was imported with; instead of name."`
		Label     string         `json:"label,omitzero" about:"The label of the version; production when neither label nor version is given."`
		Version   jsontext.Value `json:"version,omitzero" about:"The number of the version, also as a string."`
		Variables jsontext.Value `json:"variables,omitzero" about:"An object. Values are data: templates inside them are not read."`
	}
	chatTurn struct {
		passedOn
		Role       string           `json:"role" required:"true" about:"system, developer, user, assistant or tool."`
		Content    jsontext.Value   `json:"content,omitzero" about:"A string, or an array of parts."`
		Name       string           `json:"name,omitzero"`
		ToolCalls  []jsontext.Value `json:"tool_calls,omitzero"`
		ToolCallID string           `json:"tool_call_id,omitzero"`
	}
	toolBody struct {
		passedOn
		Type     string         `json:"type,omitzero"`
		Function jsontext.Value `json:"function,omitzero"`
	}
	completionBody struct {
		passedOn
		Model  string         `json:"model" required:"true"`
		Prompt jsontext.Value `json:"prompt" required:"true" about:"A string, or an array of strings."`
		Stream bool           `json:"stream,omitzero"`
	}
	embeddingBody struct {
		passedOn
		Model          string         `json:"model" required:"true"`
		Input          jsontext.Value `json:"input" required:"true" about:"A string, or an array of strings."`
		EncodingFormat string         `json:"encoding_format,omitzero"`
		Dimensions     int            `json:"dimensions,omitzero"`
		User           string         `json:"user,omitzero"`
	}
	rerankBody struct {
		passedOn
		Model           string        `json:"model" required:"true" about:"A model of GET /v1/models."`
		Query           string        `json:"query" required:"true" about:"The text that the documents are ranked by."`
		Documents       []rerankInput `json:"documents" required:"true" about:"1 to 10,000 documents: strings, or objects with a text."`
		TopN            int           `json:"top_n,omitzero" about:"How many of the most relevant documents the answer has. All when not given."`
		ReturnDocuments bool          `json:"return_documents,omitzero" about:"Whether the answer has the documents themselves."`
		MaxTokensPerDoc int           `json:"max_tokens_per_doc,omitzero" about:"Longer documents are cut. Targets that cannot do that refuse it."`
		User            string        `json:"user,omitzero" about:"The subject of the call, unless x-penstock-subject is sent."`
	}
	rerankText struct {
		passedOn
		Text string `json:"text" required:"true"`
	}
	responseBody struct {
		passedOn
		Model              string            `json:"model,omitzero" about:"Optional if the prompt names one."`
		Prompt             *promptNamed      `json:"prompt,omitzero"`
		Input              jsontext.Value    `json:"input,omitzero" about:"A string, or an array of items."`
		Instructions       string            `json:"instructions,omitzero"`
		Stream             bool              `json:"stream,omitzero"`
		Store              *bool             `json:"store,omitzero"`
		Background         bool              `json:"background,omitzero"`
		PreviousResponseID *string           `json:"previous_response_id,omitzero"`
		Tools              []jsontext.Value  `json:"tools,omitzero"`
		Metadata           map[string]string `json:"metadata,omitzero"`
	}
	messageBody struct {
		passedOn
		Model     string           `json:"model,omitzero" about:"Optional if the prompt names one."`
		Messages  []chatTurn       `json:"messages,omitzero" about:"Optional with a prompt: they follow its messages."`
		MaxTokens int              `json:"max_tokens,omitzero" about:"Optional with a prompt."`
		Prompt    *promptNamed     `json:"prompt,omitzero"`
		System    jsontext.Value   `json:"system,omitzero" about:"A string, or an array of blocks."`
		Stream    bool             `json:"stream,omitzero"`
		Tools     []jsontext.Value `json:"tools,omitzero"`
		Metadata  messageMetadata  `json:"metadata,omitzero"`
	}
	messageMetadata struct {
		passedOn
		UserID string `json:"user_id,omitzero" about:"The subject of the call, unless x-penstock-subject is sent."`
	}
	countBody struct {
		passedOn
		Model    string         `json:"model" required:"true"`
		Messages []chatTurn     `json:"messages" required:"true"`
		System   jsontext.Value `json:"system,omitzero"`
	}
)

// rerankInput is a document to rank.
type rerankInput struct{ rerankText }

// Forms implements rest.Forms.
func (rerankInput) Forms() []any { return []any{"", rerankText{}} }

// passedOn marks a body that may have further members.
type passedOn struct{}

// PassedOn implements rest.PassedOn.
func (passedOn) PassedOn() {}

// The answers of upstreams, as far as all of them have the same members.
type (
	chatAnswer struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Created int64        `json:"created"`
		Model   string       `json:"model"`
		Choices []chatChoice `json:"choices"`
		Usage   *chatUsage   `json:"usage,omitzero"`
	}
	chatChoice struct {
		Index        int       `json:"index"`
		Message      chatReply `json:"message"`
		FinishReason *string   `json:"finish_reason"`
	}
	chatReply struct {
		Role      string           `json:"role"`
		Content   *string          `json:"content"`
		ToolCalls []jsontext.Value `json:"tool_calls,omitzero"`
	}
	chatUsage struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
		TotalTokens      int64 `json:"total_tokens"`
	}
	completionAnswer struct {
		ID      string             `json:"id"`
		Object  string             `json:"object"`
		Created int64              `json:"created"`
		Model   string             `json:"model"`
		Choices []completionChoice `json:"choices"`
		Usage   *chatUsage         `json:"usage,omitzero"`
	}
	completionChoice struct {
		Index        int     `json:"index"`
		Text         string  `json:"text"`
		FinishReason *string `json:"finish_reason"`
	}
	responseAnswer struct {
		ID                 string             `json:"id"`
		Object             string             `json:"object"`
		CreatedAt          float64            `json:"created_at"`
		Status             string             `json:"status" about:"queued, in_progress, completed, incomplete, failed or cancelled."`
		Model              string             `json:"model"`
		Output             []responseOutput   `json:"output"`
		Usage              *responseUsage     `json:"usage,omitzero"`
		Error              *responseError     `json:"error,omitzero"`
		IncompleteDetails  *incompleteDetails `json:"incomplete_details,omitzero"`
		PreviousResponseID *string            `json:"previous_response_id,omitzero"`
		Metadata           *map[string]string `json:"metadata,omitzero"`
	}
	responseOutput struct {
		Type      string            `json:"type" about:"message, reasoning, function_call, custom_tool_call, or another type of the upstream."`
		ID        string            `json:"id,omitzero"`
		Status    string            `json:"status,omitzero"`
		Role      string            `json:"role,omitzero" about:"Of a message."`
		Content   []responseContent `json:"content,omitzero" about:"Of a message."`
		Summary   []responseContent `json:"summary,omitzero" about:"Of reasoning."`
		CallID    string            `json:"call_id,omitzero" about:"Of a call; the result of the tool names it."`
		Name      string            `json:"name,omitzero" about:"Of the called tool."`
		Arguments string            `json:"arguments,omitzero" about:"Of a function_call: a JSON object, as text."`
		Input     string            `json:"input,omitzero" about:"Of a custom_tool_call."`
	}
	responseContent struct {
		Type string `json:"type" about:"output_text, refusal or summary_text."`
		Text string `json:"text,omitzero"`
	}
	responseUsage struct {
		InputTokens  int64 `json:"input_tokens"`
		OutputTokens int64 `json:"output_tokens"`
		TotalTokens  int64 `json:"total_tokens"`
	}
	incompleteDetails struct {
		Reason string `json:"reason"`
	}
	embeddingAnswer struct {
		Object string            `json:"object"`
		Model  string            `json:"model"`
		Data   []embeddingVector `json:"data"`
	}
	embeddingVector struct {
		Index     int            `json:"index"`
		Object    string         `json:"object"`
		Embedding jsontext.Value `json:"embedding" about:"An array of numbers, or base64 if encoding_format asks for it."`
	}
	rerankAnswer struct {
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Results []rerankResult `json:"results" about:"The most relevant document first."`
		Usage   *rerankUsage   `json:"usage,omitzero" about:"Missing if the target does not report it."`
		Meta    *rerankMeta    `json:"meta,omitzero" about:"Missing if the target does not charge for search units."`
	}
	rerankResult struct {
		Index          int         `json:"index" about:"The place of the document in documents, from 0."`
		RelevanceScore float64     `json:"relevance_score" about:"Higher is more relevant. The scale is that of the target's model."`
		Document       *rankedText `json:"document,omitzero" about:"With return_documents: the document as it was sent; a string as an object with text."`
	}
	rankedText struct {
		passedOn
		Text string `json:"text"`
	}
	rerankUsage struct {
		PromptTokens int64 `json:"prompt_tokens"`
		TotalTokens  int64 `json:"total_tokens"`
	}
	rerankMeta struct {
		BilledUnits billedUnits `json:"billed_units"`
	}
	billedUnits struct {
		SearchUnits int64 `json:"search_units"`
	}
	messageAnswer struct {
		ID         string         `json:"id"`
		Type       string         `json:"type"`
		Role       string         `json:"role"`
		Model      string         `json:"model"`
		Content    []messageBlock `json:"content"`
		StopReason *string        `json:"stop_reason"`
		Usage      messageUsage   `json:"usage"`
	}
	messageBlock struct {
		Type string `json:"type"`
		Text string `json:"text,omitzero"`
	}
	messageUsage struct {
		InputTokens  int64 `json:"input_tokens"`
		OutputTokens int64 `json:"output_tokens"`
	}
)

// answersWith are the answers of an inference endpoint whose plain answer has a known shape.
func answersWith(plain any) []rest.Answer {
	answers := []rest.Answer{passedOnAnswers[0], passedOnAnswers[1]}
	answers[0].Body = plain
	return answers
}

// Examples of bodies.
var (
	helloTurn      = []rest.AnyObject{{"role": "user", "content": "Why is the sky blue?"}}
	jobExample     = rest.AnyObject{"model": "fast", "messages": helloTurn, "tags": rest.AnyObject{"team": "search"}}
	chatExample    = rest.AnyObject{"model": "fast", "messages": helloTurn}
	messageExample = rest.AnyObject{"model": "fast", "max_tokens": 200, "messages": helloTurn}
	inputExample   = rest.AnyObject{"model": "fast", "input": "Why is the sky blue?"}
	rerankExample  = rest.AnyObject{"model": "fast", "query": "Why is the sky blue?", "documents": []string{"Water is wet.", "Air scatters blue light, so the sky is blue."}, "top_n": 1}
	promptExample  = rest.AnyObject{"model": "fast", "prompt": "The sky is"}
)

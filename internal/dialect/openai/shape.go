package openai

import (
	"slices"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// The shapes of bodies. Names that only some servers read are there too.
var (
	common = body.Names("model", "stream", "user", "metadata", "temperature", "top_p", "top_k", "min_p", "seed", "stop", "store", "service_tier",
		"frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias", "logprobs", "top_logprobs", "parallel_tool_calls", "prompt_cache_key",
		"prompt_cache_retention", "safety_identifier", "verbosity", "reasoning_effort", "use_beam_search", "ignore_eos", "guided_json", "chat_template", "chat_template_kwargs",
		// Texts and patterns of the caller, which may begin like an address.
		"documents", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "regex", "ebnf", "grammar", "json_schema", "bad_words")

	structured = []body.Field{
		{Name: "stream_options", Value: dialect.StreamOptions}, {Name: "tools", Value: dialect.Tool}, {Name: "tool_choice", Value: dialect.ToolChoice},
		{Name: "response_format", Value: dialect.ResponseFormat},
	}

	called = body.NewShape(body.Names("name", "arguments", "input")...)

	message = body.NewShape(append(body.Names("role", "name", "refusal", "tool_call_id", "reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks", "tool_name",
		"cache_control", "annotations", "prefix"),
		body.Field{Name: "content", Value: dialect.Part}, body.Field{Name: "audio", Value: body.NewShape(body.Names("id")...)},
		body.Field{Name: "images", Link: body.MayLink}, body.Field{Name: "function_call", Value: called},
		body.Field{Name: "tool_calls", Value: body.NewShape(append(body.Names("id", "type", "index"),
			body.Field{Name: "function", Value: called}, body.Field{Name: "custom", Value: called})...)})...).Seeking()

	chatShape = dialect.NewTop(slices.Concat(common, structured, dialect.OutputFields(penstock.EndpointChat), body.Names("n", "modalities", "function_call", "web_search_options"),
		[]body.Field{{Name: "messages", Value: message}, {Name: "functions", Value: dialect.Tool}, {Name: "prediction", Value: dialect.Part}, {Name: "audio", Value: body.NewShape(body.Names("voice", "format")...)}, {Name: dialect.PromptMember, Value: dialect.Prompt}})...)

	completionShape = dialect.NewTop(slices.Concat(common, structured, dialect.OutputFields(penstock.EndpointCompletions), body.Names("prompt", "n", "best_of", "echo", "suffix"))...)

	embeddingNames = body.Names("model", "stream", "user", "encoding_format", "dimensions", "truncate_prompt_tokens", "modality")

	embeddingShape = dialect.NewTop(slices.Concat(embeddingNames,
		[]body.Field{{Name: "input", Value: dialect.Part}, {Name: "messages", Value: message}})...)

	// mediaEmbeddingShape is that of embeddings of another modality than text: some servers take each string of the input for
	// the address of an image or a sound then.
	mediaEmbeddingShape = dialect.NewTop(slices.Concat(embeddingNames,
		[]body.Field{{Name: "input", Value: dialect.Part, Link: body.MayLink}, {Name: "messages", Value: message}})...)

	item = newItem()

	responseShape = dialect.NewTop(slices.Concat(common, structured, dialect.OutputFields(penstock.EndpointResponses), body.Names("background", "previous_response_id", "conversation", "include",
		"truncation", "max_tool_calls", "context_management"),
		[]body.Field{{Name: "input", Value: item}, {Name: "instructions", Value: item}, {Name: "text", Value: body.NewShape(body.Names("verbosity")...).Add(body.Field{Name: "format", Value: dialect.ResponseFormat})},
			{Name: dialect.PromptMember, Value: dialect.Prompt}})...)
)

// newItem is an item of the input of a response: a message, a call of a tool, or the result of one.
func newItem() *body.Shape {
	return body.NewShape(append(body.Names("type", "role", "id", "status", "call_id", "name", "arguments", "input", "encrypted_content", "action", "actions", "queries", "results",
		"code", "container_id", "server_label", "approval_request_id", "approve", "reason", "error", "operation", "max_output_length",
		"acknowledged_safety_checks", "pending_safety_checks", "phase"),
		body.Field{Name: "content", Value: dialect.Part}, body.Field{Name: "output", Value: dialect.Part}, body.Field{Name: "summary", Value: dialect.Part},
		body.Field{Name: "tools", Value: dialect.Tool}, body.Field{Name: "image_url", Link: body.IsLink}, body.Field{Name: "file_url", Link: body.IsLink},
		body.Field{Name: "outputs", Link: body.MayLink}, body.Field{Name: "result", Link: body.MayLink})...).Seeking()
}

// The formats of bodies.
var (
	ChatFormat           = &dialect.Format{Endpoint: penstock.EndpointChat, Shape: chatShape, Priced: pricedChat}
	CompletionFormat     = &dialect.Format{Endpoint: penstock.EndpointCompletions, Shape: completionShape, Priced: pricedCompletion}
	EmbeddingFormat      = &dialect.Format{Endpoint: penstock.EndpointEmbeddings, Shape: embeddingShape, Priced: pricedEmbedding}
	mediaEmbeddingFormat = &dialect.Format{Endpoint: penstock.EndpointEmbeddings, Shape: mediaEmbeddingShape, Priced: pricedEmbedding}
	ResponseFormat       = &dialect.Format{Endpoint: penstock.EndpointResponses, Shape: responseShape, Priced: pricedResponse}
)

package openai

import (
	"penstock/internal/dialect"
)

// The members of bodies whose price is bounded. Each list is complete: what it leaves out, a hard budget does not pay for unless a
// target has a surcharge for it. chat_template is left out because a template can repeat its input; prediction, because tokens that
// were predicted wrongly are charged as output.
var (
	pricedCommon = dialect.BoundMembers().With(dialect.Passing("model", "stream", "stream_options", "user", "metadata", "temperature", "top_p", "top_k", "min_p", "seed",
		"stop", "store", "frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias", "logprobs", "top_logprobs", "parallel_tool_calls",
		"prompt_cache_key", "prompt_cache_retention", "safety_identifier", "verbosity", "reasoning_effort", "use_beam_search", "ignore_eos", "guided_json",
		"chat_template_kwargs", "documents", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "regex", "ebnf", "grammar", "json_schema", "bad_words",
		"tool_choice", "max_tool_calls", "response_format")).With(dialect.Members{
		// Left out, it is auto.
		"service_tier": dialect.OneOf("auto", "default", "standard", "flex"),
		"tools":        dialect.Each(pricedTool),
	})

	pricedMessage = dialect.Passing("role", "name", "refusal", "tool_call_id", "tool_calls", "function_call", "reasoning_content", "reasoning", "reasoning_details", "thinking",
		"thinking_blocks", "tool_name", "cache_control", "annotations", "prefix").With(dialect.Members{
		"content": dialect.Content,
		"audio":   dialect.Refused("audio"), // the upstream has kept it
	})

	pricedChat = pricedCommon.With(dialect.Members{
		"messages":           pricedMessage.List,
		"functions":          dialect.Passing("name", "description", "parameters").List,
		"function_call":      dialect.Any,
		"modalities":         dialect.Each(dialect.OneOf("text")),
		"audio":              dialect.Refused("audio_output"),
		"web_search_options": webSearch,
	})

	pricedCompletion = pricedCommon.With(dialect.Passing("prompt", "echo", "suffix"))

	pricedEmbedding = dialect.Passing("model", "stream", "user", "encoding_format", "dimensions", "truncate_prompt_tokens").With(dialect.Members{
		"modality": dialect.OneOf("text"),
		"input":    dialect.Content,
		"messages": pricedMessage.List,
	})

	pricedResponse = pricedCommon.With(dialect.Passing("include", "truncation", "text", "background")).With(dialect.Members{
		"input":        dialect.Each(pricedItem),
		"instructions": dialect.Each(pricedItem),
		"prompt":       dialect.Refused("prompt"), // the upstream has kept it
	})

	pricedItems = newPricedItems()
)

// newPricedItems are the kinds of items of a response's input.
func newPricedItems() dialect.Typed {
	call := dialect.Passing("type", "id", "status", "call_id", "name", "arguments", "input")
	output := dialect.Passing("type", "id", "status", "call_id").With(dialect.Members{"output": dialect.Content})
	message := dialect.Passing("type", "id", "status", "role", "phase").With(dialect.Members{"content": dialect.Content})
	return dialect.Typed{
		"": message, "message": message, "function_call": call, "custom_tool_call": call, "function_call_output": output, "custom_tool_call_output": output,
		"reasoning": dialect.Passing("type", "id", "status", "encrypted_content").With(dialect.Members{"summary": dialect.Content, "content": dialect.Content}),
	}
}

// pricedItem checks an item of the input of a response. One that has neither a type nor a role refers to an item of an earlier
// response, which the upstream has kept.
func pricedItem(c *dialect.Checker, v dialect.Value) {
	if v.Raw[0] == '{' {
		kind, role := dialect.Member(v.Raw, "type"), dialect.Member(v.Raw, "role")
		if kind == "" && role == "" {
			c.Add(dialect.Feature{Path: v.Path, Name: "item_reference"})
			return
		}
	}
	pricedItems.Object(c, v)
}

var pricedTools = dialect.Typed{
	"":         dialect.Passing("type", "name", "description", "parameters", "strict", "function", "cache_control"),
	"function": dialect.Passing("type", "name", "description", "parameters", "strict", "function", "cache_control", "defer_loading"),
	"custom":   dialect.Passing("type", "name", "description", "format", "custom", "cache_control", "defer_loading"),
}

// pricedTool checks a tool. One that the upstream runs itself costs by its use, as often as max_tool_calls allows.
func pricedTool(c *dialect.Checker, v dialect.Value) {
	kind := dialect.Member(v.Raw, "type")
	if _, ours := pricedTools[kind]; ours || v.Raw[0] != '{' {
		pricedTools.Object(c, v)
		return
	}
	const bound = "max_tool_calls"
	uses, err := c.Top.Count(bound)
	if err != nil {
		uses = 0
	}
	c.Add(dialect.Feature{Path: v.Path + ".type", Name: dialect.ToolName(kind), Uses: uses, UsesPath: bound})
}

// webSearch is the search of a chat completion, which is made once.
func webSearch(c *dialect.Checker, v dialect.Value) {
	c.Add(dialect.Feature{Path: v.Path, Name: "web_search", Uses: 1})
}

package anthropic

import (
	"penstock/internal/dialect"
)

// pricedMessage are the members of a message whose price is bounded. The list is complete: what it leaves out, a hard budget does not
// pay for unless a target has a surcharge for it. context_management is left out because a summary that the upstream makes is
// charged as well.
var pricedMessage = dialect.BoundMembers().With(dialect.Passing("model", "stream", "metadata", "temperature", "top_p", "top_k", "stop_sequences", "cache_control", "tool_choice",
	"output_format")).With(dialect.Members{
	"messages":      dialect.Members{"role": dialect.Any, "content": dialect.Content}.List,
	"system":        dialect.Content,
	"tools":         dialect.Each(pricedTool),
	"output_config": dialect.Passing("effort", "format").Object,
	// Left out, it is auto.
	"service_tier":  dialect.OneOf("auto", "standard_only"),
	"speed":         dialect.OneOf("standard"),
	"inference_geo": dialect.OneOf("global"),
	"container":     dialect.Refused("container"),
	"mcp_servers":   dialect.Refused("mcp"),
})

// pricedBetas are the names of unreleased behaviour that does not change the price.
var pricedBetas = map[string]bool{
	"messages-2023-12-15": true, "max-tokens-3-5-sonnet-2024-07-15": true, "prompt-caching-2024-07-31": true, "pdfs-2024-09-25": true, "token-counting-2024-11-01": true,
	"message-batches-2024-09-24": true, "output-128k-2025-02-19": true, "token-efficient-tools-2025-02-19": true, "extended-cache-ttl-2025-04-11": true,
	"interleaved-thinking-2025-05-14": true, "fine-grained-tool-streaming-2025-05-14": true, "structured-outputs-2025-11-13": true,
	"files-api-2025-04-14": true, // an upstream's own file is refused by its id
}

var pricedTools = func() dialect.Typed {
	tool := dialect.Passing("type", "name", "description", "input_schema", "strict", "cache_control", "defer_loading", "input_examples", "eager_input_streaming")
	return dialect.Typed{"": tool, "custom": tool}
}()

// pricedTool checks a tool. One of Anthropic's own costs by its use, as often as its max_uses allows.
func pricedTool(c *dialect.Checker, v dialect.Value) {
	kind := dialect.Member(v.Raw, "type")
	if _, ours := pricedTools[kind]; ours || v.Raw[0] != '{' {
		pricedTools.Object(c, v)
		return
	}
	const bound = "max_uses"
	c.Add(dialect.Feature{Path: v.Path + ".type", Name: dialect.ToolName(kind), Uses: dialect.MemberCount(v.Raw, bound), UsesPath: v.Path + "." + bound})
}

package anthropic

import (
	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// messageShape is the shape of a message, and of a question for its tokens.
var messageShape = dialect.NewTop(append(append(dialect.OutputFields(penstock.EndpointMessages), body.Names("model", "stream", "metadata", "temperature", "top_p", "top_k", "stop_sequences", "service_tier", "cache_control",
	"container", "context_management", "inference_geo", "speed")...),
	body.Field{Name: "messages", Value: body.NewShape(append(body.Names("role"), body.Field{Name: "content", Value: dialect.Part})...).Seeking()},
	body.Field{Name: "system", Value: dialect.Part},
	body.Field{Name: "tools", Value: dialect.Tool}, body.Field{Name: "tool_choice", Value: dialect.ToolChoice},
	body.Field{Name: "mcp_servers", Value: body.NewShape(append(body.Names("type", "name", "authorization_token", "tool_configuration"), body.Field{Name: "url", Link: body.IsLink})...)},
	body.Field{Name: "output_config", Value: body.NewShape(append(body.Names("effort"), body.Field{Name: "format", Value: dialect.ResponseFormat})...)},
	body.Field{Name: "output_format", Value: dialect.ResponseFormat}, body.Field{Name: dialect.PromptMember, Value: dialect.Prompt},
)...)

// MessageFormat and CountFormat are the formats of a message and of a question for its tokens.
var (
	MessageFormat = &dialect.Format{Endpoint: penstock.EndpointMessages, Shape: messageShape, Priced: pricedMessage, PricedBetas: pricedBetas}
	CountFormat   = &dialect.Format{Endpoint: penstock.EndpointCountTokens, Shape: messageShape, Priced: pricedMessage, PricedBetas: pricedBetas}
)

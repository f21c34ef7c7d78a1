package dialect

import (
	"slices"

	"penstock/internal/body"
)

// The shapes of what bodies of several endpoints are made of. Servers serve several dialects over one engine, so a shape has
// the names of all of them: the name that one server reads is refused in another spelling everywhere.
var (
	// Part is a part of what is said: of a message, of a system prompt, or of a tool's result.
	Part = newPart()
	// Tool is a tool that the model may use. What its arguments are like is free-form.
	Tool = newTool()
	// ToolChoice says which tool to use.
	ToolChoice = body.NewShape(append(body.Names("type", "name", "disable_parallel_tool_use", "mode", "server_label", "custom"),
		body.Field{Name: "function", Value: body.NewShape(body.Names("name")...)}, body.Field{Name: "tools", Value: Tool})...)
	// ResponseFormat is what an answer has to be like. The schema in it is free-form.
	ResponseFormat = body.NewShape(append(body.Names("type", "name", "description", "schema", "strict", "value", "syntax", "definition"),
		body.Field{Name: "json_schema", Value: body.NewShape(body.Names("name", "description", "schema", "strict")...)})...)
	// Prompt names a prompt of the registry. Its variables are free-form.
	Prompt = body.NewShape(body.Names("id", "name", "label", "version", "variables")...)
	// StreamOptions are how a stream is told.
	StreamOptions = body.NewShape(body.Names("include_usage", "continuous_usage_stats", "include_obfuscation")...)
)

func newPart() *body.Shape {
	fileID := body.Field{Name: "file_id", Link: body.MayLink} // gateways fetch an address that stands in the place of an id
	// The data of a source is base64, or the text of a document, which may well begin with an address.
	source := body.NewShape(append(body.Names("type", "media_type", "data"), fileID, body.Field{Name: "url", Link: body.IsLink})...).Seeking()
	address := body.NewShape(append(body.Names("detail", "uuid", "id"), body.Field{Name: "url", Link: body.IsLink})...).Seeking()
	file := body.NewShape(append(body.Names("filename", "format"),
		fileID, body.Field{Name: "file_data", Link: body.MayLink}, body.Field{Name: "file_url", Link: body.IsLink}, body.Field{Name: "url", Link: body.IsLink})...).Seeking()
	sound := body.NewShape(append(body.Names("id", "format", "transcript", "expires_at"),
		body.Field{Name: "data", Link: body.MayLink}, body.Field{Name: "url", Link: body.IsLink})...).Seeking()
	part := body.NewShape(body.Names("type", "text", "refusal", "id", "name", "input", "arguments", "title", "context", "citations", "annotations", "logprobs",
		"cache_control", "tool_use_id", "tool_name", "server_name", "is_error", "thinking", "signature", "filename", "detail", "media_type", "caller",
		"encrypted_content", "encrypted_index", "page_age", "retrieved_at", "error_code", "error_message", "stdout", "stderr", "return_code",
		"lines", "file_type", "num_lines", "start_line", "total_lines", "old_start", "old_lines", "new_start", "new_lines", "tool_references", "query")...)
	source.Add(body.Field{Name: "content", Value: part})
	return part.Add(
		body.Field{Name: "content", Value: part},
		body.Field{Name: "output", Value: part},
		body.Field{Name: "summary", Value: part},
		fileID,
		body.Field{Name: "source", Value: source, Link: body.MayCiteLink},
		body.Field{Name: "file", Value: file, Link: body.MayLink},
		body.Field{Name: "input_audio", Value: sound, Link: body.MayLink},
		body.Field{Name: "audio", Value: sound, Link: body.MayLink},
		body.Field{Name: "image_url", Value: address, Link: body.IsLink},
		body.Field{Name: "video_url", Value: address, Link: body.IsLink},
		body.Field{Name: "audio_url", Value: address, Link: body.IsLink},
		body.Field{Name: "document_url", Value: address, Link: body.IsLink},
		body.Field{Name: "file_url", Value: address, Link: body.IsLink},
		body.Field{Name: "url", Link: body.CitesLink},
		body.Field{Name: "image", Value: address, Link: body.MayLink},
		body.Field{Name: "video", Value: address, Link: body.MayLink},
		body.Field{Name: "data", Link: body.MayLink},
		body.Field{Name: "file_data", Link: body.MayLink},
	).Seeking()
}

func newTool() *body.Shape {
	called := body.NewShape(body.Names("name", "description", "parameters", "strict", "format")...)
	tool := body.NewShape(body.Names("type", "name", "description", "parameters", "input_schema", "strict", "cache_control", "format", "server_label", "server_description",
		"connector_id", "authorization", "headers", "allowed_tools", "require_approval", "container", "vector_store_ids", "max_num_results", "ranking_options", "filters",
		"user_location", "search_context_size", "max_uses", "allowed_domains", "blocked_domains", "citations", "max_content_tokens", "display_width_px", "display_height_px",
		"display_number", "max_characters", "defer_loading", "allowed_callers", "input_examples", "eager_input_streaming", "mcp_server_name", "default_config", "configs")...)
	return tool.Add(
		body.Field{Name: "function", Value: called}, body.Field{Name: "custom", Value: called},
		body.Field{Name: "server_url", Link: body.IsLink}, body.Field{Name: "input_image_mask", Value: Part},
	).Seeking()
}

// NewTop is the shape of the body of an endpoint: its own fields, and the further names by which servers are told how much to
// generate, or with which model. Members that it does not name may hold addresses, as those of parts may.
func NewTop(fields ...body.Field) *body.Shape {
	s := body.NewShape(fields...)
	own := func(name string) bool {
		return slices.ContainsFunc(fields, func(f body.Field) bool { return f.Name == name })
	}
	top, containers, inside := furtherNames()
	for _, name := range top {
		if !own(name) {
			s.Add(body.Field{Name: name, Mark: true})
		}
	}
	inside = slices.DeleteFunc(append(inside, "type", "effort", "summary", "generate_summary"), func(name string) bool {
		return slices.Contains(innerContainers, name)
	})
	held := body.NewShape(body.Names(slices.Compact(slices.Sorted(slices.Values(inside)))...)...).Seeking()
	for _, name := range innerContainers {
		held.Add(body.Field{Name: name, Value: held})
	}
	for _, name := range containers {
		s.Add(body.Field{Name: name, Value: held, Mark: true})
	}
	return s.Seeking()
}

package translate

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/dialect"
)

// chatPaths are the members of a chat completion, as the members of a response that they were made from.
var chatPaths = []struct{ chat, response string }{
	{"response_format.json_schema", "text.format"}, {"response_format", "text.format"}, {"reasoning_effort", "reasoning.effort"}, {"stream_options", ""},
}

// itemPaths are the members within a message, as the members of an item or of its content. The first that ends a path counts.
var itemPaths = []struct{ chat, response string }{
	{".image_url.url", ".image_url"}, {".image_url.detail", ".detail"}, {".file.filename", ".filename"}, {".file.file_data", ".file_data"}, {".file", ".file_data"},
	{".tool_call_id", ".call_id"}, {".function.arguments", ".arguments"},
}

// messageOrigin is where the parts of a message come from: several items of the assistant become one message.
type messageOrigin struct {
	item    string          // the path of the first item
	content []contentOrigin // in order
	calls   []string        // the path of each call's item
}

// contentOrigin is the path of a list of content, and how many parts the message has from it.
type contentOrigin struct {
	path  string
	parts int
}

// path is a path within the message as one of the response.
func (o messageOrigin) path(within string) string {
	if j, after, ok := cutIndex(within, ".content"); ok {
		for _, c := range o.content {
			if j < c.parts {
				return c.path + "[" + strconv.Itoa(j) + "]" + itemPath(after)
			}
			j -= c.parts
		}
	}
	if j, after, ok := cutIndex(within, ".tool_calls"); ok && j < len(o.calls) {
		if after == ".id" {
			return o.calls[j] + ".call_id"
		}
		return o.calls[j] + itemPath(after)
	}
	return o.item + itemPath(within)
}

// itemPath is the end of a path within a message as one within an item.
func itemPath(after string) string {
	for _, p := range itemPaths {
		if before, ok := strings.CutSuffix(after, p.chat); ok {
			return before + p.response
		}
	}
	return after
}

// cutIndex cuts the name of a list and an index from the beginning of a path.
func cutIndex(path, list string) (index int, after string, ok bool) {
	rest, isList := strings.CutPrefix(path, list+"[")
	digits, after, _ := strings.Cut(rest, "]")
	index, err := strconv.Atoi(digits)
	return index, after, isList && err == nil && index >= 0
}

// responsePath is a path of the chat completion as a path of the response; "" for a member that the response did not have.
func (t *responseBuilder) responsePath(path string) string {
	for _, p := range chatPaths {
		if rest, ok := strings.CutPrefix(path, p.chat); ok {
			return p.response + rest
		}
	}
	if slices.Contains(dialect.OutputMembers(penstock.EndpointChat), path) {
		return dialect.OutputMembers(penstock.EndpointResponses)[0]
	}
	if i, within, ok := cutIndex(path, "messages"); ok && i < len(t.origins) {
		return t.origins[i].path(within)
	}
	if rest, ok := strings.CutPrefix(path, "messages"); ok {
		return "input" + itemPath(rest)
	}
	return strings.Replace(path, ".function", "", 1) // of a tool
}

// rename is an error about the chat completion as one about the response.
func (t *responseBuilder) rename(err error) error {
	e, ok := errors.AsType[*penstock.Error](err)
	if !ok || e.Param == "" {
		return err
	}
	renamed := *e
	renamed.Param = t.responsePath(e.Param)
	renamed.Message = strings.ReplaceAll(e.Message, e.Param, renamed.Param)
	return &renamed
}

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
	if rest, ok := strings.CutPrefix(path, "messages"); ok {
		index, after, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
		if i, err := strconv.Atoi(index); err == nil && i < len(t.origins) {
			return t.origins[i] + after
		}
		return "input" + rest
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

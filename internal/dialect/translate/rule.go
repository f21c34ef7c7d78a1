package translate

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// disposition is how a member of a body is translated.
type disposition int

const (
	carried  disposition = iota // translated into the other dialect
	dropped                     // left out, and named: the answer means the same without it
	rejected                    // refused: without it the answer would have another meaning
)

// rule says how one member of a body is translated.
type rule struct {
	disposition disposition
	// neutral lists values that ask for nothing, as they are written. null always is.
	neutral []string
	// instead is what the caller can do about a rejected member.
	instead string
}

// rules are the members that a dialect's body can have. A member that has no rule is dropped: an
// unknown member cannot be translated.
type rules map[string]rule

// withBounds adds the members that bound an answer, which are carried.
func withBounds(e penstock.Endpoint, r rules) rules {
	for _, name := range dialect.OutputMembers(e) {
		r[name] = rule{}
	}
	return r
}

// chatRules are for chat completions that go to an upstream of messages.
var chatRules = withBounds(penstock.EndpointChat, rules{
	"model": {}, "messages": {}, "stream": {}, "stream_options": {},
	"temperature": {}, "top_p": {}, "stop": {}, "tools": {}, "tool_choice": {}, "parallel_tool_calls": {}, "user": {},
	"reasoning_effort": {}, "response_format": {},

	// They nudge sampling or say how to run, bill or file the call.
	"seed":                   {disposition: dropped},
	"frequency_penalty":      {disposition: dropped, neutral: []string{"0", "0.0"}},
	"presence_penalty":       {disposition: dropped, neutral: []string{"0", "0.0"}},
	"service_tier":           {disposition: dropped, neutral: []string{`"auto"`}},
	"store":                  {disposition: dropped, neutral: []string{"false"}},
	"metadata":               {disposition: dropped, neutral: []string{"{}"}},
	"prediction":             {disposition: dropped},
	"verbosity":              {disposition: dropped},
	"prompt_cache_key":       {disposition: dropped},
	"prompt_cache_retention": {disposition: dropped},
	"safety_identifier":      {disposition: dropped},

	"n":                  {disposition: rejected, neutral: []string{"1"}, instead: "Ask once for each answer"},
	"logprobs":           {disposition: rejected, neutral: []string{"false"}, instead: "Leave it out"},
	"top_logprobs":       {disposition: rejected, neutral: []string{"0"}, instead: "Leave it out"},
	"logit_bias":         {disposition: rejected, neutral: []string{"{}"}, instead: "Leave it out"},
	"modalities":         {disposition: rejected, neutral: []string{`["text"]`}, instead: "Ask for text alone"},
	"audio":              {disposition: rejected, instead: "Ask for text alone"},
	"functions":          {disposition: rejected, neutral: []string{"[]"}, instead: "Use tools"},
	"function_call":      {disposition: rejected, instead: "Use tool_choice"},
	"web_search_options": {disposition: rejected, instead: "Leave it out"},
})

// messageRules are for messages that go to an upstream of chat completions.
var messageRules = withBounds(penstock.EndpointMessages, rules{
	"model": {}, "messages": {}, "system": {}, "stream": {}, "temperature": {}, "top_p": {},
	"stop_sequences": {}, "tools": {}, "tool_choice": {}, "metadata": {}, "thinking": {}, "output_config": {},

	"top_k":              {disposition: dropped},
	"service_tier":       {disposition: dropped, neutral: []string{`"auto"`}},
	"cache_control":      {disposition: dropped},
	"context_management": {disposition: dropped},
	"speed":              {disposition: dropped},

	"container":     {disposition: rejected, instead: "Leave it out"},
	"mcp_servers":   {disposition: rejected, neutral: []string{"[]"}, instead: "Leave it out"},
	"output_format": {disposition: rejected, instead: "Use output_config.format"},
	"thread":        {disposition: rejected, instead: "Send all messages of the conversation with every request"},
	"inference_geo": {disposition: rejected, instead: "Choose a model whose targets are in that region"},
})

// decode reads a body by the rules of its dialect, and returns it with its members found.
func (r rules) decode(text []byte, into any, n *notes) (body.Object, error) {
	if body.Depth(text) > maxDepth {
		return body.Object{}, penstock.InvalidParam("body", "The body is nested more than %d deep.", maxDepth)
	}
	top, err := body.Scan(text)
	if err != nil {
		return top, penstock.InvalidParam("body", "The body %v.", err)
	}
	for _, m := range top.Members {
		rule, known := r[m.Name]
		switch {
		case known && rule.disposition == carried, rule.asksNothing(text[m.Value.Start:m.Value.End]):
		case known && rule.disposition == rejected:
			return top, untranslatable(m.Name, "%s.", rule.instead)
		default:
			n.drop(m.Name)
		}
	}
	return top, decodeStrictly(text, into)
}

// maxDepth bounds how deeply JSON may be nested. The encoder has a bound of its own, far above, and what
// passes here is put at most a few levels deeper.
const maxDepth = 1000

// asksNothing reports whether a value is as good as none.
func (r rule) asksNothing(raw jsontext.Value) bool {
	if len(raw) > maxNeutralBytes {
		return false
	}
	compact := raw.Clone()
	return compact.Compact() == nil && (string(compact) == "null" || slices.Contains(r.neutral, string(compact)))
}

// maxNeutralBytes is more than any neutral value needs, white space included.
const maxNeutralBytes = 256

// untranslatable refuses a field that has no equivalent, and says what to do instead.
func untranslatable(param, instead string, args ...any) *penstock.Error {
	return penstock.InvalidParam(param, "%s has no equivalent in the API of the target that this call goes to. "+instead,
		append([]any{param}, args...)...)
}

const (
	// MaxDropped bounds the names in one call's list of what was dropped.
	MaxDropped = 32
	// maxDroppedBytes bounds one of them.
	maxDroppedBytes = 96
	// more is the last entry of a list that was cut.
	more = "…"
)

// notes lists what a translation left out. A path is listed once, however many elements of its lists it
// was dropped from.
type notes struct{ paths []string }

func (n *notes) drop(path string) {
	path = general(path)
	if len(path) > maxDroppedBytes {
		path = strings.ToValidUTF8(path[:maxDroppedBytes], "") + more
	}
	switch {
	case slices.Contains(n.paths, path), len(n.paths) > MaxDropped-1:
	case len(n.paths) == MaxDropped-1:
		n.paths = append(n.paths, more)
	default:
		n.paths = append(n.paths, path)
	}
}

// dropUnknown records the unknown members of an object as dropped.
func (n *notes) dropUnknown(path string, unknown []byte) {
	if len(unknown) == 0 {
		return
	}
	o, err := body.Scan(unknown)
	if err != nil {
		n.drop(path) // too many members to name them
		return
	}
	for _, m := range o.Members {
		if string(unknown[m.Value.Start:m.Value.End]) != "null" {
			n.drop(path + "." + m.Name)
		}
	}
}

// general is a path without its indexes.
func general(path string) string {
	var b strings.Builder
	inside := false
	for i := range len(path) {
		c := path[i]
		inside = inside && c >= '0' && c <= '9'
		if !inside {
			b.WriteByte(c)
		}
		inside = inside || c == '['
	}
	return b.String()
}

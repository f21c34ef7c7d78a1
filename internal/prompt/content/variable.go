package content

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"penstock"
	"penstock/internal/prompt/template"
)

// ParseVariables reads variables: a JSON object, or nothing. Codes: invalid_request, too_large.
func ParseVariables(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var all map[string]any
	if err := dec.Decode(&all); err != nil || all == nil {
		return nil, penstock.InvalidParam("variables", "variables must be a JSON object.")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, penstock.InvalidParam("variables", "variables must be one JSON object.")
	}
	left := MaxVariableNodes
	if !bounded(all, MaxVariableDepth, &left) {
		return nil, &penstock.Error{Code: penstock.CodeTooLarge, Param: "variables",
			Message: fmt.Sprintf("variables has more than %d values, or values more than %d deep.", MaxVariableNodes, MaxVariableDepth)}
	}
	return all, nil
}

// bounded reports whether a value has few enough values inside, and none too deep.
func bounded(value any, depth int, left *int) bool {
	if *left--; *left < 0 || depth < 0 {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		for _, one := range v {
			if !bounded(one, depth-1, left) {
				return false
			}
		}
	case []any:
		for _, one := range v {
			if !bounded(one, depth-1, left) {
				return false
			}
		}
	}
	return true
}

// placeholder adds the messages of a variable. They are data: nothing in them is a template.
func (r *rendering) placeholder(out []Message, name string) ([]Message, error) {
	value, there := r.variables[name]
	if !there || value == nil {
		return out, nil
	}
	where := "variables." + name
	all, ok := value.([]any)
	if !ok {
		return nil, penstock.InvalidParam(where, "%s must be a list of messages.", where)
	}
	if r.listed += len(all); r.listed > MaxPlaceholderList {
		return nil, penstock.InvalidParam(where, "The placeholders have more than %d messages together; leave out the oldest.", MaxPlaceholderList)
	}
	for i, one := range all {
		at := fmt.Sprintf("%s[%d]", where, i)
		text, err := json.Marshal(one)
		if err != nil {
			return nil, penstock.InvalidParam(at, "%s is not a message.", at)
		}
		if r.budget.Bytes -= len(text); r.budget.Bytes < 0 {
			return nil, tooLarge(template.ErrBytes)
		}
		var m Message
		if err := strictly(text, &m); err != nil {
			return nil, penstock.InvalidParam(at, "%s is not a message: it has role and content, and may have name, tool_calls and tool_call_id (%v).", at, err)
		}
		if m.Placeholder != "" {
			return nil, penstock.InvalidParam(at, "%s is a placeholder; messages of a variable are complete.", at)
		}
		if err := m.check(at); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

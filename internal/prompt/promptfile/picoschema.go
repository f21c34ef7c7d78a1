package promptfile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// schema reads a JSON Schema, or a Picoschema of dotprompt.
func (r *reader) schema(p *Prompt, n *node) json.RawMessage {
	if isJSONSchema(n) {
		if n.has("type") || !n.has("properties") {
			return n.raw()
		}
		whole := map[string]json.RawMessage{"type": json.RawMessage(`"object"`)}
		for _, name := range n.names {
			whole[name] = n.members[name].raw()
		}
		return jsonOf(whole)
	}
	pico := &picoReader{r: r, p: p}
	return jsonOf(pico.value(n))
}

// schemaTypes are the types of JSON Schema, and any of Picoschema.
var schemaTypes = map[string]bool{"string": true, "number": true, "integer": true, "boolean": true, "null": true, "object": true, "array": true}

// isJSONSchema tells a JSON Schema from a Picoschema whose properties have such names.
func isJSONSchema(n *node) bool {
	if !n.isObject() {
		return false
	}
	if of := n.at("type"); of.isList() || schemaTypes[of.string()] {
		return true
	}
	return n.at("properties").isObject() || n.at("$ref").isString() || n.at("anyOf").isList() || n.at("oneOf").isList() || n.at("allOf").isList()
}

type picoReader struct {
	r *reader
	p *Prompt
}

func (s *picoReader) fail(n *node, construct, message string) any {
	s.r.report(s.p, Problem{Line: n.place(), Construct: construct, Severity: s.r.severity(), Message: message})
	return map[string]any{}
}

func (s *picoReader) value(n *node) any {
	switch {
	case n.isString():
		return s.scalar(n)
	case n.isObject():
		return s.object(n)
	}
	return s.fail(n, n.scalar(), "A Picoschema is a type, such as \"string, the title\", or a map.")
}

// scalar reads "type, description".
func (s *picoReader) scalar(n *node) any {
	kind, about, _ := strings.Cut(n.text, ",")
	kind, about = strings.TrimSpace(kind), strings.TrimSpace(about)
	out := map[string]any{}
	switch {
	case kind == "any":
	case schemaTypes[kind] && kind != "object" && kind != "array":
		out["type"] = kind
	default:
		return s.fail(n, kind, "Schemas by name cannot be imported; write the schema out.")
	}
	if about != "" {
		out["description"] = about
	}
	return out
}

func (s *picoReader) object(n *node) any {
	properties, required := map[string]any{}, []string{}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	for _, key := range n.names {
		value := n.members[key]
		name, form := strings.TrimSpace(key), ""
		if before, rest, ok := strings.Cut(key, "("); ok {
			name, form = strings.TrimSpace(before), strings.TrimSuffix(strings.TrimSpace(rest), ")")
		}
		form, about, _ := strings.Cut(form, ",")
		form, about = strings.TrimSpace(form), strings.TrimSpace(about)
		if form == "*" {
			out["additionalProperties"] = s.value(value)
			continue
		}
		name, optional := strings.CutSuffix(name, "?")
		property := s.property(value, form, optionality(optional))
		if fields, ok := property.(map[string]any); ok && about != "" {
			fields["description"] = about
		}
		properties[name] = property
		if !optional {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// optionality is whether a property may be absent; it may be null then, too.
type optionality bool

func (s *picoReader) property(value *node, form string, optional optionality) any {
	var out any
	switch form {
	case "":
		out = s.value(value)
	case "array":
		out = map[string]any{"type": "array", "items": s.value(value)}
	case "object":
		out = s.value(value)
	case "enum":
		var all []any
		for _, one := range value.elements() {
			all = append(all, one.raw())
		}
		if optional {
			all = append(all, nil)
		}
		return map[string]any{"enum": all}
	default:
		return s.fail(value, form, fmt.Sprintf("Of the forms of Picoschema, array, object, enum and * are known, not %s.", clip(form)))
	}
	if fields, ok := out.(map[string]any); ok && bool(optional) && fields["type"] != nil {
		fields["type"] = []any{fields["type"], "null"}
	}
	return out
}

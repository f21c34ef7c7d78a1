package promptfile

import (
	"encoding/json"
	"slices"

	"penstock/internal/prompt/content"
)

// sampleOf returns an object of values, nil if it is none.
func sampleOf(n *node) *node {
	if !n.isObject() || len(n.names) == 0 {
		return nil
	}
	return n
}

// withSamples adds examples of variables to the schema of a content that has no schema of its own: the derived schema, with the
// types of the examples. A content that includes others keeps its derived schema, because what they need is not known here.
func withSamples(c content.Content, samples []*node) json.RawMessage {
	parsed, err := content.Parse(c)
	if err != nil || len(parsed.References) > 0 || c.InputSchema != nil {
		return c.InputSchema
	}
	compiled, err := parsed.Link(nil)
	if err != nil {
		return c.InputSchema
	}
	schema := jsonNode(compiled.Schema())
	properties := schema.at("properties")
	var all []*node
	for _, sample := range samples[:min(len(samples), MaxSamples)] {
		known := objectNode()
		for _, name := range sample.names {
			if properties.has(name) {
				known.put(name, sample.members[name])
				properties.widen(name, sample.members[name])
			}
		}
		if len(known.names) > 0 {
			all = append(all, known)
		}
	}
	if len(all) == 0 {
		return c.InputSchema
	}
	return schema.put("examples", listNode(all)).raw()
}

// typeOf is the JSON Schema type of a value.
func typeOf(n *node) string {
	return map[nodeKind]string{kindNull: "null", kindBool: "boolean", kindNumber: "number", kindString: "string", kindList: "array", kindObject: "object"}[n.kind]
}

// widen makes the schema of a property accept an example.
func (n *node) widen(name string, example *node) {
	property := n.members[name]
	if !property.isObject() || !property.has("type") {
		return
	}
	of, want := property.at("type"), typeOf(example)
	switch {
	case of.isString() && of.text != want && of.text == "string":
		property.members["type"] = listNode([]*node{of, stringNode(want)})
	case of.isString() && of.text != want:
		n.members[name] = &node{kind: kindBool, text: "true"}
	case of.isList() && !slices.ContainsFunc(of.list, func(one *node) bool { return one.text == want }):
		of.list = append(of.list, stringNode(want))
	}
}

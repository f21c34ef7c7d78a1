package content

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"penstock"
	"penstock/internal/prompt/template"
)

// inputSchema is the schema of a content's variables.
type inputSchema struct {
	text     []byte
	compiled *jsonschema.Schema
	used     map[string]bool // variables of the templates
	known    map[string]bool // those, and the properties of the schema
	open     bool            // the schema says that there may be others
}

// schemaHead are the members of a schema that say which variables there may be.
type schemaHead struct {
	Type                 json.RawMessage            `json:"type"`
	Properties           map[string]json.RawMessage `json:"properties"`
	PatternProperties    map[string]json.RawMessage `json:"patternProperties"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
}

// compactSchema checks the form of a schema and removes white space; nil for none. Codes: invalid_request.
func compactSchema(text json.RawMessage) (json.RawMessage, error) {
	if kindOf(text) == 'z' {
		return nil, nil
	}
	var head schemaHead
	if kindOf(text) != 'o' || json.Unmarshal(text, &head) != nil {
		return nil, penstock.InvalidParam("input_schema", "input_schema must be a JSON Schema: an object.")
	}
	if head.Type != nil && string(head.Type) != `"object"` {
		return nil, penstock.InvalidParam("input_schema", `input_schema describes the variables together: its type must be "object".`)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return nil, penstock.InvalidParam("input_schema", "input_schema is not valid JSON.")
	}
	if b.Len() > MaxSchemaBytes {
		return nil, penstock.InvalidParam("input_schema", "input_schema has %d bytes; %d are the most.", b.Len(), MaxSchemaBytes)
	}
	return b.Bytes(), nil
}

// newInputSchema makes the schema of a content from its own schema, or from the variables that its templates use.
func newInputSchema(c Content, root *template.Use) (*inputSchema, error) {
	for _, m := range c.Messages {
		if m.Placeholder != "" {
			if root.Members == nil {
				root.Members = map[string]*template.Use{}
			}
			if root.Members[m.Placeholder] == nil {
				root.Members[m.Placeholder] = &template.Use{}
			}
			root.Members[m.Placeholder].Listed = true
		}
	}
	s := &inputSchema{text: c.InputSchema, used: map[string]bool{}, known: map[string]bool{}}
	for name := range root.Members {
		s.used[name], s.known[name] = true, true
	}
	if s.text == nil {
		derived, err := json.Marshal(derive(root))
		if err != nil {
			return nil, penstock.Internal(fmt.Errorf("encoding a derived schema: %w", err))
		}
		s.text = derived
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.text))
	if err != nil {
		return nil, penstock.InvalidParam("input_schema", "input_schema is not valid JSON: %v.", err)
	}
	left := MaxSchemaNodes
	if err := (&schemaWalk{document: document, left: &left}).node(document, nil); err != nil && c.InputSchema != nil {
		return nil, penstock.InvalidParam("input_schema", "input_schema: %v.", err)
	}
	if s.compiled, err = compileSchema(document); err != nil {
		return nil, penstock.InvalidParam("input_schema", "input_schema is not a valid JSON Schema: %s", firstLine(err))
	}
	return s, s.learn()
}

// learn reads which variables the schema has and allows.
func (s *inputSchema) learn() error {
	var head schemaHead
	if err := json.Unmarshal(s.text, &head); err != nil {
		return penstock.InvalidParam("input_schema", "properties and patternProperties of input_schema must be objects.")
	}
	for name := range head.Properties {
		s.known[name] = true
	}
	closed := string(head.AdditionalProperties) == "false"
	s.open = len(head.PatternProperties) > 0 || head.AdditionalProperties != nil && !closed
	if !closed || len(head.PatternProperties) > 0 {
		return nil
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(s.used)) {
		if head.Properties[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return penstock.InvalidParam("input_schema", "input_schema allows no variables beside its properties, which lack %s of the templates.", strings.Join(missing, ", "))
	}
	return nil
}

// schemaURL is the address of a schema inside the compiler.
const schemaURL = "penstock:input_schema"

func compileSchema(document any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// noLoader refuses every schema from elsewhere: a schema of a tenant must not make the server read files or call hosts.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside of the schema", clip(url))
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ReplaceAll(text, schemaURL+"#", "#")
}

// schemaWalk counts the nodes of a schema with every reference replaced by its target: the check of a value then takes at most
// this many steps for each value inside it. References that lead back to themselves are refused for the same reason.
type schemaWalk struct {
	document any
	left     *int
}

// dataKeywords have values, not schemas.
var dataKeywords = []string{"const", "enum", "default", "examples", "$comment", "title", "description"}

func (w *schemaWalk) node(value any, within []string) error {
	if *w.left--; *w.left < 0 {
		return fmt.Errorf("it has more than %d parts, with references replaced by their targets", MaxSchemaNodes)
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if err := w.node(one, within); err != nil {
				return err
			}
		}
	case map[string]any:
		return w.object(v, within)
	}
	return nil
}

func (w *schemaWalk) object(v map[string]any, within []string) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		text, isText := v[name].(string)
		var err error
		switch {
		case slices.Contains(dataKeywords, name) || name == "$defs" || name == "definitions":
		case name == "$ref" && isText:
			err = w.follow(text, within)
		case strings.HasPrefix(name, "$") && name != "$schema":
			err = fmt.Errorf("the keyword %s is not supported; use $ref with #/$defs/NAME", clip(name))
		default:
			err = w.node(v[name], within)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *schemaWalk) follow(reference string, within []string) error {
	pointer, ok := strings.CutPrefix(reference, "#/")
	if !ok {
		return fmt.Errorf("$ref %q must begin with #/: it leads to a part of the same schema", clip(reference))
	}
	if slices.Contains(within, reference) {
		return fmt.Errorf("$ref %q leads back to itself", clip(reference))
	}
	target := w.document
	for step := range strings.SplitSeq(pointer, "/") {
		object, _ := target.(map[string]any)
		next, there := object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		if !there {
			return fmt.Errorf("$ref %q leads nowhere", clip(reference))
		}
		target = next
	}
	return w.node(target, append(slices.Clone(within), reference))
}

// derive makes a schema of the variables that templates use: strings, lists and objects. All of them are required, except those
// that an if asks for.
func derive(root *template.Use) map[string]any {
	out := map[string]any{"type": "object", "additionalProperties": false}
	properties, required := map[string]any{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(root.Members)) {
		use := root.Members[name]
		properties[name] = deriveOne(use)
		if !use.Tested {
			required = append(required, name)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func deriveOne(u *template.Use) any {
	switch {
	case u.Listed:
		return map[string]any{"type": "array", "items": deriveItem(u.Element)}
	case len(u.Members) > 0:
		object := derive(u)
		delete(object, "additionalProperties") // an object may have more members than the template prints
		return object
	case u.Printed:
		return map[string]any{"type": "string"}
	}
	return true
}

// deriveItem is the schema of an element; anything if the templates do not look into it.
func deriveItem(u *template.Use) any {
	if u == nil || !u.Listed && len(u.Members) == 0 && !u.Printed {
		return true
	}
	return deriveOne(u)
}

// check compares variables with the schema. Everything that is wrong with them is one error. Codes: invalid_request.
func (s *inputSchema) check(variables map[string]any) error {
	var found mistakes
	if err := s.compiled.Validate(variables); err != nil {
		invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
		if !ok {
			return penstock.Internal(fmt.Errorf("checking variables: %w", err))
		}
		found.add(invalid)
	}
	for name := range variables {
		if !s.known[name] && !s.open {
			found.unknown = append(found.unknown, name)
		}
	}
	return found.err(slices.Sorted(maps.Keys(s.known)))
}

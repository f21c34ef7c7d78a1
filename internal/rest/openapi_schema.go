package rest

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

// Schema is a JSON Schema (draft 2020-12), as far as it is needed to describe the surface. The zero
// value allows anything.
type Schema struct {
	Ref                  string          `json:"$ref,omitzero"`
	Description          string          `json:"description,omitzero"`
	Type                 any             `json:"type,omitzero"` // a name, or a list of them
	Format               string          `json:"format,omitzero"`
	Pattern              string          `json:"pattern,omitzero"`
	Examples             []string        `json:"examples,omitzero"`
	Enum                 []string        `json:"enum,omitzero"`
	Deprecated           bool            `json:"deprecated,omitzero"`
	Items                *Schema         `json:"items,omitzero"`
	Properties           ordered[Schema] `json:"properties,omitzero"`
	Required             []string        `json:"required,omitzero"`
	AdditionalProperties any             `json:"additionalProperties,omitzero"` // false, or a schema
	AnyOf                []Schema        `json:"anyOf,omitzero"`
}

// direction is the writer of a value. Callers may leave out fields that are not required, and must not add fields.
// Penstock writes every field, and later versions may write more fields.
type direction string

const (
	sent     direction = "sent"
	answered direction = "answered"
)

// schemaSet makes schemas from Go types, by the rules that package json encodes them with. Structs and enumerations
// become named schemas. A type that it does not support is an error; the first error is in err.
type schemaSet struct {
	named   map[string]Schema
	origins map[string]origin
	leaves  map[reflect.Type]Schema
	enums   Enums
	params  map[string]reflect.Type
	shapes  []*Shapes
	both    []reflect.Type
	version int
	err     error
}

// origin is the Go type and the direction of a named schema.
type origin struct {
	from reflect.Type
	way  direction // "" for enumerations, which are the same both ways
}

func newSchemaSet(version int, surfaces []Surface) *schemaSet {
	s := &schemaSet{version: version, named: map[string]Schema{}, origins: map[string]origin{}, leaves: leaves(), enums: Enums{}, params: map[string]reflect.Type{}}
	for _, surface := range surfaces {
		maps.Copy(s.enums, surface.Enums)
		maps.Copy(s.params, surface.ParamTypes)
		s.shapes = append(s.shapes, surface.Shapes)
		s.both = append(s.both, surface.Both...)
	}
	return s
}

// leaves are the types that encode themselves, with their schemas.
func leaves() map[reflect.Type]Schema {
	return map[reflect.Type]Schema{
		reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time"},
		reflect.TypeFor[penstock.NanoUSD](): {
			Type: "string", Pattern: `^-?[0-9]+\.[0-9]{9}$`, Examples: []string{"0.000041200"},
		},
		reflect.TypeFor[penstock.LimitWait](): {Type: "string", Examples: []string{"2s"}},
		reflect.TypeFor[Seconds](): {
			Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`, Examples: []string{"60s", "1m30s"},
		},
		reflect.TypeFor[jsontext.Value](): {},
	}
}

// of returns the schema of a Go type: a reference if it is a named one.
func (s *schemaSet) of(t reflect.Type, way direction) Schema {
	if leaf, ok := s.leaves[t]; ok {
		return leaf
	}
	if values, ok := s.enums[t]; ok {
		return s.reference(origin{from: t}, func() Schema { return Schema{Type: "string", Enum: values} })
	}
	if t.Kind() == reflect.Pointer {
		return nullable(s.of(t.Elem(), way))
	}
	if f, ok := reflect.Zero(t).Interface().(Forms); ok {
		return s.anyOf(f.Forms(), way)
	}
	if hasOwnForm(t) {
		return s.fail("%v encodes itself; say how in leaves", t)
	}
	switch t.Kind() {
	case reflect.Struct:
		if t.Name() == "" {
			return s.fail("%v has no name to give its schema", t)
		}
		return s.reference(origin{t, way}, func() Schema { return s.structure(t, way) })
	case reflect.Slice:
		items := s.of(t.Elem(), way)
		return Schema{Type: "array", Items: &items}
	case reflect.Map:
		return s.mapping(t, way)
	case reflect.Interface:
		return Schema{}
	case reflect.String:
		return Schema{Type: "string"}
	case reflect.Bool:
		return Schema{Type: "boolean"}
	case reflect.Int:
		return Schema{Type: "integer"}
	case reflect.Int64:
		return Schema{Type: "integer", Format: "int64"}
	case reflect.Float64:
		return Schema{Type: "number"}
	}
	return s.fail("%v has no schema", t)
}

// PassedOn is a body, or a part of one, that goes on to an upstream: it may have more members than are described.
type PassedOn interface{ PassedOn() }

// Forms is a type that has one of several forms in JSON.
type Forms interface {
	// Forms are zero values of the types that the forms are described by.
	Forms() []any
}

func (s *schemaSet) anyOf(forms []any, way direction) Schema {
	var out Schema
	for _, f := range forms {
		out.AnyOf = append(out.AnyOf, s.of(reflect.TypeOf(f), way))
	}
	return out
}

func (s *schemaSet) mapping(t reflect.Type, way direction) Schema {
	if t.Key().Kind() != reflect.String {
		return s.fail("%v has names that are not strings", t)
	}
	if t.Elem().Kind() == reflect.Interface {
		return Schema{Type: "object"}
	}
	return Schema{Type: "object", AdditionalProperties: s.of(t.Elem(), way)}
}

// reference points to a named schema, which is made when it is first asked for.
func (s *schemaSet) reference(from origin, build func() Schema) Schema {
	name := SchemaName(from.from)
	if from.way == sent && slices.Contains(s.both, from.from) {
		name += "Sent"
	}
	if was, ok := s.origins[name]; !ok {
		s.origins[name] = from // before it is built: a type may contain itself
		s.named[name] = build()
	} else if was != from {
		return s.fail("%v (%s) and %v (%s) cannot share the schema %s", was.from, was.way, from.from, from.way, name)
	}
	return Schema{Ref: "#/components/schemas/" + name}
}

func (s *schemaSet) structure(t reflect.Type, way direction) Schema {
	out := Schema{Type: "object"}
	s.addFields(&out, s.shaped(t), way)
	for _, shapes := range s.shapes {
		for _, c := range shapes.of(t, s.version) {
			if field := out.Properties.at(c.Field); way == answered {
				field.Deprecated = true
			}
		}
	}
	if _, passed := reflect.Zero(t).Interface().(PassedOn); way == sent && !passed {
		out.AdditionalProperties = false
	}
	return out
}

// shaped is the type that replaces another type in the described version.
func (s *schemaSet) shaped(t reflect.Type) reflect.Type {
	for _, shapes := range s.shapes {
		for _, c := range shapes.of(t, s.version) {
			t = c.Old
		}
	}
	return t
}

func (s *schemaSet) addFields(out *Schema, t reflect.Type, way direction) {
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			s.addFields(out, f.Type, way)
			continue
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case name == "" || option != "" && option != "omitzero":
			s.fail("%v.%s has the tag json:%q, which is not understood", t, f.Name, f.Tag.Get("json"))
			continue
		}
		property := s.of(f.Type, way)
		property.Description = f.Tag.Get("about")
		out.Properties = append(out.Properties, member[Schema]{name, property})
		if way == sent && f.Tag.Get("required") == "true" || way == answered && option == "" {
			out.Required = append(out.Required, name)
		}
	}
}

// nullable allows null beside what a schema allows.
func nullable(s Schema) Schema {
	if name, ok := s.Type.(string); ok {
		s.Type = []string{name, "null"}
		return s
	}
	return Schema{AnyOf: []Schema{s, {Type: "null"}}}
}

// hasOwnForm reports whether package json asks the type itself for its JSON.
func hasOwnForm(t reflect.Type) bool {
	for _, own := range []reflect.Type{
		reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](),
		reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}

// SchemaName is the public name of a Go type: jobView is Job, and Page[jobView] and CursorPage[jobView] are JobPage.
func SchemaName(t reflect.Type) string {
	name, argument, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return upperFirst(strings.TrimSuffix(name, "View"))
	}
	argument = strings.TrimSuffix(argument[strings.LastIndex(argument, ".")+1:], "]")
	return upperFirst(strings.TrimSuffix(argument, "View")) + upperFirst(strings.TrimPrefix(name, "Cursor"))
}

func (s *schemaSet) fail(format string, args ...any) Schema {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
	return Schema{}
}

// ordered is a JSON object whose members keep the order they were added in, which is the order of the route table and
// of struct fields.
type ordered[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// at returns the member of that name, added if it is not there yet.
func (o *ordered[T]) at(name string) *T {
	i := slices.IndexFunc(*o, func(m member[T]) bool { return m.Name == name })
	if i < 0 {
		i = len(*o)
		*o = append(*o, member[T]{Name: name})
	}
	return &(*o)[i].Value
}

// MarshalJSONTo writes the members in their order.
func (o ordered[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o {
		if err := enc.WriteToken(jsontext.String(m.Name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, m.Value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

package api

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/store"
)

// schema is a JSON Schema (draft 2020-12), as far as it is needed to describe the surface. The zero
// value allows anything.
type schema struct {
	Ref                  string          `json:"$ref,omitzero"`
	Description          string          `json:"description,omitzero"`
	Type                 any             `json:"type,omitzero"` // a name, or a list of them
	Format               string          `json:"format,omitzero"`
	Pattern              string          `json:"pattern,omitzero"`
	Examples             []string        `json:"examples,omitzero"`
	Enum                 []string        `json:"enum,omitzero"`
	Items                *schema         `json:"items,omitzero"`
	Properties           ordered[schema] `json:"properties,omitzero"`
	Required             []string        `json:"required,omitzero"`
	AdditionalProperties any             `json:"additionalProperties,omitzero"` // false, or a schema
	AnyOf                []schema        `json:"anyOf,omitzero"`
}

// direction says who writes a value. Callers may leave out what is not required and must not add
// anything; we write every field, and may write more of them in later versions.
type direction string

const (
	sent     direction = "sent"
	answered direction = "answered"
)

// schemaSet makes schemas from Go types, by the rules that package json encodes them with. Structs and
// enumerations become named schemas. What it does not understand is an error, never a guess; the first
// one is kept in err.
type schemaSet struct {
	named   map[string]schema
	origins map[string]origin
	leaves  map[reflect.Type]schema
	enums   map[reflect.Type][]string
	err     error
}

// origin is where a named schema came from.
type origin struct {
	from reflect.Type
	way  direction // "" for enumerations, which are the same both ways
}

func newSchemaSet() *schemaSet {
	return &schemaSet{named: map[string]schema{}, origins: map[string]origin{}, leaves: leaves(), enums: enums()}
}

// leaves are the types that have a JSON form of their own.
func leaves() map[reflect.Type]schema {
	return map[reflect.Type]schema{
		reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time"},
		reflect.TypeFor[penstock.NanoUSD](): {
			Type: "string", Pattern: `^-?[0-9]+\.[0-9]{9}$`, Examples: []string{"0.000041200"},
		},
		reflect.TypeFor[seconds](): {
			Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`, Examples: []string{"60s", "1m30s"},
		},
		reflect.TypeFor[jsontext.Value](): {},
	}
}

// enums are the types with a closed list of values.
func enums() map[reflect.Type][]string {
	all := map[reflect.Type][]string{}
	enumerate(all, penstock.Statuses)
	enumerate(all, penstock.Lanes)
	enumerate(all, penstock.Endpoints)
	enumerate(all, penstock.Codes)
	enumerate(all, []penstock.Outcome{penstock.OutcomeAllSucceeded, penstock.OutcomeMixed, penstock.OutcomeNoneSucceeded})
	enumerate(all, []penstock.EventType{
		penstock.EventJobQueued, penstock.EventJobStarted, penstock.EventJobProgress, penstock.EventJobFinished,
		penstock.EventItemDelta, penstock.EventItemReset, penstock.EventItemSucceeded,
		penstock.EventItemFailed, penstock.EventItemCancelled, penstock.EventItemExpired,
		penstock.EventBudgetExceeded, penstock.EventWebhookTest,
	})
	enumerate(all, penstock.DeliveryStatuses)
	enumerate(all, []store.Order{store.OrderCompletion, store.OrderInput})
	enumerate(all, penstock.Reasons)
	enumerate(all, penstock.Resolves)
	enumerate(all, []store.Direction{store.Ascending, store.Descending})
	enumerate(all, []store.Purpose{store.PurposeBatch, store.PurposeBatchOutput})
	return all
}

func enumerate[T ~string](all map[reflect.Type][]string, values []T) {
	for _, v := range values {
		all[reflect.TypeFor[T]()] = append(all[reflect.TypeFor[T]()], string(v))
	}
}

// of returns the schema of a Go type: a reference if it is a named one.
func (s *schemaSet) of(t reflect.Type, way direction) schema {
	if leaf, ok := s.leaves[t]; ok {
		return leaf
	}
	if values, ok := s.enums[t]; ok {
		return s.reference(origin{from: t}, func() schema { return schema{Type: "string", Enum: values} })
	}
	if t.Kind() == reflect.Pointer {
		return nullable(s.of(t.Elem(), way))
	}
	if hasOwnForm(t) {
		return s.fail("%v encodes itself; say how in leaves", t)
	}
	switch t.Kind() {
	case reflect.Struct:
		if t.Name() == "" {
			return s.fail("%v has no name to give its schema", t)
		}
		return s.reference(origin{t, way}, func() schema { return s.structure(t, way) })
	case reflect.Slice:
		items := s.of(t.Elem(), way)
		return schema{Type: "array", Items: &items}
	case reflect.Map:
		return s.mapping(t, way)
	case reflect.Interface:
		return schema{}
	case reflect.String:
		return schema{Type: "string"}
	case reflect.Bool:
		return schema{Type: "boolean"}
	case reflect.Int:
		return schema{Type: "integer"}
	case reflect.Int64:
		return schema{Type: "integer", Format: "int64"}
	case reflect.Float64:
		return schema{Type: "number"}
	}
	return s.fail("%v has no schema", t)
}

func (s *schemaSet) mapping(t reflect.Type, way direction) schema {
	if t.Key().Kind() != reflect.String {
		return s.fail("%v has names that are not strings", t)
	}
	if t.Elem().Kind() == reflect.Interface {
		return schema{Type: "object"}
	}
	return schema{Type: "object", AdditionalProperties: s.of(t.Elem(), way)}
}

// reference points to a named schema, which is made when it is first asked for.
func (s *schemaSet) reference(from origin, build func() schema) schema {
	name := schemaName(from.from)
	if was, ok := s.origins[name]; !ok {
		s.origins[name] = from // before it is built: a type may contain itself
		s.named[name] = build()
	} else if was != from {
		return s.fail("%v (%s) and %v (%s) cannot share the schema %s", was.from, was.way, from.from, from.way, name)
	}
	return schema{Ref: "#/components/schemas/" + name}
}

func (s *schemaSet) structure(t reflect.Type, way direction) schema {
	out := schema{Type: "object"}
	s.addFields(&out, t, way)
	if way == sent {
		out.AdditionalProperties = false
	}
	return out
}

func (s *schemaSet) addFields(out *schema, t reflect.Type, way direction) {
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
		out.Properties = append(out.Properties, member[schema]{name, property})
		if way == sent && f.Tag.Get("required") == "true" || way == answered && option == "" {
			out.Required = append(out.Required, name)
		}
	}
}

// nullable allows null beside what a schema allows.
func nullable(s schema) schema {
	if name, ok := s.Type.(string); ok {
		s.Type = []string{name, "null"}
		return s
	}
	return schema{AnyOf: []schema{s, {Type: "null"}}}
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

// schemaName is the public name of a Go type: jobView is Job, and page[jobView] is JobPage.
func schemaName(t reflect.Type) string {
	name, argument, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return upperFirst(strings.TrimSuffix(name, "View"))
	}
	argument = strings.TrimSuffix(argument[strings.LastIndex(argument, ".")+1:], "]")
	return upperFirst(strings.TrimSuffix(argument, "View")) + upperFirst(name)
}

func (s *schemaSet) fail(format string, args ...any) schema {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
	return schema{}
}

// ordered is a JSON object whose members keep the order they were added in, which is the order of the
// route table and of struct fields: the one a reader wants.
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

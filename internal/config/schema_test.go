package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"penstock"
)

// TestSchemaReference keeps the JSON Schema true: -update writes it from the types and their comments.
func TestSchemaReference(t *testing.T) {
	t.Parallel()
	g := &schemaGenerator{page: &referencePage{t: t, comments: fieldComments(t)}, defs: map[string]any{}}
	root := g.object(reflect.TypeFor[File]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Penstock configuration"
	root["description"] = "The file that \"penstock serve --config\" reads. Any string may contain ${NAME}, which the environment replaces."
	root["$defs"] = g.defs
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(Schema(), text.Bytes()) {
		t.Error("schema.json is stale; run: make docs")
	}
}

// schemaGenerator makes JSON Schemas of the types of the file.
type schemaGenerator struct {
	page *referencePage
	defs map[string]any // by type
}

// enums are the values of words, by type.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[penstock.Policy]():      words(penstock.Policies),
	reflect.TypeFor[penstock.OnIncapable](): words(penstock.AllOnIncapable),
	reflect.TypeFor[penstock.OnOverflow]():  words(penstock.AllOnOverflow),
	reflect.TypeFor[penstock.Lane]():        words(penstock.Lanes),
	reflect.TypeFor[penstock.Scope]():       words(penstock.AllScopes),
	reflect.TypeFor[penstock.Capability]():  words(penstock.AllCapabilities),
	reflect.TypeFor[OnDisconnect]():         {string(DisconnectCancel), string(DisconnectDrain)},
}

// fieldEnums are the values of strings, by field.
var fieldEnums = map[string][]string{
	"ProviderConfig.Kind": ProviderKinds, "ProviderConfig.Network": {NetworkPublic, NetworkPrivate}, "Log.Level": {"debug", "info", "warn", "error"},
	"Log.Format": {"json", "text"}, "File.Unpriced": {UnpricedFlag, UnpricedRefuse}, "CatalogueConfig.Use": {CatalogueAll, CatalogueNone},
}

func words[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, w := range list {
		all[i] = string(w)
	}
	return all
}

const variable = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`

// object is the schema of a struct.
func (g *schemaGenerator) object(typ reflect.Type) map[string]any {
	properties := map[string]any{}
	g.fields(typ, properties)
	return map[string]any{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

func (g *schemaGenerator) fields(typ reflect.Type, into map[string]any) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			g.fields(f.Type, into)
			continue
		}
		if yamlName(f) == "" || f.Tag.Get("refuse") != "" {
			continue
		}
		one := g.value(f.Type, fieldEnums[typ.Name()+"."+f.Name])
		if comment := g.page.comments[typ.Name()+"."+f.Name]; comment != "" {
			one["description"] = g.page.prose(typ, comment)
		}
		into[yamlName(f)] = one
	}
}

// value is the schema of a value. A number or a word may come from the environment.
func (g *schemaGenerator) value(typ reflect.Type, allowed []string) map[string]any {
	fromEnv := map[string]any{"type": "string", "pattern": variable}
	switch {
	case typ == reflect.TypeFor[Secret]():
		return map[string]any{"type": "string", "pattern": variable + "|^file:"}
	case typ == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$|` + variable}
	}
	if allowed == nil {
		allowed = enums[typ]
	}
	if allowed != nil {
		return map[string]any{"anyOf": []any{map[string]any{"enum": allowed}, fromEnv}}
	}
	switch typ.Kind() {
	case reflect.Struct:
		if _, ok := g.defs[typ.Name()]; !ok {
			g.defs[typ.Name()] = nil // a struct that contained itself would not end
			def := g.object(typ)
			if comment := g.page.comments[typ.Name()]; comment != "" {
				def["description"] = g.page.prose(typ, comment)
			}
			g.defs[typ.Name()] = def
		}
		return map[string]any{"$ref": "#/$defs/" + typ.Name()}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": g.value(typ.Elem(), nil)}
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": g.value(typ.Elem(), nil)}
	case reflect.Bool:
		return map[string]any{"anyOf": []any{map[string]any{"type": "boolean"}, fromEnv}}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, fromEnv}}
	}
	return map[string]any{"anyOf": []any{map[string]any{"type": "number"}, fromEnv}}
}

// compiled is the schema, ready to use.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("penstock.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("penstock.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance is YAML as the schema sees it.
func instance(t *testing.T, text string) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Every valid fixture, and every example of the documentation that is a whole file, satisfies the schema.
func TestExamplesSatisfyTheSchema(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	seen := 0
	for _, file := range fixtures(t, "*.good.yaml") {
		seen++
		if err := s.Validate(instance(t, fixture(t, filepath.Base(file)))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	pages, err := filepath.Glob("../../docs/how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, text := range yamlBlocks(t, page) {
			v, ok := instance(t, text).(map[string]any)
			if !ok || !isConfiguration(v) {
				continue
			}
			seen++
			if err := s.Validate(v); err != nil {
				t.Errorf("%s: %v\n%s", page, err, text)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d examples were found", seen)
	}
}

// isConfiguration says whether all keys of an example are keys of the file: pages also show files of other programs.
func isConfiguration(v map[string]any) bool {
	known := fieldsOf(reflect.TypeFor[File]())
	for key := range v {
		if _, ok := known[key]; !ok {
			return false
		}
	}
	return true
}

// yamlBlocks are the YAML examples of a page.
func yamlBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		if !strings.Contains(block, "…") {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

func TestSchemaFindsMistakes(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for name, text := range map[string]string{
		"an unknown key":         "lisen: x",
		"a nested unknown key":   "providers: {openai: {kind: openai, api_kye: x}}",
		"a literal secret":       "providers: {openai: {kind: openai, api_key: sk-literal}}",
		"a number for a text":    "data: 5",
		"a text for a number":    "work: {slots: many}",
		"a duration as a number": "shutdown_grace: 30",
		"an unknown word":        "log: {level: verbose}",
		"a list for a map":       "targets: [a]",
		"an unknown lane":        "tenants: {t: {lanes: [fast]}}",
	} {
		if err := s.Validate(instance(t, text)); err == nil {
			t.Errorf("%s is accepted: %s", name, text)
		}
	}
}

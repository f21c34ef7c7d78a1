package admin

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"penstock/internal/rest"
)

// TestExamplesFitTheirSchemas holds that the examples of the table are answers that the document promises.
func TestExamplesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	text, err := rest.OpenAPI(rest.Newest, Surface())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, rt := range routes {
		for _, a := range rt.Answers {
			if a.Example == nil {
				continue
			}
			n++
			compiled, err := c.Compile("openapi.json#/components/schemas/" + rest.SchemaName(reflect.TypeOf(a.Body)))
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(a.Example)
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(value); err != nil {
				t.Errorf("%s %s: %#v\nof %s", rt.Method, rt.Path, err, text)
			}
		}
	}
	if n == 0 {
		t.Error("no row has an example")
	}
}

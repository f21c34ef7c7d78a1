package schema

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// invalidity is what an independent validator finds wrong with an instance; known is false if the validator
// does not accept the schema.
func invalidity(schema, instance []byte) (problem error, known bool) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, false
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if c.AddResource("mem:///schema", document) != nil {
		return nil, false
	}
	compiled, err := c.Compile("mem:///schema")
	if err != nil {
		return nil, false
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		return err, true
	}
	return compiled.Validate(v), true
}

func instance(t *testing.T, schema string, seed uint64) ([]byte, error) {
	t.Helper()
	s, err := Parse([]byte(schema))
	if err != nil {
		t.Fatalf("parse %s: %v", schema, err)
	}
	return s.Instance(rand.New(rand.NewPCG(seed, 1)))
}

var satisfiable = map[string]string{
	"anything":             `{}`,
	"true":                 `true`,
	"person":               `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":120},"email":{"type":"string","format":"email"}},"required":["name","age"],"additionalProperties":false}`,
	"every format":         `{"type":"array","prefixItems":[{"format":"date-time"},{"format":"date"},{"format":"time"},{"format":"duration"},{"format":"email"},{"format":"hostname"},{"format":"ipv4"},{"format":"ipv6"},{"format":"uri"},{"format":"uri-reference"},{"format":"uuid"},{"format":"regex"},{"format":"json-pointer"},{"format":"relative-json-pointer"},{"format":"uri-template"}],"minItems":15}`,
	"enum":                 `{"enum":["a",1,null,{"x":[1.0]}]}`,
	"enum that is bounded": `{"enum":[1,5,"x",12],"type":"integer","minimum":10}`,
	"const":                `{"properties":{"kind":{"const":"dog"}},"required":["kind"]}`,
	"nullable":             `{"type":["null","string"],"minLength":3}`,
	"no type":              `{"properties":{"a":{"minimum":3},"b":{"items":{"type":"boolean"}},"c":{"maxLength":1}},"required":["a","b","c"]}`,
	"numbers":              `{"type":"array","prefixItems":[{"type":"number","minimum":0.001,"maximum":0.002},{"type":"integer","exclusiveMinimum":5,"exclusiveMaximum":7},{"type":"number","multipleOf":0.01,"minimum":99.985},{"type":"number","maximum":-1000},{"type":"integer","multipleOf":7,"minimum":1000000000000},{"type":"number","exclusiveMinimum":0,"maximum":1}],"minItems":6}`,
	"multiples together":   `{"allOf":[{"multipleOf":4},{"multipleOf":6}],"type":"integer","minimum":13}`,
	"draft 4 bounds":       `{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":3,"exclusiveMinimum":true,"maximum":4}`,
	"strings":              `{"type":"array","prefixItems":[{"type":"string","minLength":200},{"type":"string","maxLength":3},{"type":"string","minLength":4,"maxLength":4},{"type":"string","maxLength":0}],"minItems":4}`,
	"patterns":             `{"type":"array","prefixItems":[{"pattern":"^[A-Z]{3}-\\d{4}$"},{"pattern":"^(foo|bar)+$","minLength":9},{"pattern":"^\\+?[1-9][0-9]{7,14}$"},{"pattern":"a|b"},{"pattern":"^#[0-9a-fA-F]{6}$"},{"pattern":"^x","minLength":30},{"pattern":"^\\S+@\\S+\\.\\S+$"}],"minItems":7}`,
	"lookahead":            `{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"}`,
	"unique":               `{"type":"array","items":{"enum":[1,2,3,4]},"minItems":4,"uniqueItems":true}`,
	"contains":             `{"type":"array","items":{"type":["string","integer"]},"contains":{"const":42},"minContains":2,"maxContains":2,"minItems":3}`,
	"tuple of draft 7":     `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false,"minItems":2}`,
	"list":                 `{"$defs":{"node":{"type":"object","properties":{"value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["value","next"],"additionalProperties":false}},"$ref":"#/$defs/node"}`,
	"binary tree":          `{"definitions":{"tree":{"type":"object","properties":{"left":{"anyOf":[{"$ref":"#/definitions/tree"},{"type":"null"}]},"right":{"anyOf":[{"$ref":"#/definitions/tree"},{"type":"null"}]}},"required":["left","right"]}},"$ref":"#/definitions/tree"}`,
	"tree of lists":        `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name","children"]}`,
	"a name with escapes":  `{"$defs":{"a/b~c":{"type":"integer"}},"$ref":"#/$defs/a~1b~0c"}`,
	"union by kind":        `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind"]},{"type":"object","properties":{"kind":{"const":"b"},"s":{"type":"string"}},"required":["kind","s"]}]}`,
	"one of two names":     `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
	"integer or number":    `{"oneOf":[{"type":"integer"},{"type":"number"}]}`,
	"all of":               `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"minLength":20},"b":{"type":"boolean"}},"required":["b"]}],"type":"object"}`,
	"not":                  `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"not":{"required":["a","b"]},"required":["a"]}`,
	"condition":            `{"type":"object","properties":{"country":{"enum":["US","NL"]},"code":{"type":"string"}},"required":["country","code"],"if":{"properties":{"country":{"const":"US"}}},"then":{"properties":{"code":{"pattern":"^[0-9]{5}$"}}},"else":{"properties":{"code":{"pattern":"^[0-9]{4} [A-Z]{2}$"}}}}`,
	"dependencies":         `{"type":"object","properties":{"card":{"type":"string"},"address":{"type":"string"}},"required":["card"],"dependentRequired":{"card":["address"]}}`,
	"dependent schema":     `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"dependentSchemas":{"a":{"properties":{"b":{"const":7}},"required":["b"]}}}`,
	"names":                `{"type":"object","minProperties":3,"propertyNames":{"pattern":"^[a-z]{5}$"},"additionalProperties":{"type":"integer"}}`,
	"names by pattern":     `{"type":"object","minProperties":2,"patternProperties":{"^x-[a-z]+$":{"type":"boolean"}},"additionalProperties":false}`,
	"required and unnamed": `{"type":"object","required":["x","y"],"additionalProperties":{"type":"number"}}`,
	"map":                  `{"type":"object","additionalProperties":{"type":"string"}}`,
	"default and examples": `{"type":"object","properties":{"unit":{"type":"string","default":"celsius"},"city":{"type":"string","examples":["Paris","Rome"]},"n":{"type":"integer","default":"wrong"}},"required":["unit","city","n"]}`,
	"at most":              `{"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["c"],"maxProperties":2}`,
	"an optional endless":  `{"type":"object","properties":{"self":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"required":["x"]}}}`,
}

// Every instance is valid by an independent validator, whatever the seed, and the same each time.
func TestInstancesAreValid(t *testing.T) {
	t.Parallel()
	for name, schema := range satisfiable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(30) {
				got, err := instance(t, schema, seed)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				problem, known := invalidity([]byte(schema), got)
				if !known && name != "lookahead" { // its regular expressions are Go's too
					t.Fatal("the validator does not know the schema")
				}
				if problem != nil {
					t.Fatalf("seed %d gives %s: %v", seed, got, problem)
				}
				if again, _ := instance(t, schema, seed); !bytes.Equal(got, again) {
					t.Fatalf("seed %d gives %s, then %s", seed, got, again)
				}
			}
		})
	}
}

// A schema that nothing satisfies, or that asks for too much, is an error that says where and why.
func TestNoInstance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"false", `false`, "allows no value"},
		{"false inside", `{"properties":{"a":false},"required":["a"]}`, "$.a: the schema allows no value"},
		{"no type in common", `{"allOf":[{"type":"string"},{"type":"integer"}]}`, "allows no type"},
		{"bounds", `{"type":"integer","minimum":3,"maximum":2}`, "within the bounds"},
		{"endless", `{"type":"object","properties":{"x":{"$ref":"#"}},"required":["x"]}`, "nested more than"},
		{"too many items", `{"type":"array","items":{},"minItems":1000000}`, "at least 1000000 items"},
		{"more items than a count holds", `{"type":"array","minItems":1e300}`, "at least 1073741824 items"},
		{"too long", `{"type":"string","minLength":1000000}`, "at least 1000000 characters"},
		{"too many properties", `{"type":"object","minProperties":100000}`, "more than 1000 properties"},
		{"too large", `{"type":"array","items":{"type":"string","minLength":10000},"minItems":1000}`, "more than 262144 bytes"},
		{"enum", `{"enum":["a"],"type":"integer"}`, "no value of the enum"},
		{"not", `{"type":"boolean","not":{}}`, "satisfies the whole schema"},
		{"a lookahead alone", `{"type":"string","pattern":"^(?=a)b$"}`, "lookarounds"},
		{"a pattern against itself", `{"type":"string","pattern":"^a$","minLength":2}`, "no string was found for the pattern"},
		{"a reference to itself", `{"$ref":"#","type":"string"}`, "too complex"},
		{"unique", `{"type":"array","items":{"type":"boolean"},"minItems":3,"uniqueItems":true}`, "more different items"},
	} {
		if got, err := instance(t, tt.schema, 1); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s, error %v, want one about %q", tt.name, got, err, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"no JSON", `{"type":`, "not valid JSON"},
		{"a list", `[]`, "#: a schema is an object, true or false"},
		{"a wrong child", `{"properties":{"a":7}}`, "#/properties/a: a schema is an object"},
		{"an unknown type", `{"type":"text"}`, "#/type: must be object, array"},
		{"another document", `{"$ref":"https://example.com/schema"}`, "in the same schema"},
		{"no such place", `{"$ref":"#/$defs/none"}`, "leads to no place"},
		{"a dynamic reference", `{"$dynamicRef":"#x"}`, "not supported"},
		{"a negative count", `{"minItems":-1}`, "#/minItems"},
		{"a long number", `{"minimum":` + strings.Repeat("1", 100) + `}`, "#/minimum"},
		{"a large exponent", `{"minimum":1e999999999}`, "#/minimum"},
		{"a small exponent", `{"multipleOf":1e-999999999}`, "#/multipleOf"},
		{"nested", strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat(`}`, 200), "nested more than"},
		{"many schemas", `{"allOf":[` + strings.Repeat(`{},`, maxNodes) + `{}]}`, "more than 10000 schemas"},
		{"many patterns", `{"allOf":[` + strings.Repeat(`{"pattern":"a"},`, maxPatterns) + `{"pattern":"a"}]}`, "patterns"},
		{"many bytes", `{"description":"` + strings.Repeat("x", MaxBytes) + `"}`, "bytes"},
	} {
		if _, err := Parse([]byte(tt.schema)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one about %q", tt.name, err, tt.want)
		}
	}
}

// Schemas that are written to cost much end soon, with an instance or an error.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	var doubling, wide, chain strings.Builder
	for i := range 60 { // each level holds twice
		fmt.Fprintf(&doubling, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}],"title":"%d"},`, i, i+1, i+1, i)
	}
	for i := range 5000 {
		fmt.Fprintf(&wide, `"p%d":{"$ref":"#"},`, i)
		fmt.Fprintf(&chain, `"c%d":{"$ref":"#/$defs/c%d"},`, i, i+1)
	}
	deep := strings.Repeat(`{"anyOf":[{"not":{}},`, 45) + `{"not":{}}` + strings.Repeat(`]}`, 45)
	for name, schema := range map[string]string{
		"doubling":            `{"$defs":{` + doubling.String() + `"d60":{"type":"string"}},"$ref":"#/$defs/d0"}`,
		"doubling that fails": `{"$defs":{` + strings.ReplaceAll(doubling.String(), "allOf", "anyOf") + `"d60":{"not":{}}},"$ref":"#/$defs/d0"}`,
		"wide":                `{"properties":{` + wide.String() + `"z":{}},"type":"object"}`,
		"chain":               `{"$defs":{` + chain.String() + `"c5000":{"type":"integer"}},"$ref":"#/$defs/c0"}`,
		"alternatives":        deep,
		"repetition":          `{"pattern":"^((((a?){9}){9}){9}b)*((c*)*)*$","minLength":16000,"type":"string"}`,
		"arrays of arrays":    `{"$defs":{"a":{"type":"array","minItems":1000,"items":{"$ref":"#/$defs/b"}},"b":{"type":"array","minItems":1000,"items":{}}},"$ref":"#/$defs/a"}`,
		"unique large":        `{"type":"array","minItems":1000,"uniqueItems":true,"items":{"type":"array","minItems":100,"items":{"type":"null"}}}`,
		"enum in enum":        `{"allOf":[` + strings.Repeat(`{"enum":[`+strings.Repeat("1,", 200)+`2]},`, 200) + `{"not":{"const":2}},{"not":{"const":1}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			s, err := Parse([]byte(schema))
			if err == nil {
				_, err = s.Instance(rand.New(rand.NewPCG(1, 1)))
			}
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("it took %v (%v)", took, err)
			}
		})
	}
}

// An instance of any schema that is accepted is valid.
func FuzzInstance(f *testing.F) {
	for _, schema := range satisfiable {
		f.Add([]byte(schema), uint64(1))
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		s, err := Parse(schema)
		if err != nil || bytes.Contains(schema, []byte("unevaluated")) || bytes.Contains(schema, []byte("format")) {
			return
		}
		got, err := s.Instance(rand.New(rand.NewPCG(seed, 1)))
		if err != nil {
			return
		}
		if _, err := parse(got); err != nil {
			t.Fatalf("%s is no JSON: %v", got, err)
		}
		if bytes.Contains(schema, []byte("$")) || bytes.Contains(schema, []byte("nullable")) || bytes.Contains(schema, []byte("dependencies")) {
			return // drafts and OpenAPI differ about these
		}
		if problem, known := invalidity(schema, got); known && problem != nil {
			t.Fatalf("%s gives %s: %v", schema, got, problem)
		}
	})
}

package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is the API as the server under test describes it in /openapi.json. Every answer that a
// scenario tells is held against it.
type contract struct {
	mu       sync.Mutex // a compiler serves one at a time
	compiler *jsonschema.Compiler
	routes   []contractRoute
	document map[string]any
}

// contractRoute is a path of the document.
type contractRoute struct {
	template string
	matches  *regexp.Regexp
	methods  map[string]any
}

const contractURL = "openapi.json"

func readContract(t testing.TB, server string) *contract {
	t.Helper()
	resp, err := http.Get(server + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	value, err := jsonschema.UnmarshalJSON(resp.Body)
	if err != nil {
		t.Fatalf("reading /openapi.json: %v", err)
	}
	c := &contract{compiler: jsonschema.NewCompiler(), document: value.(map[string]any)}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(contractURL, value); err != nil {
		t.Fatal(err)
	}
	wildcard := regexp.MustCompile(`\\\{[^}]*\\\}`)
	for template, methods := range c.document["paths"].(map[string]any) {
		pattern := wildcard.ReplaceAllString(regexp.QuoteMeta(template), "[^/]+")
		c.routes = append(c.routes, contractRoute{template, regexp.MustCompile("^" + pattern + "$"), methods.(map[string]any)})
	}
	// A path without parameters is matched before one with parameters, as OpenAPI says.
	slices.SortFunc(c.routes, func(x, y contractRoute) int {
		return strings.Count(x.template, "{") - strings.Count(y.template, "{")
	})
	return c
}

// check reports in what an answer differs from the document. Bytes that an upstream wrote are its own
// business, and so is whatever is said about routes that do not exist.
func (c *contract) check(call Call, a Answer) error {
	path, _, _ := strings.Cut(call.Path, "?")
	for _, r := range c.routes {
		operation, ok := r.methods[strings.ToLower(call.Method)].(map[string]any)
		if !ok || !r.matches.MatchString(path) || a.Header.Get("X-Penstock-Target") != "" {
			continue
		}
		at := jsontext.Pointer("/paths").AppendToken(r.template).AppendToken(strings.ToLower(call.Method)).AppendToken("responses")
		responses := operation["responses"].(map[string]any)
		if response, ok := responses[fmt.Sprint(a.Status)]; ok {
			return c.checkBody(at.AppendToken(fmt.Sprint(a.Status)), response, a)
		}
		if a.Status < http.StatusBadRequest {
			return fmt.Errorf("status %d is not described", a.Status)
		}
		shared := c.document["components"].(map[string]any)["responses"].(map[string]any)["Error"]
		return c.checkBody("/components/responses/Error", shared, a)
	}
	return nil
}

// checkBody holds every JSON value in a body against the schema of its media type.
func (c *contract) checkBody(at jsontext.Pointer, response any, a Answer) error {
	mediaType, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	content := response.(map[string]any)["content"].(map[string]any)
	if _, ok := content[mediaType]; !ok {
		return fmt.Errorf("the media type %s is not described", mediaType)
	}
	schema, err := c.schema(at.AppendToken("content").AppendToken(mediaType).AppendToken("schema"))
	if err != nil {
		return err
	}
	for _, text := range jsonValues(mediaType, a.Body) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		if err := schema.Validate(value); err != nil {
			return err
		}
	}
	return nil
}

func (c *contract) schema(at jsontext.Pointer) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compiler.Compile(contractURL + "#" + string(at))
}

// jsonValues are the JSON values of a body: one, one a line, or one an event.
func jsonValues(mediaType, body string) []string {
	switch mediaType {
	case "application/x-ndjson":
		return slices.Collect(strings.Lines(body))
	case "text/event-stream":
		var values []string
		for line := range strings.Lines(body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				values = append(values, data)
			}
		}
		return values
	}
	return []string{body}
}

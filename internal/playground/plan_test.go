package playground

import (
	"encoding/json"
	"strings"
	"testing"

	"penstock/internal/prompt/content"
)

// compiledColumn is a column with a text and, unless it is "", a schema of the variables.
func compiledColumn(t *testing.T, at int, text, schema string) *column {
	t.Helper()
	c := content.Content{Kind: content.KindText, Text: text}
	if schema != "" {
		c.InputSchema = json.RawMessage(schema)
	}
	parsed, err := content.Parse(c)
	if err != nil {
		t.Fatal(err)
	}
	linked, err := parsed.Link(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &column{Compiled: Compiled{Content: linked}, at: at, config: content.Config{}.WithModel("m")}
}

// A row has the variables of all columns: each column renders its own, and a variable that no column has is a mistake.
func TestRowsAreShared(t *testing.T) {
	first := compiledColumn(t, 0, "{{a}} {{both}}", "")
	second := compiledColumn(t, 1, "{{b}} {{both}}", `{"type":"object","properties":{"b":{},"both":{},"unused":{}},"additionalProperties":false}`)
	for _, c := range []*column{first, second} {
		c.all = []*content.Compiled{first.Content, second.Content}
	}
	row := `{"a":"1","b":"2","both":"3","unused":"4"}`
	for c, want := range map[*column]string{first: "1 3", second: "2 3"} {
		r, err := c.render([]byte(row))
		if err != nil {
			t.Fatalf("column %d: %v", c.at, err)
		}
		if got := r.messages[0].Content.Text; got != want {
			t.Errorf("column %d is %q, want %q", c.at, got, want)
		}
	}
	if _, err := first.render([]byte(`{"a":"1","both":"3","c":"5"}`)); err == nil || !strings.Contains(err.Error(), "unknown: c") {
		t.Errorf("a variable that no column has: %v", err)
	}
	if _, err := second.render([]byte(`{"a":"1","both":"3","nobody":"5"}`)); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a variable that no column has, with a schema: %v", err)
	}
}

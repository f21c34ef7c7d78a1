package translate

import (
	"fmt"
	"strings"
	"testing"

	"penstock"
)

// A schema that is missing or in another place than its own is refused on targets of every kind, and the refusal shows the right form.
func TestSchemasInTheWrongPlaceAreRefused(t *testing.T) {
	t.Parallel()
	bodies := map[string]struct{ body, param, form string }{
		"chat":      {`{"messages":[{"role":"user","content":"Hi"}],"response_format":%s}`, "response_format", chatSchemaForm},
		"messages":  {`{"max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"output_config":{"format":%s}}`, "output_config.format", messageSchemaForm},
		"responses": {`{"input":"Hi","text":{"format":%s}}`, "text.format", responseSchemaForm},
	}
	formats := map[string][]string{
		"chat": {
			`{"type":"json_schema"}`, `{"type":"json_schema","schema":{"type":"object"}}`, `{"type":"json_schema","json_schema":{}}`,
			`{"type":"json_schema","json_schema":{"name":"x"}}`, `{"type":"json_schema","json_schema":{"name":"x","schema":null}}`,
			`{"type":"json_schema","json_schema":{"name":"x","schema":"{}"}}`, `{"type":"json_schema","json_schema":{"type":"object"}}`,
			`{"type":"json_object","schema":{"type":"object"}}`, `{"type":"json_object","json_schema":{"name":"x","schema":{}}}`,
		},
		"messages": {
			`{"type":"json_schema"}`, `{"type":"json_schema","schema":"{}"}`, `{"type":"json_schema","schema":null}`,
			`{"type":"json_schema","json_schema":{"schema":{}}}`,
		},
		"responses": {
			`{"type":"json_schema"}`, `{"type":"json_schema","name":"x"}`, `{"type":"json_schema","name":"x","json_schema":{"schema":{}}}`,
			`{"type":"json_schema","json_schema":{"name":"x","schema":{}}}`, `{"type":"json_schema","name":"x","schema":[]}`,
			`{"type":"json_object","schema":{"type":"object"}}`, `{"type":"json_object","json_schema":{"schema":{}}}`,
		},
	}
	for direction, tr := range directions {
		from, _, _ := strings.Cut(direction, "_to_")
		b := bodies[from]
		for _, format := range formats[from] {
			_, _, err := tr.Request(fmt.Appendf(nil, b.body, format), testMost)
			if err == nil {
				t.Errorf("%s: %s is accepted", direction, format)
				continue
			}
			if e := penstock.AsError(err); e.Code != penstock.CodeInvalidRequest || e.Param != b.param || !strings.Contains(e.Message, b.form) {
				t.Errorf("%s: %s: %s: %v", direction, format, e.Param, err)
			}
		}
	}
}

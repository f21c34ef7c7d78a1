package anthropic

import (
	"testing"

	"penstock/internal/api/dialect/dialecttest"
)

func TestAmbiguousNamesAreRefused(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]dialecttest.Read{"messages": ReadMessage, "count_tokens": ReadCount} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialecttest.RefusesVariants(t, messageShape, read)
		})
	}
}

func TestFreeFormObjectsPass(t *testing.T) {
	t.Parallel()
	const odd = `{"Type":1,"type":2,"TYPE":3,"type":4,"a_b":1,"aB":2,"model":1,"Model":2}`
	dialecttest.PassesFreeForm(t, ReadMessage,
		`{"metadata":`+odd+`}`, `{"tools":[{"name":"f","input_schema":`+odd+`}]}`, `{"output_config":{"format":{"type":"json_schema","schema":`+odd+`}}}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":`+odd+`}]}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"text","text":"x","citations":[`+odd+`]}]}]}`)
}

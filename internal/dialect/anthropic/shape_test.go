package anthropic

import (
	"testing"

	"penstock/internal/dialect/dialecttest"
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

// What only talks about an address is not fetched from, and is not taken for a link.
func TestTextIsNoLink(t *testing.T) {
	t.Parallel()
	for text, links := range map[string]int{
		`{"messages":[{"role":"user","content":"https://example.com/a.png"}]}`:                                                                                             0,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"https://example.com/a.png"}]}]}`:                                                                    0,
		`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"https://example.com"}}]}]}`:                   0,
		`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"http://x"}]}}]}]}`:                         0,
		`{"messages":[{"role":"user","content":[{"type":"search_result","source":"https://example.com","title":"x","content":[]}]}]}`:                                      0,
		`{"messages":[{"role":"user","content":[{"type":"web_search_tool_result","content":[{"type":"web_search_result","url":"https://example.com"}]}]}]}`:                0,
		`{"messages":[{"role":"user","content":[{"type":"tool_use","input":{"url":"https://example.com"}}]}]}`:                                                             0,
		`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"http://x"}}]}}]}]}`: 1,
		`{"system":[{"type":"image","source":{"type":"url","url":"http://x"}}],"mcp_servers":[{"type":"url","url":"http://y"}]}`:                                           2,
	} {
		call, err := ReadMessage([]byte(text))
		if err != nil || len(call.Object.Links) != links {
			t.Errorf("%s: %d links, %v; want %d", text, len(call.Object.Links), err, links)
		}
	}
}

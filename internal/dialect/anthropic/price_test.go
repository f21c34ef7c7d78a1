package anthropic

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"penstock/internal/dialect/dialecttest"
)

// TestBoundedPrices is the table of what has a bounded price, and of what is refused by which name and path.
func TestBoundedPrices(t *testing.T) {
	t.Parallel()
	part := func(p string) string { return `{"messages":[{"role":"user","content":[` + p + `]}]}` }
	dialecttest.Prices(t, []dialecttest.Price{
		{Read: ReadMessage, Body: `{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":"x"}],"temperature":1,"stop_sequences":["x"],"metadata":{"user_id":"u"},"thinking":{"type":"enabled","budget_tokens":1024},"service_tier":"auto","output_config":{"effort":"low"},"mcp_servers":[],"speed":"standard"}`},
		{Read: ReadMessage, Body: `{"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"custom","name":"g","input_schema":{}}],"tool_choice":{"type":"any"}}`},
		{Read: ReadMessage, Body: part(`{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"x"}},{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}],"is_error":false},{"type":"thinking","thinking":"x","signature":"y"},{"type":"redacted_thinking","data":"x"},{"type":"tool_use","id":"t","name":"f","input":{"type":"web_search"}},{"type":"search_result","source":"x","title":"t","content":[{"type":"text","text":"x"}]}`)},
		{Read: ReadMessage, Body: part(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"t","citations":{"enabled":true}},{"type":"document","source":{"type":"url","url":"https://x.example/a.pdf"}}`), Documents: 2},
		{Read: ReadMessage, Body: part(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"words"}},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}}`)},
		{Read: ReadMessage, Body: part(`{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"x"}}]}`), Documents: 1},
		{Read: ReadMessage, Body: `{"service_tier":"priority"}`, Path: "service_tier", Name: "service_tier:priority"},
		{Read: ReadMessage, Body: `{"speed":"fast"}`, Path: "speed", Name: "speed:fast"},
		{Read: ReadMessage, Body: `{"inference_geo":"us"}`, Path: "inference_geo", Name: "inference_geo:us"},
		{Read: ReadMessage, Body: `{"container":{"skills":[{"type":"anthropic"}]}}`, Path: "container", Name: "container"},
		{Read: ReadMessage, Body: `{"mcp_servers":[{"type":"url","url":"https://x.example","name":"x"}]}`, Path: "mcp_servers", Name: "mcp"},
		{Read: ReadMessage, Body: `{"context_management":{"edits":[]}}`, Path: "context_management", Name: "context_management"},
		{Read: ReadMessage, Body: `{"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3}]}`, Path: "tools[0].type", Name: "web_search", Uses: 3, UsesPath: "tools[0].max_uses"},
		{Read: ReadMessage, Body: `{"tools":[{"type":"code_execution_20250825","name":"code_execution"}]}`, Path: "tools[0].type", Name: "code_execution", UsesPath: "tools[0].max_uses"},
		{Read: ReadMessage, Body: `{"tools":[{"type":"computer_20250124","name":"computer"}]}`, Path: "tools[0].type", Name: "computer", UsesPath: "tools[0].max_uses"},
		{Read: ReadMessage, Body: part(`{"type":"container_upload","file_id":"file_1"}`), Path: "messages[0].content[0].type", Name: "container_upload"},
		{Read: ReadMessage, Body: part(`{"type":"image","source":{"type":"file","file_id":"file_1"}}`), Path: "messages[0].content[0].source.file_id", Name: "file_id"},
		{Read: ReadMessage, Body: part(`{"type":"text","text":"x","boost":1}`), Path: "messages[0].content[0].boost", Name: "boost"},
		{Read: ReadMessage, Body: part(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), Path: "messages[0].content[0].type", Name: "server_tool_use"},
		{Read: ReadMessage, Body: `{}`, Betas: "prompt-caching-2024-07-31, pdfs-2024-09-25,files-api-2025-04-14"},
		{Read: ReadMessage, Body: `{}`, Betas: "prompt-caching-2024-07-31,context-1m-2025-08-07", Path: "anthropic-beta", Name: "anthropic-beta:context-1m-2025-08-07"},
	})
}

// TestUnknownMembersAreFeatures holds that no member passes that is not in the list.
func TestUnknownMembersAreFeatures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z_]{1,20}`).Draw(t, "name")
		inf, err := ReadMessage([]byte(fmt.Sprintf(`{%q:1}`, name)))
		if _, known := MessageFormat.Priced[name]; known || err != nil {
			return
		}
		if priced := inf.Price(); len(priced.Features) != 1 || priced.Features[0].Path != name || priced.Features[0].Name != name {
			t.Fatalf("%s passes: %+v", name, priced)
		}
	})
}

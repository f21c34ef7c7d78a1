package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"penstock/internal/provider"
)

// The contents of traces are read from the answers of every dialect, plain and streamed.
func TestTracingReadsEveryDialect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		parts   []string
		model   string
		reasons []string
	}{
		"chat":       {[]string{`{"id":"x","model":"gpt-4o-2024","choices":[{"index":0,"message":{"content":"model"},"finish_reason":"stop"},{"finish_reason":"length"}]}`}, "gpt-4o-2024", []string{"stop", "length"}},
		"completion": {[]string{`{"model":"m","choices":[{"text":"x","finish_reason":"length"}]}`}, "m", []string{"length"}},
		"chat stream": {[]string{`{"model":"m","choices":[{"delta":{"role":"assistant"},"finish_reason":null}]}`, `{"model":"other","choices":[{"delta":{"content":"x"},"finish_reason":null}]}`,
			`{"model":"m","choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, `{"model":"m","choices":[],"usage":{}}`, `[DONE]`}, "m", []string{"tool_calls"}},
		"embeddings": {[]string{`{"object":"list","model":"embed-3","data":[{"embedding":[1,2]}]}`}, "embed-3", nil},
		"response":   {[]string{`{"object":"response","status":"completed","model":"m","output":[{"type":"message","status":"completed"}]}`}, "m", []string{"completed"}},
		"incomplete": {[]string{`{"object":"response","model":"m","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`}, "m", []string{"max_output_tokens"}},
		"response stream": {[]string{`{"type":"response.created","response":{"object":"response","status":"in_progress","model":"m"}}`, `{"type":"response.output_text.delta","delta":"status"}`,
			`{"type":"response.completed","response":{"object":"response","status":"completed","model":"m","incomplete_details":null}}`}, "m", []string{"completed"}},
		"message": {[]string{`{"type":"message","model":"claude","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`}, "claude", []string{"end_turn"}},
		"message stream": {[]string{`{"type":"message_start","message":{"model":"claude","stop_reason":null}}`, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{}}`, `{"type":"message_stop"}`}, "claude", []string{"max_tokens"}},
		"payloads": {[]string{`{"model":"You are a pirate","choices":[{"finish_reason":"because I said so"},{"finish_reason":"` + strings.Repeat("x", 65) + `"}]}`}, "", nil},
		"nonsense": {[]string{`{"model":{"a":1},"choices":{"finish_reason":1},"message":[],"delta":7,"stop_reason":true,"response":null}`, `{"model":"m"`, "", "[", `"x"`}, "m", nil},
		"nested":   {[]string{strings.Repeat(`{"delta":`, 1<<20), `{"delta":{"delta":{"stop_reason":"no"}}}`}, "", nil},
		"many":     {[]string{`{"choices":[` + strings.TrimSuffix(strings.Repeat(`{"finish_reason":"stop"},`, 1000), ",") + `]}`}, "", slices.Repeat([]string{"stop"}, maxReasons)},
	} {
		read := New(&provider.Call{Traced: true})
		for _, part := range tt.parts {
			read.Read([]byte(part))
		}
		var meta provider.Meta
		read.Into(&meta)
		if meta.Traced.Model != tt.model || fmt.Sprint(meta.Traced.FinishReasons) != fmt.Sprint(tt.reasons) {
			t.Errorf("%s: %+v, want %s %v", name, *meta.Traced, tt.model, tt.reasons)
		}
	}
}

// A call without a trace costs nothing.
func TestTracingIsFreeForOthers(t *testing.T) { // not parallel: it counts allocations
	text := []byte(`{"model":"m","choices":[{"finish_reason":"stop"}]}`)
	var meta provider.Meta
	allocs := testing.AllocsPerRun(100, func() {
		read := New(&provider.Call{})
		read.Read(text)
		read.Into(&meta)
	})
	if allocs != 0 || meta.Traced != nil {
		t.Errorf("%v allocations, %+v", allocs, meta.Traced)
	}
}

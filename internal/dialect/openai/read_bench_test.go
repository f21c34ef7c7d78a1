package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// agentBody is a request as agents send them: a long conversation with tool calls, source code in their results, and tool schemas.
func agentBody(tb testing.TB) []byte {
	type object = map[string]any
	code := strings.Repeat("\tif err := w.flush(ctx); err != nil {\n\t\treturn fmt.Errorf(\"flushing \\\"%s\\\": %w\", name, err) // naïve – but enough\n\t}\n", 15)
	messages := []object{{"role": "system", "content": "You repair programs."}}
	for n := range 30 {
		id := fmt.Sprintf("call_%08d", n)
		call := object{"id": id, "type": "function", "function": object{"name": "search", "arguments": `{"path": "queue/file.go", "pattern": "err != nil\\n"}`}}
		messages = append(messages, object{"role": "assistant", "content": nil, "tool_calls": []object{call}}, object{"role": "tool", "tool_call_id": id, "content": code})
	}
	var tools []object
	for n := range 16 {
		tools = append(tools, object{"type": "function", "function": object{
			"name": fmt.Sprintf("search_%d", n), "description": "Search files for a pattern.\nReturns the lines that match, with their numbers.",
			"parameters": object{"type": "object", "additionalProperties": false, "required": []string{"path", "pattern"}, "properties": object{
				"path": object{"type": "string", "description": "Directory or file, relative to the root of the repository"}, "pattern": object{"type": "string"},
				"context": object{"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines before and after a match"}, "kind": object{"type": "string", "enum": []string{"source", "test", "any"}},
			}},
		}})
	}
	text, err := json.Marshal(object{"model": "fast", "messages": messages, "tools": tools, "max_tokens": 200})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func BenchmarkReadChat(b *testing.B) {
	for name, text := range map[string][]byte{
		"short": []byte(`{"model":"fast","messages":[{"role":"user","content":"What does a weir do?"}],"max_tokens":200}`),
		"agent": agentBody(b),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadChat(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

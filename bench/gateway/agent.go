package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The request of an agent: a conversation in which the model calls tools and reads their results, with the schemas of the tools.
const (
	agentMessages = 60
	agentTools    = 16
)

// agentText is what agents read most: source code in a tool's result. In JSON every line of it has escapes.
const agentText = "\tif err := w.flush(ctx); err != nil {\n\t\treturn fmt.Errorf(\"flushing \\\"%s\\\": %w\", name, err) // naïve – but enough\n\t}\n"

// agentBody is a request of at least the given size: the messages are as long as the size needs.
func agentBody(size int) []byte {
	low, high := 0, size // bytes of text in every message
	for low < high {
		if middle := (low + high) / 2; len(agentRequest(middle)) < size {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return agentRequest(low)
}

func agentRequest(textBytes int) []byte {
	text := strings.Repeat(agentText, textBytes/len(agentText)+1)[:textBytes]
	text = strings.ToValidUTF8(text, "")
	messages := []any{object{"role": "system", "content": "You repair programs. Call tools; do not guess.\n" + text}}
	for n := 1; len(messages) < agentMessages; n++ {
		id := fmt.Sprintf("call_%08d", n)
		arguments := fmt.Sprintf("{\"path\": \"internal/queue/file%d.go\", \"pattern\": \"err != nil\\\\n\"}", n)
		messages = append(messages,
			object{"role": "assistant", "content": nil, "tool_calls": []any{
				object{"id": id, "type": "function", "function": object{"name": "search_files_0", "arguments": arguments}},
			}},
			object{"role": "tool", "tool_call_id": id, "content": text})
	}
	messages[len(messages)-1] = object{"role": "user", "content": "Why does the test fail? " + text}
	var tools []any
	for n := range agentTools {
		tools = append(tools, agentTool(n))
	}
	body, err := json.Marshal(object{"model": "fast", "messages": messages, "tools": tools, "max_tokens": 200})
	if err != nil {
		panic(err) // strings, numbers and maps can always be encoded
	}
	return body
}

type object = map[string]any

// agentTool is a tool with a schema of ordinary length.
func agentTool(n int) object {
	return object{"type": "function", "function": object{
		"name":        fmt.Sprintf("search_files_%d", n),
		"description": "Search files for a pattern. Returns the lines that match, with their numbers.\nA pattern is a regular expression; escape \\ and \".",
		"parameters": object{"type": "object", "additionalProperties": false, "required": []string{"path", "pattern"}, "properties": object{
			"path":    object{"type": "string", "description": "Directory or file to search, relative to the root of the repository"},
			"pattern": object{"type": "string", "description": "Regular expression, for example \"func \\\\w+\\\\(\""},
			"context": object{"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after a match"},
			"kind":    object{"type": "string", "enum": []string{"source", "test", "document", "any"}},
		}},
	}}
}

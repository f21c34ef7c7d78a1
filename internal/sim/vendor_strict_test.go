package sim

import (
	"net/http"
	"strings"
	"testing"
)

// In every dialect, the simulator refuses names of tools, data of images and results of calls that the vendor refuses.
func TestRefusesAsEachVendor(t *testing.T) {
	t.Parallel()
	server := newServer(t, Config{OutputTokens: 3})
	const (
		message  = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"look_up","input_schema":{"type":"object"}}]}`
		converse = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"look_up","inputSchema":{"json":{"type":"object"}}}}]}}`
		generate = `{"contents":[{"role":"user","parts":[{"text":"Hi"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}],"tools":[{"functionDeclarations":[{"name":"look_up","parameters":{"type":"OBJECT"}}]}]}`
		result   = `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]}`
	)
	for _, tt := range []struct{ path, body, old, new, want string }{
		{messagePath, message, "look_up", "look up", "tools.0.custom.name"},
		{converseTestPath, converse, "look_up", "look up", "toolSpec.name"},
		{geminiTestPath, generate, "look_up", "look up", "Invalid function name"},
		{responsePath, result, `"call_id":"c","name"`, `"call_id":"d","name"`, "No tool call found for function call output with call_id c."},
		{geminiTestPath, generate, "iVBOR", "!!!", "Base64 decoding failed"},
		{geminiTestPath, generate, "image/png", "image/bmp", "Unsupported MIME type: image/bmp"},
	} {
		for body, status := range map[string]int{tt.body: http.StatusOK, strings.Replace(tt.body, tt.old, tt.new, 1): http.StatusBadRequest} {
			r := newRequest(t.Context(), tt.path, body)
			for _, name := range []string{"x-api-key", "x-goog-api-key"} {
				r.Header.Set(name, "any")
			}
			r.Header.Set("Authorization", "Bearer any")
			r.Header.Set("anthropic-version", "2023-06-01")
			w := do(server, r)
			if refused := strings.Contains(w.Body.String(), tt.want); w.Code != status || refused != (status == http.StatusBadRequest) {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
	}
}

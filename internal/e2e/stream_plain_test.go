package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a job keeps of an answer does not depend on whether it was shown while it arrived: in every dialect, also where
// it is translated, and with tools.
func TestStreamedAnswersAreThePlainOnes(t *testing.T) {
	t.Parallel()
	s := stageDialects(t)
	const (
		chatTool    = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{}}}}],"tool_choice":"required"`
		messageTool = `"tools":[{"name":"look","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}`
		asked       = `"messages":[{"role":"user","content":"Say it once, or bit by bit."}]`
	)
	for _, tc := range []struct{ endpoint, model, body string }{
		{"/v1/chat/completions", "chats", `{` + asked + `}`},
		{"/v1/chat/completions", "chats", `{` + asked + `,` + chatTool + `}`},
		{"/v1/chat/completions", "claude", `{` + asked + `}`},
		{"/v1/chat/completions", "claude", `{` + asked + `,` + chatTool + `}`},
		{"/v1/completions", "chats", `{"prompt":"Once upon a time"}`},
		{"/v1/messages", "claude", `{` + asked + `,"max_tokens":64}`},
		{"/v1/messages", "claude", `{` + asked + `,"max_tokens":64,` + messageTool + `}`},
		{"/v1/messages", "chats", `{` + asked + `,"max_tokens":64}`},
		{"/v1/responses", "chats", `{"input":"Say it once, or bit by bit."}`},
	} {
		t.Run(strings.Trim(tc.endpoint, "/")+" of "+tc.model, func(t *testing.T) {
			t.Parallel()
			plain := s.answered(t, fmt.Sprintf(`{"endpoint":%q,"model":%q,"input":%s}`, tc.endpoint, tc.model, tc.body))
			shown := s.answered(t, fmt.Sprintf(`{"endpoint":%q,"model":%q,"input":%s,"stream":true}`, tc.endpoint, tc.model, tc.body))
			if diff := cmp.Diff(plain, shown); diff != "" {
				t.Errorf("%s: (-plain +shown):\n%s", tc.body, diff)
			}
		})
	}
}

// answered runs a job of one item and returns its answer with its usage, without what differs from call to call.
func (st *staged) answered(t *testing.T, job string) any {
	t.Helper()
	a := st.Do(post("/v1/jobs", job, "Prefer", "wait=30"))
	var got struct {
		Status string
		Result struct {
			Response struct{ Body any }
			Usage    any
			Target   string
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != http.StatusOK || got.Status != "succeeded" {
		t.Fatalf("%s: %d %s", job, a.Status, a.Body)
	}
	return map[string]any{"body": timeless(got.Result.Response.Body), "usage": got.Result.Usage, "target": got.Result.Target}
}

// timeless drops the members of an answer that are another in every call.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch name {
			case "id", "call_id", "created", "created_at", "completed_at":
				delete(v, name)
			default:
				v[name] = timeless(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	}
	return v
}

package translate

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/dialect"
)

// What an upstream signed goes back to it: the items of an answer, sent as input with the results of their calls, have all signatures, each
// once, and in the order of the answer. Another target, and every other dialect, get none of them.
func TestSignaturesGoBack(t *testing.T) {
	t.Parallel()
	for direction, tt := range map[string]struct {
		answer     string
		signatures []string
	}{
		"responses_to_messages": {"stream_thinking_and_tool.in.sse", []string{`"c2ln"`}},
		"responses_to_converse": {"stream_reasoning_and_tool.in.sse", []string{`"c2ln"`, `"eA=="`}},
		"responses_to_gemini":   {"stream_thought_and_call.in.sse", []string{`"c2ln"`}},
	} {
		through := directions[direction]
		text := inputs(t, "stream_*.in.sse")[filepath.Join("testdata", direction, tt.answer)]
		wire, _, _ := read(through.Answer(upstream(text, typeStream), asked))
		body := continued(t, wire)
		sent, dropped, err := through.Request(body, testMost)
		if err != nil || len(dropped) > 0 {
			t.Fatalf("%s: %v, dropped %v", direction, err, dropped)
		}
		at := 0
		for _, s := range tt.signatures {
			i := strings.Index(string(sent[at:]), s)
			if i < 0 || strings.Count(string(sent), s) != 1 {
				t.Fatalf("%s: signature %s is not in its place in %s", direction, s, sent)
			}
			at += i
		}
		for name, other := range directions {
			if !strings.HasPrefix(name, "responses_") {
				continue
			}
			sent, dropped, err := other.Request(body, dialect.Upstream{MaxOutputTokens: 4096, Origin: "main/other-model"})
			if err != nil || len(dropped) != 1 || dropped[0] != "input[].reasoning" {
				t.Errorf("%s to another target of %s: %v, dropped %v", direction, name, err, dropped)
			}
			for _, s := range tt.signatures {
				if strings.Contains(string(sent), s) {
					t.Errorf("%s: another target of %s gets %s", direction, name, sent)
				}
			}
		}
	}
}

// An answer that is checked for an object carries its signature as well.
func TestSignaturesOfObjects(t *testing.T) {
	t.Parallel()
	text := inputs(t, "stream_*.in.sse")[filepath.Join("testdata", "responses_to_messages", "stream_thinking_and_tool.in.sse")]
	a := asked
	a.Body = []byte(`{"text":{"format":{"type":"json_object"}}}`)
	wire, _, _ := read(responsesToMessages.Answer(upstream(text, typeStream), a))
	sent, dropped, err := responsesToMessages.Request(continued(t, wire), testMost)
	if err != nil || len(dropped) > 0 || !strings.Contains(string(sent), `"c2ln"`) {
		t.Errorf("%v, dropped %v: %s", err, dropped, sent)
	}
}

// continued is the body of the next turn of a tool loop.
func continued(t *testing.T, wire string) []byte {
	t.Helper()
	var r struct {
		Output []struct {
			CallID string `json:"call_id"`
		} `json:"output"`
		Raw jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal([]byte(wire), &r); err != nil {
		t.Fatalf("%v: %s", err, wire)
	}
	var whole struct {
		Output []jsontext.Value `json:"output"`
	}
	if err := json.Unmarshal([]byte(wire), &whole); err != nil {
		t.Fatal(err)
	}
	items := []string{`{"role":"user","content":"Hi"}`}
	for _, item := range whole.Output {
		items = append(items, string(item))
	}
	for _, o := range r.Output {
		if o.CallID != "" {
			items = append(items, fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"Sunny"}`, o.CallID))
		}
	}
	return []byte(`{"model":"m","input":[` + strings.Join(items, ",") + `]}`)
}

// An upstream of responses does not get reasoning that a translation sealed. All else is forwarded as it is.
func TestForward(t *testing.T) {
	t.Parallel()
	own := sealed{Kind: sealThinking, Data: "c2ln"}.content("main/model")
	reasoning := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + own + `"}`
	for _, tt := range []struct{ input, want string }{
		{`"Hi ` + sealMark + `"`, `"Hi ` + sealMark + `"`},
		{`[{"role":"user","content":"` + sealMark + `"},` + reasoning + `,{"type":"reasoning","encrypted_content":"theirs"}]`,
			`[{"role":"user","content":"` + sealMark + `"},{"type":"reasoning","encrypted_content":"theirs"}]`},
		{`[ ` + reasoning + ` ]`, `[]`},
		{`[{"type":"message","content":` + reasoning + `}]`, `[{"type":"message","content":` + reasoning + `}]`},
		{`[{"type":"reasoning","encrypted_content":["` + sealMark + `"]}]`, `[{"type":"reasoning","encrypted_content":["` + sealMark + `"]}]`},
	} {
		body, want := `{"model":"m", "input":`+tt.input+`}`, `{"model":"m", "input":`+tt.want+`}`
		got, dropped := Forward(penstock.EndpointResponses, []byte(body))
		if string(got) != want || (len(dropped) > 0) != (body != want) {
			t.Errorf("%s\ngives %s, dropped %v", body, got, dropped)
		}
	}
	if got, dropped := Forward(penstock.EndpointChat, []byte(reasoning)); string(got) != reasoning || dropped != nil {
		t.Errorf("another endpoint: %s, %v", got, dropped)
	}
}

// A signature that an upstream sends in endless parts is not gathered.
func TestSignaturesAreBounded(t *testing.T) {
	t.Parallel()
	var s signature
	var n notes
	for range 3 {
		s.add(strings.Repeat("x", maxSignatureBytes/2))
	}
	if got := s.take(&n); got != "" || len(n.paths) != 1 {
		t.Errorf("%d bytes, dropped %v", len(got), n.paths)
	}
	s.add("short")
	if got := s.take(&n); got != "short" {
		t.Errorf("the next one is %q", got)
	}
}

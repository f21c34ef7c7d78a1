package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"penstock"
)

// Words for thinking that messages do not have are refused on targets of every kind, by the caller's own member and with the words that it takes.
func TestUnknownWordsForThinkingAreRefused(t *testing.T) {
	t.Parallel()
	for direction, tr := range directions {
		if !strings.HasPrefix(direction, "messages_to_") {
			continue
		}
		for _, tt := range []struct{ members, param, message string }{
			{`"thinking":{"type":"banana"}`, "thinking.type", "thinking.type must be enabled, adaptive or disabled."},
			{`"thinking":{}`, "thinking.type", "thinking.type must be enabled, adaptive or disabled."},
			{`"output_config":{"effort":"zz"}`, "output_config.effort", "output_config.effort must be low, medium, high, xhigh or max."},
			{`"output_config":{"effort":"none"}`, "output_config.effort", "output_config.effort must be low, medium, high, xhigh or max."},
			{`"thinking":{"type":"enabled","budget_tokens":2048},"output_config":{"effort":"zz"}`, "output_config.effort", "output_config.effort must be low, medium, high, xhigh or max."},
		} {
			_, _, err := tr.Request(fmt.Appendf(nil, `{"max_tokens":8192,"messages":[{"role":"user","content":"Hi"}],%s}`, tt.members), testMost)
			if err == nil {
				t.Errorf("%s: %s is accepted", direction, tt.members)
				continue
			}
			if e := penstock.AsError(err); e.Code != penstock.CodeInvalidRequest || e.Param != tt.param || e.Message != tt.message {
				t.Errorf("%s: %s: %s: %v", direction, tt.members, e.Param, err)
			}
		}
		for _, effort := range messageEfforts {
			body := fmt.Appendf(nil, `{"max_tokens":8192,"messages":[{"role":"user","content":"Hi"}],"thinking":{"type":"adaptive"},"output_config":{"effort":%q}}`, effort)
			if _, _, err := tr.Request(body, testMost); err != nil {
				t.Errorf("%s: effort %q: %v", direction, effort, err)
			}
		}
	}
}

// The effort max is a word of messages alone: a chat or a response that asks for it is refused on targets of every kind that it is
// translated for.
func TestMaxIsNoEffortOfChats(t *testing.T) {
	t.Parallel()
	for direction, tr := range directions {
		body, param := `{"messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"max"}`, "reasoning_effort"
		switch {
		case strings.HasPrefix(direction, "messages_to_"), direction == "responses_to_chat": // a chat-only upstream has words of its own
			continue
		case strings.HasPrefix(direction, "responses_to_"):
			body, param = `{"input":"Hi","reasoning":{"effort":"max"}}`, "reasoning.effort"
		}
		if _, _, err := tr.Request([]byte(body), testMost); err == nil || penstock.AsError(err).Param != param {
			t.Errorf("%s: %v", direction, err)
		}
	}
}

// Messages that end with the beginning of the answer are carried to Bedrock, whose Claude models continue it as Anthropic's API does.
// Other upstreams would begin a new answer.
func TestPrefill(t *testing.T) {
	t.Parallel()
	const body = `{"max_tokens":9,"messages":[{"role":"user","content":"Who?"},{"role":"assistant","content":"It is"}]}`
	for direction, tr := range directions {
		if !strings.HasPrefix(direction, "messages_to_") {
			continue
		}
		sent, _, err := tr.Request([]byte(body), testMost)
		if direction != "messages_to_converse" {
			if err == nil || penstock.AsError(err).Param != "messages" {
				t.Errorf("%s: %s, %v", direction, sent, err)
			}
			continue
		}
		if err != nil || !strings.Contains(string(sent), `{"role":"assistant","content":[{"text":"It is"}]}`) {
			t.Errorf("%s: %s, %v", direction, sent, err)
		}
	}
}

// Thinking that the model may do as it sees fit is named as dropped where the target has no such option.
func TestAdaptiveThinkingIsNotLostSilently(t *testing.T) {
	t.Parallel()
	const base = `"max_tokens":8192,"messages":[{"role":"user","content":"Hi"}]`
	for direction, want := range map[string]bool{"messages_to_gemini": true, "messages_to_chat": true, "messages_to_converse": false} {
		body, dropped, err := directions[direction].Request([]byte(`{`+base+`,"thinking":{"type":"adaptive"}}`), testMost)
		if err != nil {
			t.Fatal(err)
		}
		if carried := strings.Contains(string(body), "adaptive"); slices.Contains(dropped, "thinking") != want || carried == want {
			t.Errorf("%s: dropped %v, body %s", direction, dropped, body)
		}
	}
}

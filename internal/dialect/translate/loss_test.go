package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Parts of an answer that the caller's dialect cannot express are dropped and named.
func TestAnswersNameWhatTheyLose(t *testing.T) {
	t.Parallel()
	const chat, message = "messages_to_chat", "chat_to_messages" // which reader the direction has
	block := func(blocks string) string { return `{"type":"message","id":"m","content":[` + blocks + `]}` }
	said := func(members string) string {
		return `{"id":"c","choices":[{"index":0,"message":{"content":"Yes.",` + members + `},"finish_reason":"stop"}]}`
	}
	var many strings.Builder
	for i := range 2 * MaxDropped {
		fmt.Fprintf(&many, `{"type":"kind-%d%s"},`, i, strings.Repeat("x", 2*maxDroppedBytes))
	}
	for _, tt := range []struct {
		direction, name, answer string
		want                    []string
	}{
		{message, "text alone", block(`{"type":"text","text":"Yes.","citations":null}`), nil},
		{message, "thoughts", block(`{"type":"thinking","thinking":"Hm."},{"type":"thinking"},{"type":"redacted_thinking"},{"type":"text","text":"Yes."}`),
			[]string{"answer.redacted_thinking"}},
		{message, "citations", block(`{"type":"text","text":"Yes.","citations":[{"type":"page_location"}]}`), []string{"answer.citations"}},
		{message, "a tool of the server", block(`{"type":"server_tool_use","id":"s"},{"type":"text","text":"Yes."}`), []string{"answer.server_tool_use"}},
		{chat, "text alone", said(`"reasoning_content":null,"annotations":[],"audio":null`), nil},
		{chat, "thoughts", said(`"reasoning_content":"Hm."`), nil},
		{chat, "thoughts by another name", said(`"reasoning":"Hm."`), nil},
		{chat, "annotations and sound", said(`"annotations":[{}],"audio":{"id":"a"}`), []string{"answer.annotations", "answer.audio"}},
		{chat, "other choices", `{"id":"c","choices":[{"index":0,"message":{"content":"Yes."}},{"index":1,"message":{"content":"No."}}]}`, []string{"answer.choices"}},
	} {
		a := directions[tt.direction].Answer(upstream([]byte(tt.answer), typeJSON), asked)
		read(a)
		if diff := cmp.Diff(tt.want, a.(*answer).Dropped()); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", tt.direction, tt.name, diff)
		}
	}
	a := directions[message].Answer(upstream([]byte(block(many.String()+`{"type":"text","text":"Yes."}`)), typeJSON), asked)
	read(a)
	if names := a.(*answer).Dropped(); len(names) != MaxDropped || len(names[0]) > maxDroppedBytes+len(more) {
		t.Errorf("%d names such as %q", len(names), names[0])
	}
}

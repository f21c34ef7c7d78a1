package sim

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// anyText finds the texts of an answer in any dialect: the members text and content that are strings.
var anyText = regexp.MustCompile(`"(?:text|content)":"((?:[^"\\]|\\.)*)"`)

func textsOf(body string) string {
	var all strings.Builder
	for _, m := range anyText.FindAllStringSubmatch(body, -1) {
		all.WriteString(m[1])
	}
	return all.String()
}

// A stop sequence ends the text before it, in every dialect, plain and streamed, and the dialect says why the text ended.
func TestStopSequences(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path, body, streamed string // STOP is the member with the sequences
		member, reason       string
	}{
		"chat":       {chatPath, `{"model":"m","messages":[{"role":"user","content":"a"}],STOP}`, "", `"stop":`, `"finish_reason":"stop"`},
		"completion": {completionPath, `{"model":"m","prompt":"a",STOP}`, "", `"stop":`, `"finish_reason":"stop"`},
		"message":    {messagePath, `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"a"}],STOP}`, "", `"stop_sequences":`, `"stop_reason":"stop_sequence","stop_sequence":`},
		"gemini": {"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{STOP}}`, "/v1beta/models/m:streamGenerateContent?alt=sse",
			`"stopSequences":`, `"finishReason":"STOP"`},
		"bedrock": {"/model/m/converse", `{"messages":[{"role":"user","content":[{"text":"a"}]}],"inferenceConfig":{STOP}}`, "/model/m/converse-stream", `"stopSequences":`, `"stopReason":"stop_sequence"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, Config{OutputTokens: 12})
			send := func(path, stop string) string {
				r := newRequest(t.Context(), path, strings.Replace(strings.Replace(tt.body, ",STOP", stop, 1), "STOP", strings.TrimPrefix(stop, ","), 1))
				r.Header.Set("x-goog-api-key", "any")
				r.Header.Set("Authorization", "Bearer any")
				w := do(s, r)
				if w.Code != 200 {
					t.Fatalf("status %d: %s", w.Code, w.Body)
				}
				return w.Body.String()
			}
			whole := textsOf(send(tt.path, ""))
			at := strings.Index(whole, " ") + 20 // within a word
			stop := whole[at : at+7]
			want := whole[:strings.Index(whole, stop)]
			member := "," + tt.member + string(encode([]string{"never", stop}))
			got := send(tt.path, member)
			if textsOf(got) != want || !strings.Contains(got, tt.reason) {
				t.Errorf("%q stops %q as\n%s", stop, whole, got)
			}
			streamed := send(cmp.Or(tt.streamed, tt.path), member+streamMember(tt.streamed))
			if textsOf(streamed) != want || !strings.Contains(streamed, tt.reason) {
				t.Errorf("%q stops %q as\n%s", stop, whole, streamed)
			}
			if name == "message" && !strings.Contains(got, `"stop_sequence":`+quoted(stop)) {
				t.Errorf("the sequence is not named: %s", got)
			}
			if got := textsOf(send(tt.path, ","+tt.member+`["never"]`)); got != whole {
				t.Errorf("a sequence that does not occur changes the text: %q", got)
			}
		})
	}
}

func streamMember(path string) string {
	if path == "" {
		return `,"stream":true`
	}
	return ""
}

func TestStopSequencesAreChecked(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 12})
	text := chatText(t, ask(t, s, chatPath, chatBody("a")))
	for stop, status := range map[string]int{
		`null`: 200, quoted(text[:3]): 200, `["a","b","c","d"]`: 200, `["a","b","c","d","e"]`: 400, `""`: 400, `[""]`: 400, `7`: 400,
	} {
		w := ask(t, s, chatPath, `{"model":"m","messages":[{"role":"user","content":"a"}],"stop":`+stop+`}`)
		if wantStatus(t, w, status); stop == quoted(text[:3]) {
			var c chatCompletion
			if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || *c.Choices[0].Message.Content != "" || c.Usage.CompletionTokens != 0 {
				t.Errorf("%v: %s", err, w.Body)
			}
		}
	}
}

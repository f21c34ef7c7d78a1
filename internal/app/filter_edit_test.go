package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"penstock/internal/dialect/edit"
	"penstock/internal/filter"
)

// masks replaces a word in inputs. In answers it makes text upper case and replaces the arguments of tools. It holds each text back
// until the text is complete.
type masks struct{}

func (masks) Input(_ context.Context, s *filter.Subject) (filter.Verdict, error) {
	if !bytes.Contains(s.Body, []byte("secret")) {
		return filter.Verdict{}, nil
	}
	return filter.Verdict{Action: filter.Edit, Body: bytes.ReplaceAll(s.Body, []byte("secret"), []byte("masked"))}, nil
}

func (masks) Review(*filter.Subject) filter.Review { return masking{} }

// masking is the review of an answer: the texts that it holds back, by their delta without the text.
type masking map[edit.Delta]string

func (m masking) Chunk(_ context.Context, c *filter.Chunk) (filter.Verdict, error) {
	deltas := c.Deltas()
	for i := range deltas {
		d := &deltas[i]
		key := *d
		key.Text, key.Last = "", false
		m[key] += d.Text
		switch {
		case !d.Last:
			d.Text = ""
		case d.Kind == edit.Arguments:
			d.Text = maskedArguments
		default:
			d.Text = strings.ToUpper(m[key])
		}
	}
	return filter.Verdict{Action: filter.Edit}, c.Replace(deltas)
}

const maskedArguments = `{"masked":true}`

var (
	texts      = regexp.MustCompile(`"(?:content|text)":"([^"]+)"`)
	maskedText = regexp.MustCompile(`^[0-9A-F]{8}( [A-Z]+){4}$`)
)

// masked holds that an answer is edited: every text in it is complete and upper case. Each event is JSON.
func masked(t *testing.T, name string, a filterReply) {
	t.Helper()
	found := texts.FindAllStringSubmatch(a.body, -1)
	for _, text := range found {
		if !maskedText.MatchString(text[1]) {
			t.Errorf("%s: %q was not edited in %s", name, text[1], a.body)
		}
	}
	if len(found) == 0 {
		t.Errorf("%s: there is no text in %s", name, a.body)
	}
	validAnswer(t, name, a)
}

// validAnswer holds that an answer is JSON, or events of JSON.
func validAnswer(t *testing.T, name string, a filterReply) {
	t.Helper()
	if !strings.Contains(a.header.Get("Content-Type"), "event-stream") {
		if !json.Valid([]byte(a.body)) {
			t.Errorf("%s: no JSON: %s", name, a.body)
		}
		return
	}
	for line := range strings.Lines(a.body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]\n" && !json.Valid([]byte(data)) {
			t.Errorf("%s: no JSON: %s", name, data)
		}
	}
}

// An edited input is the input that runs, on every way in. An edited answer is the answer that callers, caches and stores receive.
func TestFiltersEdit(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t, masks{})
	use := []string{"x-penstock-cache", "use"}
	for _, stream := range []string{"", `,"stream":true`} {
		masked(t, "miss", r.post("/v1/chat/completions", message("fast", "secret", stream), use...))
		hit := r.post("/v1/chat/completions", message("fast", "masked", stream), use...)
		if masked(t, "hit", hit); hit.header.Get("x-penstock-cache") != "hit" {
			t.Errorf("the cache was asked before the input was edited: %q", hit.header.Get("x-penstock-cache"))
		}
	}
	for name, job := range map[string]filterReply{
		"job":               r.job(`{"model":"fast","input":"secret"}`),
		"job that is shown": r.job(`{"model":"fast","input":"secret","stream":true}`),
		"line": r.job(fmt.Sprintf(`{"model":"fast","input_file":%q}`,
			r.upload(`{"custom_id":"a","body":{"messages":[{"role":"user","content":"secret"}]}}`+"\n"))),
	} {
		masked(t, name, r.do(http.MethodGet, "/v1/jobs/"+job.member(t, "id")+"/results", ""))
		if name == "job that is shown" {
			masked(t, "deltas of a job", r.do(http.MethodGet, "/v1/jobs/"+job.member(t, "id")+"/events", "", "Accept", "text/event-stream"))
		}
	}
	if secret, masked := r.executions("secret"), r.executions("masked"); secret != 0 || masked != 5 {
		t.Errorf("the upstream got %d inputs that were not edited and %d that were, want 0 and 5", secret, masked)
	}
}

// An answer is edited in the format that its caller receives, plain and streamed, translated or not.
func TestFiltersEditEveryFormat(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t, masks{})
	for _, stream := range []string{"", `,"stream":true`} {
		for path, body := range map[string]string{
			"/v1/chat/completions": message("fast", "Hi", stream),
			"/v1/completions":      `{"model":"fast","prompt":"Hi"` + stream + `}`,
			"/v1/messages":         message("claude", "Hi", stream),
			"/v1/responses":        `{"model":"fast","input":"Hi","store":false` + stream + `}`,
		} {
			masked(t, path+stream, r.post(path, body))
		}
		masked(t, "translated"+stream, r.post("/v1/chat/completions", message("claude", "Hi", stream)))
	}
}

func TestFiltersEditToolArguments(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t, masks{})
	function := `,"tool_choice":"required","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	quoted := fmt.Sprintf("%q", maskedArguments)
	for _, stream := range []string{"", `,"stream":true`} {
		input := `"input":` + maskedArguments
		if stream != "" {
			input = `"partial_json":` + quoted
		}
		for _, tt := range []struct{ name, path, body, want string }{
			{"chat", "/v1/chat/completions", message("fast", "Hi", function+stream), `"arguments":` + quoted},
			{"chat, translated", "/v1/chat/completions", message("claude", "Hi", function+stream), `"arguments":` + quoted},
			{"message", "/v1/messages", message("claude", "Hi", `,"tool_choice":{"type":"any"},"tools":[{"name":"f","input_schema":{"type":"object"}}]`+stream), input},
			{"response", "/v1/responses", `{"model":"fast","input":"Hi","store":false,"tool_choice":"required","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]` + stream + `}`, `"arguments":` + quoted},
		} {
			a := r.post(tt.path, tt.body)
			if strings.Count(a.body, tt.want) == 0 || strings.Contains(a.body, `"arguments":"{}"`) || strings.Contains(a.body, `"arguments":"{"`) {
				t.Errorf("%s%s: the arguments were not replaced by %s: %s", tt.name, stream, tt.want, a.body)
			}
			validAnswer(t, tt.name, a)
		}
	}
}

// Embeddings hold no text: a filter that edits every text leaves each byte of them.
func TestFiltersLeaveEmbeddingsAlone(t *testing.T) {
	t.Parallel()
	edited, passed := newFilterRig(t, masks{}), newFilterRig(t)
	for _, model := range []string{"fast", "vectors"} {
		for _, format := range []string{"float", "base64"} {
			body := fmt.Sprintf(`{"model":%q,"input":["Hi","there"],"encoding_format":%q}`, model, format)
			got, want := edited.post("/v1/embeddings", body), passed.post("/v1/embeddings", body)
			if got.body != want.body || !strings.Contains(got.body, `"embedding":`) {
				t.Errorf("%s: got %s, want %s", body, got.body, want.body)
			}
		}
	}
}

// A ranking holds the texts of its documents, which filters edit, and numbers, which they leave.
func TestFiltersEditDocuments(t *testing.T) {
	t.Parallel()
	edited, passed := newFilterRig(t, masks{}), newFilterRig(t)
	const body = `{"model":"fast","query":"Hi","documents":["there","Hi you"],"return_documents":true}`
	got, want := edited.post("/v1/rerank", body), passed.post("/v1/rerank", body)
	if !strings.Contains(want.body, `"document":{"text":"Hi you"}`) || strings.Contains(got.body, "Hi you") || !strings.Contains(got.body, `"results":[{"index":1,"relevance_score":1,`) {
		t.Errorf("got %s, from %s", got.body, want.body)
	}
	edited.post("/v1/rerank", `{"model":"fast","query":"Hi","documents":["there"]}`)
	validAnswer(t, "rerank", got)
}

// blocksAfter blocks an answer once it has seen a number of texts.
type blocksAfter int

func (b blocksAfter) Review(*filter.Subject) filter.Review { return &b }

func (b *blocksAfter) Chunk(_ context.Context, c *filter.Chunk) (filter.Verdict, error) {
	if *b -= blocksAfter(len(c.Deltas())); *b < 0 {
		return filter.Verdict{Action: filter.Block, Reason: "It is not to be seen."}, nil
	}
	return filter.Verdict{}, nil
}

// A block in the middle of a stream ends the stream with an error in the format of the caller. The blocked text and all after it are
// not sent.
func TestFiltersBlockWithinAStream(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t, blocksAfter(2))
	for path, body := range map[string]string{
		"/v1/chat/completions": message("fast", "Hi", `,"stream":true`),
		"/v1/messages":         message("claude", "Hi", `,"stream":true`),
		"/v1/responses":        `{"model":"fast","input":"Hi","store":false,"stream":true}`,
	} {
		a := r.post(path, body)
		validAnswer(t, path, a)
		deltas := regexp.MustCompile(`"(?:content|text|delta)":"[^"]+"`).FindAllString(a.body, -1)
		if len(deltas) != 2 || !strings.Contains(a.body, "It is not to be seen.") || strings.Contains(a.body, "[DONE]") || strings.Contains(a.body, "message_stop") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

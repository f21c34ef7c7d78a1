package api

import (
	"net/http"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/rest"
)

// A job takes the shapes that callers know from other APIs, and runs the same body for each.
func TestFamiliarShapesOfInputs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const hi = `{"messages":[{"role":"user","content":"Hi"}]}`
	for name, job := range map[string]struct {
		body string
		want []string
	}{
		"messages":              {`{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`, []string{hi}},
		"messages and defaults": {`{"model":"fast","messages":[],"defaults":{"max_tokens":5}}`, []string{`{"messages":[],"max_tokens":5}`}},
		"messages of Anthropic": {`{"model":"fast","endpoint":"/v1/messages","messages":[]}`, []string{`{"messages":[],"max_tokens":4096}`}},
		"messages of a response": {`{"model":"fast","endpoint":"/v1/responses","messages":[{"role":"user","content":"Hi"}]}`,
			[]string{`{"store":false,"input":[{"role":"user","content":"Hi"}]}`}},
		"strings":             {`{"model":"fast","inputs":["Hi","\u0022Yes\u0022"]}`, []string{hi, `{"messages":[{"role":"user","content":"\"Yes\""}]}`}},
		"strings and objects": {`{"model":"fast","inputs":["Hi",{"custom_id":"b","body":{"messages":[]}},{"body":"Hi"}]}`, []string{hi, `{"messages":[]}`, hi}},
	} {
		a := r.post("/v1/jobs", job.body)
		if a.status != http.StatusAccepted {
			t.Errorf("%s: %d %s", name, a.status, a.body)
			continue
		}
		sub := r.store.got[len(r.store.got)-1]
		for i, want := range job.want {
			if got := string(sub.Items[i].Body); got != want {
				t.Errorf("%s: item %d is %s, want %s", name, i, got, want)
			}
		}
	}
}

// Names of other APIs are answered with the name that is meant.
func TestHintsForNearMisses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for body, want := range map[string]string{
		`{"model":"fast","prompt":"Hi"}`:                                   `a plain prompt goes into input.`,
		`{"model":"fast","input":"Hi","metadata":{}}`:                      `Unknown field metadata; did you mean "tags"?`,
		`{"model":"fast","input":"Hi","webhook_url":""}`:                   `did you mean "webhook": {"url": "https://…"}?`,
		`{"model":"fast","input":"Hi","temperature":1}`:                    `temperature is a member of a body; put it into "defaults": {…}.`,
		`{"model":"fast","input":"Hi","idempotency_key":"k"}`:              `send it as the header Idempotency-Key.`,
		`{"model":"fast","input":"Hi","lnae":"bulk"}`:                      `did you mean "lane"?`,
		`{"model":"fast","inputs":["Hi",3]}`:                               `inputs[1] must be a string or an object, not `,
		`{"model":"fast","inputs":[{"prompt":"Hi"}]}`:                      `Unknown field inputs[0].prompt; did you mean "body"?`,
		`{"model":"fast","inputs":[{"messages":[]}]}`:                      `messages is a member of a body; put it into {"body": {…}}.`,
		`{"model":"fast","inputs":[{"id":"a","body":{}}]}`:                 `did you mean "custom_id"?`,
		`{"model":"fast","input":[{"role":"user","content":"Hi"}]}`:        `Send messages as "messages"`,
		`{"model":"fast","messages":"Hi"}`:                                 `a plain prompt goes into input.`,
		`{"model":"fast","endpoint":"/v1/completions","messages":[]}`:      `/v1/completions takes a prompt; give it as input.`,
		`{"model":"fast","messages":[],"input":"Hi"}`:                      `Both input and messages are given`,
		`{"model":"fast","input_file":"file_1","messages":[{"role":"u"}]}`: `input_file is given together with`,
	} {
		if a := r.post("/v1/jobs", body); a.status != 400 || !strings.Contains(strings.ReplaceAll(a.body, `\"`, `"`), want) {
			t.Errorf("%s: %d %s, want %q", body, a.status, a.body, want)
		}
	}
}

func TestHintsForNearPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, want := range map[string]string{
		"/chat/completions":       "did you mean /v1/chat/completions?",
		"/v1/v1/messages":         "did you mean /v1/messages?",
		"/v1/jobs/":               "did you mean /v1/jobs?",
		"/v1/job":                 "did you mean /v1/jobs?",
		"/openai/v1/embeddings":   "did you mean /v1/embeddings?",
		"/v1/elsewhere":           "GET /openapi.json lists the endpoints.",
		"/v2/models/x/infer":      "GET /openapi.json lists the endpoints.",
		"//evil.example/v1/jobs/": "GET /openapi.json lists the endpoints.",
	} {
		a := r.post(path, "{}")
		if a.status != rest.Status(penstock.CodeNotFound) || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s, want %q", path, a.status, a.body, want)
		}
	}
}

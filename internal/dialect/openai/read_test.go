package openai

import (
	"fmt"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/dialect"
)

func TestReadOthers(t *testing.T) {
	t.Parallel()
	type read = func([]byte) (dialect.Inference, error)
	for _, tt := range []struct {
		name string
		read read
		body string
		want dialect.Inference
	}{
		{"completion", ReadCompletion, `{"model":"m","prompt":"a","max_tokens":7,"stream":true}`, dialect.Inference{Model: "m", Stream: true, MaxOutputTokens: 7, Choices: 1}},
		{"several answers", ReadCompletion, `{"n":2,"best_of":5}`, dialect.Inference{Choices: 5}},
		{"several prompts", ReadCompletion, `{"prompt":["a","b","c"],"n":2}`, dialect.Inference{Choices: 6}},
		{"one prompt of tokens", ReadCompletion, `{"prompt":[1,2,3]}`, dialect.Inference{Choices: 1}},
		{"prompts of tokens", ReadCompletion, `{"prompt":[[1,2],[3]]}`, dialect.Inference{Choices: 2}},
		{"no prompts", ReadCompletion, `{"prompt":[]}`, dialect.Inference{Choices: 1}},
		{"usage is wanted", ReadCompletion, `{"stream_options":{"include_usage":true}}`, dialect.Inference{IncludeUsage: true, Choices: 1}},
		{"usage of a chat", ReadChat, `{"stream_options":{"include_usage":true}}`, dialect.Inference{IncludeUsage: true, Choices: 1}},
		{"no wish", ReadChat, `{"stream_options":7}`, dialect.Inference{Choices: 1}},
		{"embedding", ReadEmbedding, `{"model":"m","input":["a"],"stream":false}`, dialect.Inference{Model: "m", Choices: 1, Silent: true}},
		{"response", ReadResponse, `{"model":"m","max_output_tokens":7,"stream":true,"store":false}`, dialect.Inference{Model: "m", Stream: true, MaxOutputTokens: 7, Choices: 1}},
		{"response with nulls", ReadResponse, `{"store":false,"background":null,"previous_response_id":null}`, dialect.Inference{Choices: 1}},
	} {
		got, err := tt.read([]byte(tt.body))
		if string(got.Object.Text) != tt.body {
			t.Errorf("%s: the body became %s", tt.name, got.Object.Text)
		}
		got.Object, got.Format = tt.want.Object, nil
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestReadOthersNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		read  func([]byte) (dialect.Inference, error)
		body  string
		param string
	}{
		{ReadCompletion, `{"best_of":129}`, "best_of"},
		{ReadCompletion, `{"prompt":[` + strings.Repeat(`"",`, dialect.MaxPrompts) + `""]}`, "prompt"},
		{ReadEmbedding, `{"stream":true}`, "stream"},
		{ReadEmbedding, `[]`, "body"},
		{ReadResponse, `{"store":true}`, "store"},
		{ReadResponse, `{"background":true}`, "background"},
		{ReadResponse, `{"store":"no"}`, "store"},
		{ReadResponse, `{"previous_response_id":"resp_1"}`, "previous_response_id"},
		{ReadResponse, `{"conversation":{"id":"c"}}`, "conversation"},
		{ReadResponse, `{"max_output_tokens":"x"}`, "max_output_tokens"},
	} {
		if _, err := tt.read([]byte(tt.body)); err == nil || penstock.AsError(err).Param != tt.param {
			t.Errorf("%.60s: %v, want a complaint about %s", tt.body, err, tt.param)
		}
	}
}

// Upstreams keep responses unless they are told not to.
func TestResponsesAreNotKept(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"model":"m", "input":"a"}`: `{"store":false,"model":"m", "input":"a"}`,
		`{"store":null}`:             `{"store":false}`,
		`{}`:                         `{"store":false}`,
		`{"store": false }`:          `{"store": false }`,
	} {
		if got, err := ReadResponse([]byte(body)); err != nil || string(got.Object.Text) != want {
			t.Errorf("%s: %s, %v; want %s", body, got.Object.Text, err, want)
		}
	}
}

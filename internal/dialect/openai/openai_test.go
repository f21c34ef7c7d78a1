package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/dialect"
)

func TestReadChat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		body string
		want dialect.Inference
	}{
		{"empty", `{}`, dialect.Inference{}},
		{"the usual", `{"model":"fast","messages":[],"max_tokens":7}`, dialect.Inference{Model: "fast", MaxOutputTokens: 7}},
		{"a stream", `{"model":"fast","stream":true}`, dialect.Inference{Model: "fast", Stream: true}},
		{"no stream", `{"stream":false}`, dialect.Inference{}},
		{"nulls", `{"model":null,"stream":null,"max_tokens":null,"max_completion_tokens":null}`, dialect.Inference{}},
		{"escapes", `{"model":"f\u0061st"}`, dialect.Inference{Model: "fast"}},
		{"the newer name", `{"max_completion_tokens":9}`, dialect.Inference{MaxOutputTokens: 9}},
		{"both names: the larger is the bound", `{"max_tokens":3,"max_completion_tokens":9}`, dialect.Inference{MaxOutputTokens: 9}},
		{"both names, the other way", `{"max_tokens":9,"max_completion_tokens":3}`, dialect.Inference{MaxOutputTokens: 9}},
		{"the largest number", `{"max_tokens":16777216}`, dialect.Inference{MaxOutputTokens: dialect.MaxOutputTokens}},
		{"names inside are others", `{"metadata":{"model":"x","stream":true,"max_tokens":1}}`, dialect.Inference{}},
		{"other names pass", `{"mode":"x","streams":true}`, dialect.Inference{}},
		{"white space", " {\n\t\"model\" : \"fast\" }\n", dialect.Inference{Model: "fast"}},
	} {
		got, err := ReadChat([]byte(tt.body))
		if string(got.Object.Text) != tt.body {
			t.Errorf("%s: the body became %s", tt.name, got.Object.Text)
		}
		got.Object = tt.want.Object
		if err != nil || got.Model != tt.want.Model || got.Stream != tt.want.Stream || got.MaxOutputTokens != tt.want.MaxOutputTokens {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestReadChatNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, param string }{
		{"nothing", ``, "body"},
		{"not JSON", `{"model":}`, "body"},
		{"not an object", `[]`, "body"},
		{"a string", `"hi"`, "body"},
		{"cut off", `{"model":"fast"`, "body"},
		{"more than one object", `{} {}`, "body"},
		{"a name twice", `{"model":"a","model":"b"}`, "body"},
		{"a name twice in disguise", `{"model":"a","mod\u0065l":"b"}`, "body"},
		{"broken UTF-8", "{\"model\":\"\xff\"}", "body"},

		{"model is a number", `{"model":7}`, "model"},
		{"model is an object", `{"model":{}}`, "model"},
		{"stream is a string", `{"stream":"true"}`, "stream"},
		{"stream is a number", `{"stream":1}`, "stream"},
		{"max_tokens is a string", `{"max_tokens":"7"}`, "max_tokens"},
		{"max_tokens is a fraction", `{"max_tokens":1.5}`, "max_tokens"},
		{"max_tokens is negative", `{"max_tokens":-1}`, "max_tokens"},
		{"max_tokens does not fit", `{"max_tokens":9223372036854775808}`, "max_tokens"},
		{"the newer name is beyond any model", `{"max_completion_tokens":16777217}`, "max_completion_tokens"},
		{"max_tokens is beyond any model", `{"max_tokens":16777217}`, "max_tokens"},
		{"n is beyond any model", `{"n":129}`, "n"},
		{"n is zero", `{"n":0}`, "n"},
		{"n is text", `{"n":"3"}`, "n"},
		{"the newer name is wrong", `{"max_tokens":1,"max_completion_tokens":[]}`, "max_completion_tokens"},
		{"two are wrong: the first is told", `{"max_completion_tokens":"x","stream":7}`, "stream"},
	} {
		_, err := ReadChat([]byte(tt.body))
		e := penstock.AsError(err)
		if err == nil || e.Code != penstock.CodeInvalidRequest || e.Param != tt.param {
			t.Errorf("%s: %+v; want invalid_request for %s", tt.name, e, tt.param)
			continue
		}
		if strings.Contains(e.Message, "\n") || !utf8.ValidString(e.Message) || !strings.HasSuffix(e.Message, ".") {
			t.Errorf("%s: message %q", tt.name, e.Message)
		}
	}
}

// n asks for several answers to one prompt; each of them may take max_tokens.
func TestReadChatCountsChoices(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{`{}`: 1, `{"n":null}`: 1, `{"n":1}`: 1, `{"n":3}`: 3} {
		if got, err := ReadChat([]byte(text)); err != nil || got.Choices != want {
			t.Errorf("%s asks for %d choices, %v; want %d", text, got.Choices, err, want)
		}
	}
}

func TestChatQuestion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		question := rapid.String().Draw(t, "question")
		text, err := ChatQuestion(question)
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(text, &body); err != nil || len(body.Messages) != 1 ||
			body.Messages[0].Role != "user" || body.Messages[0].Content != question {
			t.Fatalf("%q became %s: %v", question, text, err)
		}
		if call, err := ReadChat(text); err != nil || call.Model != "" || call.Stream {
			t.Fatalf("%s is read as %+v, %v", text, call, err)
		}
	})
}

func TestModelList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, `{"object":"list","data":[]}`},
		{[]string{"fast", "smart"}, `{"object":"list","data":[` +
			`{"id":"fast","object":"model","created":0,"owned_by":"penstock"},` +
			`{"id":"smart","object":"model","created":0,"owned_by":"penstock"}]}`},
	} {
		if got, err := json.Marshal(NewModelList(tt.names)); err != nil || string(got) != tt.want {
			t.Errorf("%v: %s, %v; want %s", tt.names, got, err, tt.want)
		}
	}
}

func FuzzReadChat(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"model":"fast","stream":true,"max_tokens":7}`, `{"max_tokens":1e3}`, `{"model":"\ud800"}`, `[`, `{"a":{"b":[1,2]}} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		call, err := ReadChat(text)
		if string(text) != before {
			t.Error("the body was changed")
		}
		if err != nil {
			if e := penstock.AsError(err); e.Code != penstock.CodeInvalidRequest || e.Param == "" || !utf8.ValidString(e.Message) {
				t.Errorf("error %+v", e)
			}
			return
		}
		if !json.Valid(text) || call.MaxOutputTokens < 0 || !utf8.ValidString(call.Model) {
			t.Errorf("%q was read as %+v", text, call)
		}
	})
}

package openai

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

func TestOneAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"input":"a","store":true}`:                                 `{"input":"a","store":false}`,
		`{"background":true,"input":"a"}`:                            `{"store":false,"background":false,"input":"a"}`,
		`{"input":"a","store":true,"stream":true,"background":true}`: `{"input":"a","store":false,"stream":false,"background":false}`,
	} {
		got, err := OneAnswer([]byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		if _, err := ReadResponse(got); err != nil {
			t.Errorf("%s cannot be run: %v", got, err)
		}
	}
}

// An upstream that keeps nothing is asked for its reasoning, where there is any.
func TestUnkept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"input":"a"}`:                                                            `{"store":false,"input":"a"}`,
		`{"store":true,"reasoning":null}`:                                          `{"store":false,"reasoning":null}`,
		`{"store":null,"reasoning":{}}`:                                            `{"include":["reasoning.encrypted_content"],"store":false,"reasoning":{}}`,
		`{"store":null,"reasoning":{},"include":null}`:                             `{"store":false,"reasoning":{},"include":["reasoning.encrypted_content"]}`,
		`{"store":null,"reasoning":{},"include":[ ]}`:                              `{"store":false,"reasoning":{},"include":["reasoning.encrypted_content" ]}`,
		`{"store":null,"reasoning":{},"include":["x"]}`:                            `{"store":false,"reasoning":{},"include":["reasoning.encrypted_content","x"]}`,
		`{"reasoning":{},"include":["reasoning.encrypted_content"],"store":false}`: `{"reasoning":{},"include":["reasoning.encrypted_content"],"store":false}`,
	} {
		if got, err := Unkept([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

func values(texts ...string) (all []jsontext.Value) {
	for _, text := range texts {
		all = append(all, jsontext.Value(text))
	}
	return all
}

func TestResolve(t *testing.T) {
	t.Parallel()
	items := values(
		`{"role":"user","content":"Hi"}`,
		`{"type":"item_reference","id":"msg_1"}`,
		`{"id":"fc_1"}`,
		`{"id":"fc_1","type":null}`,
		`{"type":"reasoning","id":"rs_1","summary":[]}`,
		`{"type":"reasoning","id":"rs_2","summary":[]}`,
		`{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"mine"}`,
		`{"type":"message","id":"msg_2","role":"assistant","content":"mine"}`,
	)
	references, err := References("input", items)
	if got := strings.Join(references, " "); got != "fc_1 msg_1 rs_1 rs_2" || err != nil {
		t.Errorf("the references are %s, %v", got, err)
	}
	found := map[string]jsontext.Value{
		"msg_1": jsontext.Value(`{"type":"message","id":"msg_1","role":"assistant","content":"Yes"}`),
		"fc_1":  jsontext.Value(`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`),
		"rs_1":  jsontext.Value(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}`),
	}
	got, err := Resolve("input", items, found)
	const call = `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
	want := `[{"role":"user","content":"Hi"},{"type":"message","role":"assistant","content":"Yes"},` + call + `,` + call +
		`,{"type":"reasoning","summary":[],"encrypted_content":"sealed"},` + string(items[6]) + `,` + string(items[7]) + `]`
	if JoinItems(got) != want || err != nil {
		t.Errorf("%v\n%s, want\n%s", err, JoinItems(got), want)
	}
	delete(found, "fc_1")
	if _, err := Resolve("items", items, found); penstock.ErrorCode(err) != penstock.CodeNotFound || penstock.AsError(err).Param != "items[2].id" {
		t.Errorf("a reference to nothing: %v", err)
	}
}

func TestReferenceWithoutID(t *testing.T) {
	t.Parallel()
	for _, item := range []string{`{"type":"item_reference"}`, `{"type":"item_reference","id":""}`, `{"type":"item_reference","id":7}`} {
		_, err := References("input", values(`{"role":"user","content":"Hi"}`, item))
		if penstock.ErrorCode(err) != penstock.CodeInvalidRequest || penstock.AsError(err).Param != "input[1].id" {
			t.Errorf("%s: %v", item, err)
		}
	}
}

func TestCheckItem(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		`{"role":"developer","content":"Hi"}`:                  "",
		`{"type":"message","role":"assistant","content":"Hi"}`: "",
		`{"type":"function_call_output","call_id":"c"}`:        "",
		`{"type":"web_search_call","id":"ws_1"}`:               "",
		`7`:                                                    "an object",
		`{}`:                                                   "a role or a type",
		`{"content":"Hi"}`:                                     "a role or a type",
		`{"role":"king","content":"Hi"}`:                       "the role user",
		`{"type":"message","content":"Hi"}`:                    "the role user",
	} {
		if got := CheckItem(jsontext.Value(item)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", item, got, want)
		}
	}
}

func TestListedItem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"role":"user","content":"Hi"}`:                                      `{"id":"x","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"Hi"}]}`,
		`{"role":"assistant","type":"message","content":"Hi"}`:                `{"id":"x","status":"completed","role":"assistant","type":"message","content":[{"type":"output_text","text":"Hi","annotations":[]}]}`,
		`{"id":"y","type":"function_call_output","call_id":"c","output":"7"}`: `{"id":"x","type":"function_call_output","call_id":"c","output":"7"}`,
	} {
		if got := string(ListedItem(jsontext.Value(text), "x")); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

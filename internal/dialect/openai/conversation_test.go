package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock"
)

func TestGoOn(t *testing.T) {
	t.Parallel()
	const answer = `{"id":"r","output":[{"id":"rs_1","type":"reasoning","summary":[]},` +
		`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}]}`
	const said = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}`
	for name, tc := range map[string]struct{ text, asked, answered, want string }{
		"questions": {
			`{"model":"m","input":"Why?","previous_response_id":"resp_1"}`, `{"model":"m","input":"Is it \"so\"?","instructions":"Be brief."}`, answer,
			`{"model":"m","input":[{"role":"user","content":"Is it \"so\"?"},` + said + `,{"role":"user","content":"Why?"}],"previous_response_id":null}`,
		},
		"items": {
			`{"previous_response_id":"resp_1","input":[{"role":"user","content":"C"}]}`, `{"input":[ {"role":"user","content":"A"}, {"role":"assistant","content":"B"}]}`, answer,
			`{"previous_response_id":null,"input":[{"role":"user","content":"A"},{"role":"assistant","content":"B"},` + said + `,{"role":"user","content":"C"}]}`,
		},
		"the result of a tool": {
			`{"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"c","output":"7"}]}`, `{"input":"Look."}`,
			`{"output":[{"type":"reasoning","id":"rs_1","encrypted_content":"x"},{"type":"function_call","id":"fc_1","call_id":"c","name":"look","arguments":"{}"}]}`,
			`{"previous_response_id":null,"input":[{"role":"user","content":"Look."},{"type":"reasoning","encrypted_content":"x"},` +
				`{"type":"function_call","call_id":"c","name":"look","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"7"}]}`,
		},
		"nothing new": {`{"previous_response_id":"resp_1"}`, `{"input":"A"}`, `{}`, `{"input":[{"role":"user","content":"A"}],"previous_response_id":null}`},
	} {
		earlier, err := Turn{[]byte(tc.asked), []byte(tc.answered)}.Items()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now, err := ReadOptions([]byte(tc.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := GoOn([]byte(tc.text), earlier, now.Items)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, got, tc.want)
		}
		if _, err := ReadResponse(got); err != nil {
			t.Errorf("%s: %s cannot be run: %v", name, got, err)
		}
	}
	if _, err := ReadOptions([]byte(`{"input":7}`)); penstock.AsError(err).Param != "input" {
		t.Errorf("an input that is none: %v", err)
	}
}

func TestReadOptions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ResponseOptions{
		`{}`: {}, `{"previous_response_id":null,"conversation":null,"store":null}`: {},
		`{"previous_response_id":"resp_1"}`: {Previous: "resp_1"},
		`{"store":true}`:                    {Stored: true, StoreGiven: true}, `{"store":false}`: {StoreGiven: true},
		`{"conversation":"conv_1"}`: {Conversation: "conv_1"}, `{"conversation":{"id":"conv_1"}}`: {Conversation: "conv_1"},
		`{"background":true,"stream":true}`: {Background: true, Stream: true}, `{"conversation":"c","background":true}`: {Conversation: "c", Background: true},
	} {
		got, err := ReadOptions([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", text, err, diff)
		}
	}
	for text, param := range map[string]string{
		`{"previous_response_id":7}`: previous, `{"conversation":7}`: conversation, `{"conversation":{}}`: conversation, `{"background":true,"store":false}`: "store",
		`{"conversation":"c","previous_response_id":"r"}`: conversation, `{"store":"yes"}`: "store",
	} {
		if _, err := ReadOptions([]byte(text)); err == nil || penstock.AsError(err).Param != param {
			t.Errorf("%s: %v, want an error about %s", text, err, param)
		}
	}
}

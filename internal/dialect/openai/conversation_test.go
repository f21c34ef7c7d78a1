package openai

import (
	"testing"

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
		got, err := GoOn([]byte(tc.text), Turn{[]byte(tc.asked), []byte(tc.answered)})
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, got, tc.want)
		}
		if _, err := ReadResponse(got); err != nil {
			t.Errorf("%s: %s cannot be run: %v", name, got, err)
		}
	}
	if _, err := GoOn([]byte(`{"input":7}`), Turn{[]byte(`{}`), []byte(`{}`)}); penstock.AsError(err).Param != "input" {
		t.Errorf("an input that is none: %v", err)
	}
}

func TestPreviousResponse(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{`{}`: "", `{"previous_response_id":null}`: "", `{"previous_response_id":"resp_1"}`: "resp_1"} {
		if id, err := PreviousResponse([]byte(body)); id != want || err != nil {
			t.Errorf("%s: %q, %v", body, id, err)
		}
	}
	if _, err := PreviousResponse([]byte(`{"previous_response_id":7}`)); penstock.AsError(err).Param != previous {
		t.Errorf("a number: %v", err)
	}
}

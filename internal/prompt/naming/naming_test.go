package naming

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"penstock"
)

func TestParseMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ member, text, param string }{
		{`{"name":"support/answer"}`, "support/answer@production", ""},
		{`{"name":"support/answer","label":"canary"}`, "support/answer@canary", ""},
		{`{"name":"support/answer","version":7}`, "support/answer@7", ""},
		{`{"name":"support/answer","version":"7"}`, "support/answer@7", ""},
		{`{"name":"a","label":null,"version":null,"variables":null}`, "a@production", ""},
		{`{"id":"pmpt_68a1","version":"2"}`, "pmpt_68a1@2", ""},
		{`{"id":"pmpt_68a1","version":"canary","variables":{"a":"b"}}`, "pmpt_68a1@canary", ""},
		{`{"id":"pmpt_68a1"}`, "pmpt_68a1@production", ""},
		{`{}`, "", "prompt.name"},
		{`{"name":7}`, "", "prompt.name"},
		{`{"name":"a//b"}`, "", "prompt.name"},
		{`{"name":"a","id":"pmpt_1"}`, "", "prompt.id"},
		{`{"id":"gone"}`, "", "prompt.id"},
		{`{"id":"pmpt_"}`, "", "prompt.id"},
		{`{"id":"pmpt_a b"}`, "", "prompt.id"},
		{`{"name":"a","label":"x","version":1}`, "", "prompt.version"},
		{`{"name":"a","label":"7"}`, "", "prompt.label"},
		{`{"name":"a","version":0}`, "", "prompt.version"},
		{`{"name":"a","version":1.5}`, "", "prompt.version"},
		{`{"name":"a","version":true}`, "", "prompt.version"},
		{`{"name":"a","variables":[]}`, "", "prompt.variables"},
		{`{"name":"a","varaibles":{}}`, "", "prompt.varaibles"},
		{`{"name":"a","name":"b"}`, "", "prompt"},
		{`[]`, "", "prompt"},
	} {
		u, err := ParseMember([]byte(tt.member))
		if e := penstock.AsError(err); (err != nil) != (tt.param != "") || err != nil && (e.Code != penstock.CodeInvalidRequest || e.Param != tt.param) {
			t.Errorf("%s: %v, want an error about %q", tt.member, err, tt.param)
			continue
		}
		if err == nil && u.String() != tt.text {
			t.Errorf("%s: %s, want %s", tt.member, u.String(), tt.text)
		}
	}
}

func TestParseHeader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ reference, variables, text, kept, param string }{
		{"support/answer", "", "support/answer@production", "", ""},
		{" support/answer@7 ", `{"a":"50%20"}`, "support/answer@7", `{"a":"50%20"}`, ""},
		{"pmpt_1@canary", `%7B%22a%22%3A%22%C3%A9%22%7D`, "pmpt_1@canary", `{"a":"é"}`, ""},
		{"a", `["x"]`, "", "", "variables"},
		{"a", `%7B%zz`, "", "", "variables"},
		{"a", `{"a":`, "", "", "variables"},
		{"a@", "", "", "", "label"},
		{"", "", "", "", "name"},
		{"pmpt_!", "", "", "", "id"},
	} {
		u, err := ParseHeader(tt.reference, tt.variables)
		if e := penstock.AsError(err); (err != nil) != (tt.param != "") || err != nil && e.Param != tt.param {
			t.Errorf("%q %q: %v, want an error about %q", tt.reference, tt.variables, err, tt.param)
			continue
		}
		if err == nil && (u.String() != tt.text || string(u.Variables) != tt.kept) {
			t.Errorf("%q %q: %s %s", tt.reference, tt.variables, u, u.Variables)
		}
	}
}

// Parts of OpenAI's form are values. In the native form an object is a value as it is.
func TestValues(t *testing.T) {
	t.Parallel()
	const parts = `{"a":"x","b":{"type":"input_text","text":"y"},"c":{"type":"input_image","image_url":"https://x.example/a.png"},"d":{"type":"order"}}`
	u, err := ParseMember([]byte(`{"id":"pmpt_1","variables":` + parts + `}`))
	if err != nil {
		t.Fatal(err)
	}
	values, err := u.Values()
	want := map[string]any{"a": "x", "b": "y", "c": "https://x.example/a.png", "d": map[string]any{"type": "order"}}
	if err != nil || !reflect.DeepEqual(values, want) {
		t.Errorf("%v %v", values, err)
	}
	if u, err = ParseMember([]byte(`{"name":"p","variables":` + parts + `}`)); err != nil {
		t.Fatal(err)
	}
	if values, err = u.Values(); err != nil || reflect.DeepEqual(values["b"], "y") {
		t.Errorf("the native form: %v %v", values, err)
	}
	for _, part := range []string{`{"type":"input_file","file_id":"file-1"}`, `{"type":"input_image","file_id":"file-1"}`, `{"type":"input_audio"}`, `{"type":"input_text"}`} {
		u, err := ParseMember([]byte(`{"id":"pmpt_1","variables":{"doc":` + part + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Values(); penstock.AsError(err).Param != "variables.doc" {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// BenchmarkName is what reading the name of a prompt costs a call.
func BenchmarkName(b *testing.B) {
	member := []byte(`{"name":"support/answer","label":"production","variables":{"brand":"Acme","question":"Where is my order?"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseMember(member); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzParseMember holds that a use which was read is written and read as the same, and that nothing panics.
func FuzzParseMember(f *testing.F) {
	for _, seed := range []string{`{"name":"a/b","label":"x","variables":{"a":1}}`, `{"id":"pmpt_1","version":"2"}`, `{"name":"a","version":3}`, `{"name":"\u0061"}`, `{}`, `[`, `{"variables":{"a":{"type":"input_text","text":"{{x}}"}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, member string) {
		u, err := ParseMember([]byte(member))
		if err != nil {
			return
		}
		text, err := u.Member()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseMember(text)
		if err != nil || again.String() != u.String() {
			t.Fatalf("%s became %s: %v", member, text, err)
		}
		if r, err := Parse(u.String()); err != nil || r.String() != u.String() {
			t.Fatalf("the text %s is read as %s: %v", u, r, err)
		}
		if len(u.Variables) > 0 && !json.Valid(again.Variables) {
			t.Fatalf("the variables %s became %s", u.Variables, again.Variables)
		}
		_, _ = u.Values()
	})
}

// FuzzParseHeader holds that no header panics, and that variables are an object.
func FuzzParseHeader(f *testing.F) {
	f.Add("a/b@7", `{"a":1}`)
	f.Add("pmpt_1", `%7B%7D`)
	f.Fuzz(func(t *testing.T, reference, variables string) {
		u, err := ParseHeader(reference, variables)
		if err == nil && len(u.Variables) > 0 && !strings.HasPrefix(strings.TrimSpace(string(u.Variables)), "{") {
			t.Fatalf("%q are variables", u.Variables)
		}
	})
}

package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/preset"
)

func TestPatchBody(t *testing.T) {
	t.Parallel()
	const usage = `"stream_options":{"include_usage":true}`
	tests := []struct {
		name   string
		body   string
		stream bool
		want   string
		hidden bool
	}{
		{name: "model", body: `{"model":"a"}`, want: `{"model":"up"}`},
		{name: "model of another type", body: `{"model":null,"n":1}`, want: `{"model":"up","n":1}`},
		{name: "no model", body: `{"n":1}`, want: `{"model":"up","n":1}`},
		{name: "empty", body: `{}`, want: `{"model":"up"}`},
		{name: "blank", body: " {\n} ", want: " {\"model\":\"up\"\n} "},
		{name: "every other byte", body: "{ \"x\" :\t1.50e0 , \"model\"\n:  \"a\\u0041\" ,\"s\":\"\\u00e9\\/\" }\r\n",
			want: "{ \"x\" :\t1.50e0 , \"model\"\n:  \"up\" ,\"s\":\"\\u00e9\\/\" }\r\n"},
		{name: "escaped name", body: `{"mod\u0065l":"a"}`, want: `{"mod\u0065l":"up"}`},
		{name: "nested names are not ours", body: `{"a":{"model":"x","model":"y"},"model":"z"}`,
			want: `{"a":{"model":"x","model":"y"},"model":"up"}`},
		{name: "plain keeps stream_options", body: `{"model":"a","stream_options":{"include_usage":false}}`,
			want: `{"model":"up","stream_options":{"include_usage":false}}`},

		{name: "usage injected", stream: true, hidden: true, body: `{"model":"a","stream":true}`,
			want: `{"model":"up","stream":true,` + usage + `}`},
		{name: "usage injected without a model", stream: true, hidden: true, body: `{}`, want: `{"model":"up",` + usage + `}`},
		{name: "usage injected before trailing space", stream: true, hidden: true, body: "{\"model\":\"a\" \n}\n",
			want: "{\"model\":\"up\" \n," + usage + "}\n"},
		{name: "usage asked for", stream: true, body: `{` + usage + `,"model":"a"}`, want: `{` + usage + `,"model":"up"}`},
		{name: "usage refused", stream: true, hidden: true, body: `{"stream_options":{"a":1, "include_usage" : false },"model":"a"}`,
			want: `{"stream_options":{"a":1, "include_usage" : true },"model":"up"}`},
		{name: "usage null", stream: true, hidden: true, body: `{"stream_options":{"include_usage":null},"model":"a"}`,
			want: `{"stream_options":{"include_usage":true},"model":"up"}`},
		{name: "other options", stream: true, hidden: true, body: `{"model":"a","stream_options":{"include_obfuscation":false}}`,
			want: `{"model":"up","stream_options":{"include_usage":true,"include_obfuscation":false}}`},
		{name: "empty options", stream: true, hidden: true, body: `{"model":"a","stream_options":{ }}`,
			want: `{"model":"up","stream_options":{"include_usage":true }}`},
		{name: "null options", stream: true, hidden: true, body: `{"stream_options": null,"model":"a"}`,
			want: `{"stream_options": {"include_usage":true},"model":"up"}`},
		{name: "options of the wrong type", stream: true, body: `{"stream_options":[],"model":"a"}`, want: `{"stream_options":[],"model":"up"}`},
		{name: "usage of the wrong type", stream: true, body: `{"stream_options":{"include_usage":"yes"},"model":"a"}`,
			want: `{"stream_options":{"include_usage":"yes"},"model":"up"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body := []byte(tt.body)
			got, err := patchBody(&preset.Preset{}, provider.Call{Endpoint: penstock.EndpointChat, Body: body, UpstreamModel: "up", Stream: tt.stream})
			if err != nil {
				t.Fatal(err)
			}
			if string(got.body.Join()) != tt.want {
				t.Errorf("got  %s\nwant %s", got.body.Join(), tt.want)
			}
			if got.usageInjected != tt.hidden {
				t.Errorf("usage injected: %v, want %v", got.usageInjected, tt.hidden)
			}
			if string(body) != tt.body {
				t.Errorf("the caller's body was changed to %s", body)
			}
		})
	}
}

func TestPatchBodyQuotesTheModel(t *testing.T) {
	t.Parallel()
	got, err := patchBody(&preset.Preset{}, provider.Call{Endpoint: penstock.EndpointChat, Body: []byte(`{"model":"a"}`), UpstreamModel: "a\"b\\c\nd/é"})
	if want := `{"model":"a\"b\\c\nd/é"}`; err != nil || string(got.body.Join()) != want {
		t.Errorf("got %s, %v; want %s", got.body.Join(), err, want)
	}
	_, err = patchBody(&preset.Preset{}, provider.Call{Endpoint: penstock.EndpointChat, Body: []byte(`{}`), UpstreamModel: "\xff"})
	if kind := provider.AsError(err).Kind; kind != provider.KindInternal {
		t.Errorf("a name that is no text: %v", err)
	}
}

func TestPatchBodyRejects(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		``:                                    "not valid JSON",
		`{"model":"a"`:                        "not valid JSON",
		`{"model":}`:                          "not valid JSON at byte 9",
		`{"model":"a",}`:                      "not valid JSON",
		"{\"model\":\"\xff\"}":                "not valid JSON",
		`[]`:                                  "not a JSON object",
		`"model"`:                             "not a JSON object",
		`{"model":"a"}{}`:                     "goes on",
		`{"model":"a"} x`:                     "goes on",
		`{"model":"a","model":"b"}`:           `"model" twice`,
		`{"model":"a","mod\u0065l":"b"}`:      `"model" twice`,
		`{"n":1,"model":"a","n":2}`:           `"n" twice`,
		`{"stream":true,"stream":false}`:      `"stream" twice`,
		strings.Repeat(`{"a":`, 20_000) + `0`: "not valid JSON",
		`{"stream_options":{"include_usage":true,"include_usage":false}}`: `stream_options names "include_usage" twice`,
	} {
		_, err := patchBody(&preset.Preset{}, provider.Call{Endpoint: penstock.EndpointChat, Body: []byte(body), UpstreamModel: "up", Stream: true})
		e, ok := err.(*provider.Error)
		if !ok || e.Kind != provider.KindRejected || !strings.Contains(e.Message, says) {
			t.Errorf("%.60q: got %v, want a rejection that says %q", body, err, says)
		}
	}
}

// members lists the members of an object in their order, as raw text.
func members(t *testing.T, object []byte) (names []string, values map[string]string) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatalf("%q: %v", object, err)
	}
	values = map[string]string{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatalf("%q: %v", object, err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatalf("%q: %v", object, err)
		}
		names = append(names, name.(string))
		values[name.(string)] = string(value)
	}
	return names, values
}

func FuzzPatchBody(f *testing.F) {
	for _, body := range []string{
		`{}`, ` { "model" : "a" , "n" : 1 } `, `{"stream_options":null}`, `{"model":"a","stream_options":{"include_usage":false}}`,
		`{"stream_options":{"x":[1,{"include_usage":true}]},"messages":[{"role":"user","content":"model"}]}`, `{"model":"a","model":"b"}`,
		`{"mod\u0065l":{},"stream_options":{}}`, `[1]`, `{"a":"\ud83c\udf0a"}`,
	} {
		f.Add([]byte(body), "up", true)
		f.Add([]byte(body), "a\"\n", false)
	}
	f.Fuzz(func(t *testing.T, body []byte, model string, stream bool) {
		original := bytes.Clone(body)
		got, err := patchBody(&preset.Preset{}, provider.Call{Endpoint: penstock.EndpointChat, Body: body, UpstreamModel: model, Stream: stream})
		if !bytes.Equal(body, original) {
			t.Fatal("the caller's body was changed")
		}
		if err != nil {
			if _, ok := err.(*provider.Error); !ok {
				t.Fatalf("%T is no *provider.Error", err)
			}
			return
		}
		if !json.Valid(got.body.Join()) {
			t.Fatalf("%q became %q, which is no JSON", body, got.body.Join())
		}
		checkPatch(t, provider.Call{Body: body, UpstreamModel: model, Stream: stream}, got)
	})
}

// checkPatch compares a patched body with the original by way of another JSON parser.
func checkPatch(t *testing.T, call provider.Call, got patched) {
	namesBefore, before := members(t, call.Body)
	namesAfter, after := members(t, got.body.Join())
	if _, ok := before["model"]; !ok {
		namesBefore = append([]string{"model"}, namesBefore...)
	}
	if _, ok := before["stream_options"]; !ok && call.Stream {
		namesBefore = append(namesBefore, "stream_options")
	}
	if diff := cmp.Diff(namesBefore, namesAfter); diff != "" {
		t.Errorf("names and their order (-want +got):\n%s", diff)
	}
	var model string
	if err := json.Unmarshal([]byte(after["model"]), &model); err != nil || model != call.UpstreamModel {
		t.Errorf("model %s, want %q", after["model"], call.UpstreamModel)
	}
	for name, value := range before {
		if name != "model" && name != "stream_options" && after[name] != value {
			t.Errorf("%s was %s and became %s", name, value, after[name])
		}
	}
	options := after["stream_options"]
	if !got.usageInjected {
		if options != before["stream_options"] {
			t.Errorf("stream_options was %s and became %s", before["stream_options"], options)
		}
		return
	}
	_, values := members(t, []byte(options))
	if values["include_usage"] != "true" {
		t.Errorf("stream_options %s does not ask for usage", options)
	}
}

func BenchmarkPatchBody(b *testing.B) {
	body := []byte(`{"model":"fast","stream":true,"max_tokens":200,"messages":[{"role":"user","content":"` +
		strings.Repeat("lorem ipsum ", 700) + `"}]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := patchBody(&preset.Preset{}, provider.Call{Endpoint: penstock.EndpointChat, Body: body, UpstreamModel: "gpt-test", Stream: true}); err != nil {
			b.Fatal(err)
		}
	}
}

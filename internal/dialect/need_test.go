package dialect

import (
	"slices"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/body"
)

// needsOf is an inference of a body, an empty one for a text that is no JSON object.
func needsOf(text []byte) *Inference {
	o, err := body.Scan(text)
	if err != nil {
		return &Inference{}
	}
	return &Inference{Object: o}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		want       []penstock.Capability
	}{
		{"plain", `{"messages":[{"role":"user","content":"Hi"}]}`, nil},
		{"tools", `{"tools":[{"type":"function"}]}`, []penstock.Capability{"tools"}},
		{"no tools", `{"tools":[ ],"functions":null}`, nil},
		{"functions", `{"functions":[{"name":"f"}]}`, []penstock.Capability{"tools"}},
		{"OpenAI image", `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"u"}}]}]}`, []penstock.Capability{"vision"}},
		{"Responses image", `{"input":[{"content":[{"type":"input_image"}]}]}`, []penstock.Capability{"vision"}},
		{"Anthropic image", `{"messages":[{"content":[{"type":"image","source":{"data":"x"}}]}]}`, []penstock.Capability{"vision"}},
		{"somebody writes of images", `{"messages":[{"content":"what is an \"image_url\"?"},{"content":"image"}]}`, nil},
		{"schema", `{"response_format":{"type":"json_schema","json_schema":{}}}`, []penstock.Capability{"json_schema"}},
		{"JSON without a schema", `{"response_format":{"type":"json_object"}}`, nil},
		{"Responses schema", `{"text":{"format":{"type":"json_schema"}}}`, []penstock.Capability{"json_schema"}},
		{"stream", `{"stream":true}`, []penstock.Capability{"streaming"}},
		{"all", `{"stream":true,"tools":[1],"messages":[{"content":[{"type":"image_url"}]}],"response_format":{"type":"json_schema"}}`, []penstock.Capability{"tools", "vision", "json_schema", "streaming"}},
		{"no JSON", `{"tools":[`, nil},
	} {
		if got := needsOf([]byte(tt.body)).Needs(); got != penstock.NewCapabilities(tt.want...) {
			t.Errorf("%s: needs %v, want %v", tt.name, got.List(), tt.want)
		}
	}
}

// A member that asks for a form of the answer at another endpoint asks for nothing.
func TestStrayFormatsNeedNothing(t *testing.T) {
	t.Parallel()
	own := map[penstock.Endpoint][]string{
		penstock.EndpointChat: {"response_format"}, penstock.EndpointResponses: {"text"}, penstock.EndpointMessages: {"output_format", "output_config"},
	}
	for endpoint, members := range own {
		for _, name := range []string{"response_format", "text", "output_format", "output_config"} {
			inf := needsOf([]byte(`{"` + name + `":{"type":"json_schema","format":{"type":"json_schema"}}}`))
			inf.Format = &Format{Endpoint: endpoint}
			if got := inf.Needs().List(); (len(got) == 1) != slices.Contains(members, name) {
				t.Errorf("%s of %s needs %v", name, endpoint, got)
			}
		}
	}
}

// A refusal for a capability names the member that asks for it.
func TestNeedMember(t *testing.T) {
	t.Parallel()
	inf := needsOf([]byte(`{"functions":[{"name":"f"}],"text":{"format":{"type":"json_schema"}},"input":[{"content":[{"type":"input_image"}]}]}`))
	for c, want := range map[penstock.Capability]string{
		penstock.CapabilityTools: "functions", penstock.CapabilityJSONSchema: "text", penstock.CapabilityVision: "input", penstock.CapabilityStreaming: "",
	} {
		if got := inf.NeedMember(c); got != want {
			t.Errorf("%s is asked for by %q, want %q", c, got, want)
		}
	}
}

// Images are data, not words: they do not fill a context by the byte.
func TestContextEstimate(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 4000) // 20,000 bytes
	escapes := strings.Repeat(`\"x\\`, 4000)
	image := strings.Repeat("QUJD", 250_000)
	for _, tt := range []struct {
		name, body  string
		least, most int64
	}{
		{"words", `{"messages":[{"content":"` + words + `"}]}`, 5000, 5020},
		{"words and an image", `{"messages":[{"content":"` + words + `"},{"url":"data:image/png;base64,` + image + `"}]}`, 5000, 5030},
		{"escapes are words", `{"messages":[{"content":"` + escapes + `"}]}`, 5000, 5020},
		{"cut off", `{"messages":"` + words, 0, 0},
	} {
		if got := needsOf([]byte(tt.body)).TextBytes() / 4; got < tt.least || got > tt.most {
			t.Errorf("%s: %d tokens, want %d to %d", tt.name, got, tt.least, tt.most)
		}
	}
}

func FuzzNeeds(f *testing.F) {
	for _, seed := range []string{`{"tools":[1],"messages":"\\\""}`, `{"a":"`, `"`, `{"stream":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		inf := needsOf(text)
		inf.Needs()
		if n := inf.TextBytes(); n < 0 || n > int64(len(text)) {
			t.Errorf("%d bytes of text in %d bytes", n, len(text))
		}
	})
}

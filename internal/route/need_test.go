package route

import (
	"strings"
	"testing"

	"penstock"
)

func TestNeedsOf(t *testing.T) {
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
		{"all", `{"stream":true,"tools":[1],"messages":[{"content":[{"type":"image_url"}]}],"response_format":{"type":"json_schema"}}`, penstock.AllCapabilities},
		{"no JSON", `{"tools":[`, nil},
	} {
		if got := NeedsOf([]byte(tt.body)).Capabilities; got != penstock.NewCapabilities(tt.want...) {
			t.Errorf("%s: needs %v, want %v", tt.name, got.List(), tt.want)
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
		if got := NeedsOf([]byte(tt.body)).ContextTokens; got < tt.least || got > tt.most {
			t.Errorf("%s: %d tokens, want %d to %d", tt.name, got, tt.least, tt.most)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	lacks := penstock.Target{Name: "plain", Lacks: penstock.NewCapabilities("vision", "tools")}
	small := penstock.Target{Name: "small", ContextTokens: 100}
	full := penstock.Target{Name: "full"}
	for _, tt := range []struct {
		name  string
		needs Needs
		want  string // the reason, or the refusal
		codes penstock.Code
		among []*penstock.Target
	}{
		{"nothing needed", Needs{}, "first of the model's order", "", inOrder(lacks, small, full)},
		{"vision", Needs{Capabilities: penstock.NewCapabilities("vision", "streaming")}, "next in the model's order: plain lacks vision", "", inOrder(lacks, full)},
		{"too long", Needs{ContextTokens: 101}, "next in the model's order: small takes 100 tokens, not about 101", "", inOrder(small, full)},
		{"it fits", Needs{ContextTokens: 100}, "first of the model's order", "", inOrder(small, full)},
		{"nobody can", Needs{Capabilities: penstock.NewCapabilities("tools"), ContextTokens: 101},
			"No target of this model can serve such a call: plain lacks tools; small takes 100 tokens, not about 101.", penstock.CodeInvalidRequest, inOrder(lacks, small)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRouter()
			q := Query{Candidates: tt.among, Needs: tt.needs}
			if tt.codes != "" {
				if e := refuse(t, r, q, tt.codes); e.Message != tt.want {
					t.Errorf("refused with %q, want %q", e.Message, tt.want)
				}
				return
			}
			if c := take(t, r, q); c.Reason != tt.want {
				t.Errorf("chose %s: %q, want %q", c.Target.Name, c.Reason, tt.want)
			}
		})
	}
}

func FuzzNeedsOf(f *testing.F) {
	for _, seed := range []string{`{"tools":[1],"messages":"\\\""}`, `{"a":"`, `"`, `{"stream":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if n := NeedsOf(text); n.ContextTokens < 0 || n.ContextTokens > int64(len(text)) {
			t.Errorf("%d tokens in %d bytes", n.ContextTokens, len(text))
		}
	})
}

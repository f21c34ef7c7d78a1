package body

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What mentions passes over has no kind of a part in it.
func TestMentions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{`image`, `im`, `"`, `\`, `\u0069`, `u`, `{"type":`, `"image"`, `}`, ` `, `,`})
		text := []byte(strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "text"), ""))
		if mentions(text, "image") {
			return
		}
		for kind := range kinds(text) {
			if kind == "image" {
				t.Fatalf("%q was passed over", text)
			}
		}
	})
}

func TestImages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want int64
	}{
		"none":            {`{"messages":[{"role":"user","content":"an image"}]}`, 0},
		"a chat":          {`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://x/y"}},{"type":"text","text":"image"}]}]}`, 1},
		"a response":      {`{"input":[{"content":[{"type":"input_image","image_url":"u"},{"type":"input_image","image_url":"u"}]}]}`, 2},
		"a message":       {`{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"QUJD"}}]}]}`, 1},
		"a tool's result": {`{"messages":[{"content":[{"type":"tool_result","content":[{"source":{},"type":"image"}]}]}]}`, 1},
		"in a text":       {`{"messages":[{"content":"{\"type\":\"image\"}"}]}`, 0},
		"a value 'type'":  {`{"a":["type","image"],"b":"type","image":1}`, 0},
		"no type":         {`{"a":{"type":{"type":"image"}}}`, 1},
		"cut off":         {`{"a":{"type":"image"},`, 1},
		"escaped":         {`{"a":{"type":"\u0069m\u0061ge"}}`, 1},
		"nothing":         {``, 0},
	} {
		if got := Images([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %d images, want %d", name, got, tt.want)
		}
	}
}

package body

import (
	"regexp"
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

// The scan by a shape counts on its way what a look at the whole text counts, wherever it stands.
func TestScanAsCounts(t *testing.T) {
	t.Parallel()
	s := testShape()
	names := rapid.SampledFrom([]string{"messages", "content", "source", "input", "type", `typ\u0065`, "Type", "vendor", "metadata", "file_id", `file_\u0069d`, "file_ids"})
	kinds := rapid.SampledFrom([]string{"image", "image_url", "input_image", `\u0069mage`, `im\u0061ge`, `image\n`, "text", "", `{\"type\":\"image\"}`})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			switch {
			case kind == 0 && depth > 0:
				return "[" + strings.Join(rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list"), ", ") + "]"
			case kind <= 2 && depth > 0:
				var members []string
				for _, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID[string]).Draw(t, "names") {
					members = append(members, `"`+name+`" : `+value(depth-1).Draw(t, name))
				}
				return "{" + strings.Join(members, ",") + "}"
			}
			return `"` + kinds.Draw(t, "text") + `"`
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(`{"messages":` + value(5).Draw(t, "messages") + `,"metadata":` + value(5).Draw(t, "metadata") + `}`)
		o, err := ScanAs(text, s)
		if err != nil {
			return // an ambiguity
		}
		if got, want := o.Images(), Images(text); got != want || o.depth == 0 {
			t.Fatalf("%s: %d images, want %d", text, got, want)
		}
		if got, want := o.HasFileID(), regexp.MustCompile(`"file_(i|\\u0069)d" :`).Match(text); got != want {
			t.Fatalf("%s: has a file id: %v, want %v", text, got, want)
		}
		if got, want := o.Depth(), Depth(text); got != want {
			t.Fatalf("%s: nests %d deep, want %d", text, got, want)
		}
	})
}

// An object that was made by hand is counted when it is asked.
func TestObjectsThatWereNotScannedCount(t *testing.T) {
	t.Parallel()
	o := Object{Text: []byte(`{"a":[{"type":"image"}]}`)}
	if o.Images() != 1 || o.Depth() != 3 || o.HasFileID() {
		t.Errorf("%d images, %d deep, has a file id: %v", o.Images(), o.Depth(), o.HasFileID())
	}
	if !(Object{Text: []byte(`{"a":[{"file_id":"file_1"}]}`)}).HasFileID() {
		t.Error("the file id of an object that was not scanned is missed")
	}
}

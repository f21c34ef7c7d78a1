package attach

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"penstock/internal/body"
)

const id = "file_01JQ0000000000000000000000"

// TestFind holds where ids are found, in every dialect, and where they are not: in what callers fill freely, and ids of other servers.
func TestFind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"` + id + `"}}]}]}`:                                                  "messages[0].content[0].file.file_id",
		`{"messages":[{"content":"x"},{"content":[{"file":{"file_id":"` + id + `"}, "type":"file"}]}]}`:                                               "messages[1].content[0].file.file_id",
		`{"input":[{"role":"user","content":[{"type":"input_text","text":"file_id"},{"type":"input_file","file_id":"` + id + `"}]}]}`:                 "input[0].content[1].file_id",
		`{"input":[{"type":"function_call_output","output":[{"type":"input_image","file_id":"` + id + `"}]}]}`:                                        "input[0].output[0].file_id",
		`{"messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"` + id + `"}}]}]}`:                                            "messages[0].content[0].source.file_id",
		`{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"file","file_id":"` + id + `"}}]}]}]}`:            "messages[0].content[0].content[0].source.file_id",
		`{"messages":[{"content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"file_id":"` + id + `"}}]}}]}]}`: "messages[0].content[0].source.content[0].source.file_id",
		`{"system":[{"type":"document","source":{"type":"file","file_id":"` + id + `"}}]}`:                                                            "system[0].source.file_id",
		`{"messages":[{"content":[{"type":"tool_use","input":{"type":"input_file","file_id":"` + id + `"}}]}]}`:                                       "",
		`{"messages":[{"content":[{"type":"file","file":{"file_id":"file-abc123"}}]}]}`:                                                               "",
		`{"messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"file_011CNha8iCJcU1wXNR6q4V8w"}}]}]}`:                         "",
		`{"messages":[{"content":[{"type":"input_file","file_id":null}]}],"metadata":{"file_id":"` + id + `"}}`:                                       "",
		`{"input":"file_id"}`: "", `{"input":[{"content":[{"type":"input_file","file_id":"` + id + `"}]`: "", `[]`: "", `{"messages":{"file_id":1}}`: "",
	} {
		got := ""
		for _, r := range Find([]byte(text)) {
			got += r.Path
		}
		if got != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}

// TestParts holds the form that each part has with each type of content. The other members of a part stay.
func TestParts(t *testing.T) {
	t.Parallel()
	png, pdf, text := Content{"image/png", "a.png", 3}, Content{PDF, "a.pdf", 3}, Content{Text, `say "hi".txt`, 3}
	for _, tt := range []struct {
		part    string
		content Content
		want    string
	}{
		{`{"type":"input_image","detail":"low","file_id":"%s"}`, png, `{"image_url":"data:image/png;base64,YSIK","type":"input_image","detail":"low"}`},
		{`{"type":"input_image","file_id":"%s"}`, pdf, "input_file"},
		{`{"type":"input_image","file_id":"%s","image_url":"https://x"}`, png, "image_url"},
		{`{"type":"input_file","file_id":"%s"}`, pdf, `{"file_data":"data:application/pdf;base64,YSIK","type":"input_file","filename":"a.pdf"}`},
		{`{"type":"input_file","filename":"mine.pdf","file_id":"%s","file_data":null}`, pdf, `{"file_data":"data:application/pdf;base64,YSIK","type":"input_file","filename":"mine.pdf"}`},
		{`{"type":"input_file","file_id":"%s"}`, text, `{"type":"input_text","text":"[File: say \"hi\".txt]\na\"\n"}`},
		{`{"type":"input_file","file_id":"%s"}`, png, "input_image"},
		{`{"type":"file","file":{"file_id":"%s"},"cache_control":{"type":"ephemeral"}}`, pdf, `{"type":"file","file":{"file_data":"data:application/pdf;base64,YSIK","filename":"a.pdf"},"cache_control":{"type":"ephemeral"}}`},
		{`{"type":"file","file":{"file_id":"%s"}}`, png, `{"type":"image_url","image_url":{"url":"data:image/png;base64,YSIK"}}`},
		{`{"type":"file","file":{"file_id":"%s"}}`, text, `{"type":"text","text":"[File: say \"hi\".txt]\na\"\n"}`},
		{`{"type":"document","title":"T","source":{"type":"file","file_id":"%s"}}`, pdf, `{"source":{"type":"base64","media_type":"application/pdf","data":"YSIK"},"type":"document","title":"T"}`},
		{`{"type":"document","source":{"type":"file","file_id":"%s"}}`, text, `{"source":{"type":"text","media_type":"text/plain","data":"a\"\n"},"type":"document"}`},
		{`{"type":"document","source":{"type":"file","file_id":"%s"}}`, png, "image"},
		{`{"type":"image","source":{"type":"file","file_id":"%s"}}`, png, `{"source":{"type":"base64","media_type":"image/png","data":"YSIK"},"type":"image"}`},
		{`{"type":"image","source":{"type":"file","file_id":"%s"}}`, text, "document"},
	} {
		whole := fmt.Sprintf(`{"messages":[{"content":[`+tt.part+`]}]}`, id)
		r := Find([]byte(whole))[0]
		p, err := New([]byte(whole), r, tt.content)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), r.Path) {
				t.Errorf("%s of %s: %v; want %s", tt.part, tt.content.MediaType, err, tt.want)
			}
			continue
		}
		got, err := p.Append(make([]byte, 0, p.Length()), strings.NewReader("a\"\n"))
		if err != nil || string(got) != tt.want || int64(len(got)) > p.Length() {
			t.Errorf("%s of %s: %s, %v; want %s", tt.part, tt.content.MediaType, got, err, tt.want)
		}
	}
}

// FuzzFind holds that the parts that are found are objects inside of the text, and that a body stays a body when they are replaced.
func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"messages":[{"content":[{"type":"file","file":{"file_id":"` + id + `"}}]}]}`))
	f.Add([]byte(`{"input":[{"content":[{"type":"input_file","file_id":"` + id + `"} , {"type":"input_image","file_id":"` + id + `"}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		done, out := 0, []byte(nil)
		for _, r := range Find(text) {
			if r.At.Start < done || r.At.End > len(text) {
				t.Fatalf("%+v in %q", r, text)
			}
			p, err := New(text, r, Content{PDF, "a.pdf", 3})
			if err != nil {
				return
			}
			out = append(out, text[done:r.At.Start]...)
			if out, err = p.Append(out, strings.NewReader("abc")); err != nil {
				t.Fatal(err)
			}
			done = r.At.End
		}
		if _, err := body.Scan(text); err == nil && done > 0 && !json.Valid(append(out, text[done:]...)) {
			t.Errorf("%q became %q", text, out)
		}
	})
}

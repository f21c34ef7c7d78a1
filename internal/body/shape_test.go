package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// testShape has what the shapes of dialects have.
func testShape() *Shape {
	part := NewShape(append(Names("type", "text", "input"), Field{Name: "url", Link: CitesLink}, Field{Name: "data", Link: MayLink},
		Field{Name: "source", Value: NewShape(Field{Name: "url", Link: IsLink})})...).Seeking()
	part.Add(Field{Name: "content", Value: part})
	return NewShape(append(Names("model", "max_tokens", "metadata"), Field{Name: "n_predict", Mark: true},
		Field{Name: "messages", Value: NewShape(append(Names("role"), Field{Name: "content", Value: part})...)})...)
}

func TestFold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"max_tokens": "maxtokens", "MAX-Tokens": "maxtokens", "max_to\u212aens": "maxtokens", "me\u017f\u017fages": "messages", "l\u0131st": "list", "L\u0130ST": "list",
		"model\x00x": "model", "": "", "__": "", "Straße": "straße", "Ω": "Ω", "ω": "Ω",
	} {
		if got := string(appendFold(nil, []byte(name))); got != want {
			t.Errorf("%q folds to %q, want %q", name, got, want)
		}
	}
}

// Whatever Go's own decoder takes for a field folds to its name.
func FuzzFoldCoversDecoders(f *testing.F) {
	for _, name := range []string{"max_tokens", "MAX_TOKENS", "max_to\u212aens", "max_token\u017f", "maxtokens", "x"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		text, err := json.Marshal(map[string]int{name: 7})
		if err != nil {
			t.Skip()
		}
		var into struct {
			MaxTokens int `json:"max_tokens"`
		}
		if json.Unmarshal(text, &into) == nil && into.MaxTokens == 7 {
			if got := string(appendFold(nil, []byte(name))); got != "maxtokens" {
				t.Errorf("%q is read as max_tokens, but folds to %q", name, got)
			}
		}
	})
}

// What passes by its shape is read alike by a decoder that ignores case, and by one that does not.
func FuzzScanAs(f *testing.F) {
	for _, text := range []string{
		`{"model":"a","max_tokens":1}`, `{"Model":"a","model":"b"}`, `{"model":"a","MODEL":"b"}`, `{"messages":[{"role":"x","content":[{"type":"t","source":{"url":"http://x"}}]}]}`,
		`{"metadata":{"a":1,"A":2}}`, `{"a":1,"A":2}`, `{"mod\u0065l":1,"model":2}`, `{"messages":[[[{"role":1,"r\u006fle":2}]]]}`, `{"n_predict":1}`, "{\"a\":\"\xff\"}", `{"x":"\ud800"}`, `[`, ``,
	} {
		f.Add([]byte(text))
	}
	s := testShape()
	f.Fuzz(func(t *testing.T, text []byte) {
		plain, plainErr := Scan(text)
		o, err := ScanAs(text, s)
		if err == nil && plainErr != nil {
			t.Fatalf("%q passes by its shape alone: %v", text, plainErr)
		}
		if doubt, ok := errors.AsType[*Ambiguity](err); err != nil && !ok && plainErr == nil && !strings.Contains(err.Error(), "members") && !strings.Contains(err.Error(), "deep") {
			t.Fatalf("%q is refused by its shape alone: %v %v", text, err, doubt)
		}
		if err != nil {
			return
		}
		if len(plain.Members) != len(o.Members) || plain.start != o.start || plain.end != o.end {
			t.Fatalf("%q: members %v, want %v", text, o.Members, plain.Members)
		}
		for i, m := range o.Members {
			if m != plain.Members[i] {
				t.Fatalf("%q: member %v, want %v", text, m, plain.Members[i])
			}
		}
		for _, at := range o.Links {
			if o.Text[at.Start] != '"' || o.Text[at.End-1] != '"' {
				t.Fatalf("%q: link at %v", text, at)
			}
		}
		var careless struct {
			Model any `json:"model"`
		}
		exact := o.Raw("model")
		if json.Unmarshal(text, &careless) == nil && careless.Model != nil && exact == nil {
			t.Fatalf("%q: a careless decoder reads the model %v", text, careless.Model)
		}
	})
}

func TestLinks(t *testing.T) {
	t.Parallel()
	part := func(text string) string { return `{"messages":[{"role":"user","content":[` + text + `]}]}` }
	for text, want := range map[string][]string{
		part(`{"type":"image","source":{"url":"http://a"}}`):                                                               {"http://a"},
		part(`{"type":"image","source":{"url":"data:image/png;base64,xx"}}`):                                               nil,
		part(`{"type":"text","text":"http://only.talked.about"}`):                                                          nil,
		part(`{"type":"tool_use","input":{"url":"http://an.argument"}}`):                                                   nil,
		part(`{"type":"image","url":"http://b"}`):                                                                          {"http://b"},
		part(`{"url":"http://c","type":"web_search_result"}`):                                                              nil,
		part(`{"type":"web_search_result","url":"http://c","content":[{"source":{"url":"http://d"}}]}`):                    {"http://d"},
		part(`{"type":"x","data":"aGVsbG8="}`):                                                                             nil,
		part(`{"type":"x","data":"\u0068ttp://e"}`):                                                                        {"http://e"},
		part(`{"type":"x","data":" \thTTp:\\\\e"}`):                                                                        {" \thTTp:\\\\e"},
		part(`{"type":"vendor","deep":[{"er":"s3://bucket/x"},"note: words","//host/x"]}`):                                 {"s3://bucket/x", "//host/x"},
		part(`{"type":"x","data":"` + strings.Repeat(" ", 80) + `http://f"}`):                                              {strings.Repeat(" ", 80) + "http://f"},
		part(`{"type":"x","data":"` + strings.Repeat(" ", 80) + `h\u0074tp://f"}`):                                         {strings.Repeat(" ", 80) + "http://f"},
		part(`{"type":"x","data":"h` + strings.Repeat(`\t`, 80) + `ttp://f"}`):                                             {"h" + strings.Repeat("\t", 80) + "ttp://f"},
		part(`{"type":"x","data":["\u00a0http://g","\ufeffhttp://g","URL:http://g","<url: http://g>","jar:http://g!/x"]}`): {"\u00a0http://g", "\ufeffhttp://g", "URL:http://g", "<url: http://g>", "jar:http://g!/x"},
		part(`{"type":"search_result","url":"http://h"}`):                                                                  nil,
		`{"metadata":{"url":"http://free.form"},"other":"http://unknown"}`:                                                 nil,
	} {
		o, err := ScanAs([]byte(text), testShape())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range o.Links {
			got = append(got, o.Link(at))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestShapedObjectsHaveBounds(t *testing.T) {
	t.Parallel()
	s := testShape()
	if _, err := ScanAs([]byte(`{"messages":[{`+members(MaxMembers+1)+`}]}`), s); err == nil || !strings.Contains(err.Error(), "more than 256 members") {
		t.Errorf("a message of many members: %v", err)
	}
	if _, err := ScanAs([]byte(`{"messages":[{`+members(MaxMembers)+`}]}`), s); err != nil {
		t.Errorf("a message of as many as may be: %v", err)
	}
	deep := strings.Repeat(`{"content":`, 2000) + "1" + strings.Repeat("}", 2000)
	if _, err := ScanAs([]byte(`{"messages":[{"content":`+deep+`}]}`), s); err == nil {
		t.Error("what is nested too deeply passes")
	}
}

// A clean body costs what it did: one pass, and no allocation beside its list of members.
func TestCleanBodiesAllocateNothing(t *testing.T) {
	s := testShape()
	text := []byte(`{"model":"a","max_tokens":5,"messages":[` + strings.Repeat(`{"role":"user","content":[{"type":"text","text":"hello"}]},`, 100) + `{"role":"user","content":"x"}]}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ScanAs(text, s); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkScanAs(b *testing.B) {
	s := testShape()
	for name, text := range map[string][]byte{
		"1KiB":         fmt.Appendf(nil, `{"model":"fast","messages":[{"role":"user","content":%q}],"max_tokens":200}`, strings.Repeat("What does a weir do? ", 50)),
		"100KiB":       fmt.Appendf(nil, `{"model":"fast","messages":[{"role":"user","content":%q}],"max_tokens":200}`, strings.Repeat("What does a weir do? ", 5000)),
		"code":         fmt.Appendf(nil, `{"model":"fast","messages":[{"role":"user","content":%q}],"max_tokens":200}`, strings.Repeat("\tif err := w.flush(ctx); err != nil {\n\t\treturn fmt.Errorf(\"flushing \\\"%s\\\": %w\", name, err) // naïve\n\t}\n", 800)),
		"400 messages": fmt.Appendf(nil, `{"model":"fast","messages":[%s{"role":"user","content":"x"}],"max_tokens":200}`, bytes.Repeat([]byte(`{"role":"user","content":"What does a weir do? It raises the water."},`), 400)),
	} {
		b.Run("plain/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Scan(text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("shaped/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ScanAs(text, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

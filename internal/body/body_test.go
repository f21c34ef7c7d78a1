package body

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScanRejects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"empty":          {``, "not valid JSON"},
		"array":          {`[1]`, "not a JSON object"},
		"truncated":      {`{"a":1`, "not valid JSON"},
		"twice":          {`{"model":"a","model":"b"}`, `names "model" twice`},
		"twice, escaped": {`{"model":"a","\u006dodel":"b"}`, `names "model" twice`},
		"bad utf-8":      {"{\"a\":\"\xff\"}", "UTF-8"},
		"more after it":  {`{"a":1} {}`, "goes on after"},
		"many members":   {"{" + members(MaxMembers+1) + "}", "more than 256 members"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Scan([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error about %q", err, tc.want)
			}
		})
	}
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.Repeat("k", i+1) + `":0`)
	}
	return b.String()
}

func TestReplaceKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"{ \"model\" : \"a\",\n\t\"x\":1e5 }", "{ \"model\" : \"M\",\n\t\"x\":1e5 }"},
		{`{"x":{"model":"deep"}}`, `{"model":"M","x":{"model":"deep"}}`},
		{`{}`, `{"model":"M"}`},
		{`  { } `, `  {"model":"M" } `},
	} {
		o, err := Scan([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Apply(o.Text, o.Replace("model", `"M"`))); got != tc.want {
			t.Errorf("%s became %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	t.Parallel()
	defaults, err := Scan([]byte(`{"max_tokens":5,"stop":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ text, want string }{
		{`{"max_tokens":9}`, `{"max_tokens":9,"stop":["a"]}`},
		{`{}`, `{"max_tokens":5,"stop":["a"]}`},
		{`{"stop":null,"max_tokens":1}`, `{"stop":null,"max_tokens":1}`},
	} {
		o, err := Scan([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(o.WithDefaults(defaults)); got != tc.want {
			t.Errorf("%s became %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestTypedMembers(t *testing.T) {
	t.Parallel()
	o, err := Scan([]byte(`{"s":"a\u00e9","b":true,"n":7,"z":null,"f":1.5,"neg":-1}`))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := o.String("s"); s != "aé" || err != nil {
		t.Errorf("string: %q, %v", s, err)
	}
	if b, err := o.Bool("b"); !b || err != nil {
		t.Errorf("bool: %v, %v", b, err)
	}
	if n, err := o.Count("n"); n != 7 || err != nil {
		t.Errorf("count: %d, %v", n, err)
	}
	for _, missing := range []string{"z", "absent"} {
		s, err1 := o.String(missing)
		b, err2 := o.Bool(missing)
		n, err3 := o.Count(missing)
		if s != "" || b || n != 0 || err1 != nil || err2 != nil || err3 != nil {
			t.Errorf("%s is not as good as missing", missing)
		}
	}
	for _, bad := range []string{"s", "f", "neg"} {
		if _, err := o.Count(bad); err == nil {
			t.Errorf("%s passed for a count", bad)
		}
	}
	if _, err := o.String("n"); err == nil {
		t.Error("a number passed for a string")
	}
	if _, err := o.Bool("s"); err == nil {
		t.Error("a string passed for a bool")
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`1`: 0, `{}`: 1, `{"a":[{}]}`: 3, `{"a":"[[[["}`: 1, `{"a":"\"[["}`: 1, `[[],[[]]]`: 3, `"\\"`: 0,
	} {
		if got := Depth([]byte(text)); got != want {
			t.Errorf("%s is %d deep, want %d", text, got, want)
		}
	}
}

// The fast way must find what the slow one finds, and let nothing pass that it does not.
func sameScan(t *testing.T, text []byte) {
	t.Helper()
	fast, ok := scanFast(text)
	if !ok {
		return
	}
	slow, err := scanSlowly(text)
	if err != nil {
		t.Fatalf("%q passes, though it %v", text, err)
	}
	if !reflect.DeepEqual(fast, slow) {
		t.Fatalf("%q: fast %+v, slow %+v", text, fast, slow)
	}
}

func TestScanFast(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		sameScan(t, []byte(text))
		for _, around := range []string{`{"a":%s}`, ` { "a" : %s , "b" : %s } `, `{"a":[%s,{"b":%s}]}`, `{%s:1}`, `%s{}`, `{}%s`} {
			sameScan(t, []byte(strings.ReplaceAll(around, "%s", text)))
		}
	}
	for _, common := range []string{`{}`, `{"model":"m","messages":[{"role":"user","content":"caf\u00e9 \"x\"\n é"}],"n":1, "stop" : null } `} {
		if _, ok := scanFast([]byte(common)); !ok {
			t.Errorf("%s is scanned slowly", common)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(`{"a":` + text + `}`))
	}
	f.Fuzz(sameScan)
}

// quoted looks at eight bytes at a time; it must see what a look at each of them sees.
func TestQuotedIsThatOfEveryByte(t *testing.T) {
	t.Parallel()
	hex := regexp.MustCompile(`^\\u[0-9a-fA-F]{4}`)
	slow := func(text []byte) (length int, escaped bool) {
		for i := 1; i < len(text); i++ {
			switch b := text[i]; {
			case b == '"':
				return i + 1, escaped
			case b == '\\' && hex.Match(text[i:]):
				escaped = true
				i += 5
			case b < ' ', b == '\\' && (i+1 == len(text) || !strings.ContainsRune(`"\/bfnrt`, rune(text[i+1]))):
				return 0, false
			case b == '\\':
				escaped = true
				i++
			}
		}
		return 0, false
	}
	escapes := rapid.SampledFrom([][]byte{[]byte(strings.Repeat("x", 70)), []byte(strings.Repeat(`\\`, 40)), []byte(`\u00e9`), []byte(`\n`), []byte(`\"`), []byte(`\\`)})
	piece := rapid.OneOf(rapid.SliceOfN(rapid.ByteRange(' ', 0xff), 0, 20), rapid.SliceOfN(rapid.Byte(), 0, 2),
		escapes, rapid.SampledFrom([][]byte{[]byte(`"`), []byte(`\`), []byte("\x1f"), []byte("é")}))
	rapid.Check(t, func(t *rapid.T) {
		within := rapid.SliceOfN(rapid.OneOf(rapid.SliceOfN(rapid.ByteRange('#', 'Z'), 0, 20), escapes), 0, 40).Draw(t, "within")
		text := slices.Concat([]byte{'"'}, bytes.Join(within, nil), bytes.Join(rapid.SliceOfN(piece, 0, 10).Draw(t, "pieces"), nil))
		c := Cursor{text: text}
		got := c.quoted()
		want, escaped := slow(text)
		if len(got) != want || (c.err == nil) != (want > 0) || (want > 0 && c.escaped != escaped) {
			t.Fatalf("%q: %q, %v, want %d bytes", text, got, c.err, want)
		}
	})
}

func FuzzReplace(f *testing.F) {
	f.Add([]byte(`{"model":"a","messages":[{"role":"user"}]}`))
	f.Add([]byte(`{ }`))
	f.Fuzz(func(t *testing.T, text []byte) {
		Depth(text)
		o, err := Scan(text)
		if err != nil {
			return
		}
		out := Apply(o.Text, o.Replace("model", `"M"`))
		again, err := Scan(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if got, err := again.String("model"); got != "M" || err != nil {
			t.Fatalf("%q became %q, whose model is %q", text, out, got)
		}
		for _, m := range o.Members {
			if m.Name != "model" && !bytes.Equal(o.Raw(m.Name), again.Raw(m.Name)) {
				t.Fatalf("%q became %q: %s changed", text, out, m.Name)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for name, content := range map[string]string{
		"1KiB": strings.Repeat("hello world ", 80), "100KiB": strings.Repeat("What does a weir do? Say it in \"plain\" words.\n", 2048),
	} {
		text, err := json.Marshal(map[string]any{"model": "fast", "stream": true, "max_tokens": 100, "messages": []map[string]string{{"role": "user", "content": content}}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run("fast/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Scan(text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("slow/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := scanSlowly(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Depth looks for the ends of strings by their quotes; it must see what a look at every byte sees.
func TestDepthIsThatOfEveryByte(t *testing.T) {
	t.Parallel()
	slow := func(text []byte) int {
		depth, deepest, inString := 0, 0, false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case inString && c == '\\':
				i++
			case c == '"':
				inString = !inString
			case inString:
			case c == '{' || c == '[':
				depth++
				deepest = max(deepest, depth)
			case c == '}' || c == ']':
				depth--
			}
		}
		return deepest
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOfN(rapid.RuneFrom([]rune(`{}[]"\\\x,`)), 0, 40, -1).Draw(t, "text"))
		if got, want := Depth(text), slow(text); got != want {
			t.Fatalf("%q: %d, want %d", text, got, want)
		}
	})
}

func BenchmarkDepth(b *testing.B) {
	text := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat(`What does a \"weir\" do, and how is it that the water behind it stands still while it runs over? `, 1024) + `"}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Depth(text)
	}
}

package body

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient is what a Cursor lets pass.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// agree checks that a cursor takes for JSON what the JSON package does, and that it tells text which ends early from
// text that is wrong.
func agree(t *testing.T, text string) {
	t.Helper()
	c := NewCursor([]byte(text))
	c.Skip()
	err := c.End()
	if valid := jsontext.Value(text).IsValid(lenient...); valid != (err == nil) && !errors.Is(err, errNested) {
		t.Fatalf("%.200q: valid is %t, but the cursor says %v", text, valid, err)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	dec := jsontext.NewDecoder(strings.NewReader(text), lenient...)
	if _, err := dec.ReadValue(); !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
		t.Fatalf("%.200q does not only end early: %v", text, err)
	}
}

var texts = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `-1.5e+10`, `1E5`, `true`, `false`, `null`, ` { "a" : [ 1 , "b" , { "c" : null } ] } `, `{"a":1,"a":2}`,
	`"\u00e9\ud83d\ude00\n\\\""`, `"\ud800"`, "\"\xff\"", `[[[[]]]]`, `{"a\u0062":{"x":[]}}`,
	``, ` `, `{`, `[`, `"`, `"\`, `"\u12`, `-`, `1.`, `1e`, `1e+`, `tru`, `nul`, `{"a"`, `{"a":`, `{"a":1,`, `[1,`, `[1`,
	`}`, `]`, `,`, `01`, `+1`, `.5`, `1.e5`, `-a`, `truth`, `nil`, `{,}`, `[,]`, `[1,]`, `{"a":1,}`, `{"a" 1}`, `{1:2}`, `{a:1}`, `[1 2]`, `{} {}`, `"a" "b"`,
	"\"\n\"", `"\x"`, `"\u12g4"`, `{"a":1]`, `[1}`, "\x00", `'a'`, `// a`, `[1]x`,
}

func TestCursorKnowsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		agree(t, text)
		for n := range len(text) {
			agree(t, text[:n])
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(agree)
}

func TestCursorReads(t *testing.T) {
	t.Parallel()
	c := NewCursor([]byte(` {"skip":{"n":[1,{}]}, "s" : "caf\u00e9 \"x\"","plain":"caf` + "\xc3\xa9" + `","bad":"` + "\xff" + `","n":-12,"null":null,"l\u0069st":[3,4],"raw": {"a":1} ,"o":{"in":true}}`))
	var names, strs []string
	var ints []int64
	var raw string
	for name := range c.Members {
		names = append(names, string(name))
		switch string(name) {
		case "s", "plain", "bad", "null":
			strs = append(strs, c.String())
		case "n":
			ints = append(ints, c.Int())
		case "list":
			for range c.Elements {
				ints = append(ints, c.Int())
			}
		case "raw":
			raw = string(c.Raw())
		default:
			c.Skip()
		}
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"skip", "s", "plain", "bad", "n", "null", "list", "raw", "o"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if want := []string{`café "x"`, "café", "\uFFFD", ""}; !slices.Equal(strs, want) {
		t.Errorf("strings %q, want %q", strs, want)
	}
	if want := []int64{-12, 3, 4}; !slices.Equal(ints, want) || raw != `{"a":1}` {
		t.Errorf("numbers %d, raw %s", ints, raw)
	}
}

// What is not of the type that was asked for is an error, and what follows reads as nothing.
func TestCursorTypes(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*Cursor){
		"string": func(c *Cursor) { _ = c.String() },
		"number": func(c *Cursor) { c.Int() },
		"array": func(c *Cursor) {
			for range c.Elements {
				t.Error("an object has elements")
			}
		},
	} {
		c := NewCursor([]byte(`{"a":1}`))
		read(&c)
		if err := c.End(); !errors.Is(err, errType) && !errors.Is(err, errSyntax) {
			t.Errorf("%s: got %v", name, err)
		}
		if c.Kind() != 0 || c.String() != "" || c.Int() != 0 || c.Raw() != nil {
			t.Errorf("%s: goes on after an error", name)
		}
	}
	c := NewCursor([]byte(strings.Repeat("[", 2*maxNesting)))
	if c.Skip(); !errors.Is(c.End(), errNested) {
		t.Errorf("got %v", c.End())
	}
}

// Package body reads and edits JSON objects in place, byte by byte.
//
// The body of an inference is the caller's: it passes through Penstock with its own bytes and its
// own order, because a body that was parsed and written again no longer hits an upstream's prompt
// cache. Where something must be known or changed, this package finds the place and touches only
// that.
//
// A name that appears twice in the outermost object is refused: which of the two counts differs from
// server to server, so that what was checked here could be something else there.
package body

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Span is a range of bytes. No value starts at the first byte of an object, so the zero Span says
// that there is none.
type Span struct{ Start, End int }

// Found reports whether there is anything.
func (s Span) Found() bool { return s.End > 0 }

// Member is a member of an object: its name, and where its value stands.
type Member struct {
	Name  string
	Value Span
}

// Object is a JSON object and where its members stand.
type Object struct {
	Text    []byte
	Members []Member
	Links   []Span // the strings that an upstream may fetch from, of an object that was scanned by its shape
	Marked  bool   // its shape marks one of its members
	start   int    // just behind the opening brace
	end     int    // at the closing one
	depth   int    // how deeply it nests, 0 unless it was scanned by its shape
	images  int64  // the images in it, if its depth is known
	media   int64  // members that hold media, if its depth is known
	fileID  bool   // a member at any depth is named file_id, if its depth is known
}

// ErrNotObject says that a text is JSON, but not an object.
var ErrNotObject = errors.New("is not a JSON object")

// Scan checks that text is one JSON object, in valid UTF-8 and without repeated names, and finds its
// members. What is nested deeper is only checked for syntax.
func Scan(text []byte) (Object, error) {
	if o, ok := scanFast(text); ok {
		return o, nil
	}
	return scanSlowly(text)
}

// scanFast is Scan for what is beyond doubt. All others, every error among them, are for scanSlowly to judge.
func scanFast(text []byte) (o Object, ok bool) {
	c := NewCursor(text)
	o = Object{Text: text, start: c.at + 1, end: len(trimSpace(text)) - 1, Members: make([]Member, 0, 8)}
	for name := range c.Members {
		if len(o.Members) == MaxMembers || o.Value(string(name)).Found() {
			return Object{}, false
		}
		start := c.at
		c.Skip()
		o.Members = append(o.Members, Member{string(name), Span{start, start + len(trimSpace(text[start:c.at]))}})
	}
	return o, c.End() == nil && c.validText()
}

// trimSpace is a text without the space behind it.
func trimSpace(text []byte) []byte { return bytes.TrimRight(text, " \t\r\n") }

// scanSlowly is Scan by the JSON package, which says where and why a text is none.
func scanSlowly(text []byte) (Object, error) {
	// A Buffer lets the decoder work on the text itself instead of a copy.
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	open, err := dec.ReadToken()
	if err != nil {
		return Object{}, notJSON(err)
	}
	if open.Kind() != '{' {
		return Object{}, ErrNotObject
	}
	o := Object{Text: text, start: int(dec.InputOffset()), Members: make([]Member, 0, 8)}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return Object{}, notJSON(err)
		}
		name := token.String()
		if o.Value(name).Found() {
			return Object{}, fmt.Errorf("names %.40q twice: servers disagree on which one counts", name)
		}
		if len(o.Members) == MaxMembers {
			return Object{}, fmt.Errorf("has more than %d members", MaxMembers)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return Object{}, notJSON(err)
		}
		end := int(dec.InputOffset())
		o.Members = append(o.Members, Member{name, Span{end - len(value), end}})
	}
	if _, err := dec.ReadToken(); err != nil {
		return Object{}, notJSON(err)
	}
	o.end = int(dec.InputOffset()) - 1
	if len(bytes.TrimLeft(text[o.end+1:], " \t\r\n")) > 0 {
		return Object{}, fmt.Errorf("goes on after its JSON object ends at byte %d", o.end)
	}
	return o, nil
}

// MaxMembers bounds the members of a scanned object. Looking one up is a walk over all of them, which
// is the fastest way for the dozen that a body has.
const MaxMembers = 256

func notJSON(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("is not valid JSON at byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	return fmt.Errorf("is not valid JSON: %w", err)
}

// Value returns where the value of a member stands.
func (o Object) Value(name string) Span {
	for _, m := range o.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return Span{}
}

// Raw returns the text of a member's value, nil if there is none.
func (o Object) Raw(name string) []byte {
	s := o.Value(name)
	if !s.Found() {
		return nil
	}
	return o.Text[s.Start:s.End]
}

// String returns a member that must be a string, "" when it is missing or null.
func (o Object) String(name string) (string, error) {
	raw := o.Raw(name)
	if raw == nil || string(raw) == "null" {
		return "", nil
	}
	if raw[0] != '"' {
		return "", fmt.Errorf("%s must be a string", name)
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	return string(s), err
}

// Bool returns a member that must be true or false, false when it is missing or null.
func (o Object) Bool(name string) (bool, error) {
	switch string(o.Raw(name)) {
	case "", "null", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fmt.Errorf("%s must be true or false", name)
}

// Count returns a member that must be a whole number of at least 0, and 0 when it is missing or null.
func (o Object) Count(name string) (int64, error) {
	raw := o.Raw(name)
	if raw == nil || string(raw) == "null" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s must be a whole number of at least 0", name)
	}
	return n, nil
}

// Edit replaces a range of bytes by a text.
type Edit struct {
	At   Span
	Text string
}

// Shifted is the same edit in a text that begins by bytes later.
func (e Edit) Shifted(by int) Edit {
	return Edit{Span{e.At.Start + by, e.At.End + by}, e.Text}
}

// Replace is the edit that gives a member another value; a missing one is put in front of all
// others.
func (o Object) Replace(name, value string) Edit {
	if at := o.Value(name); at.Found() {
		return Edit{at, value}
	}
	member := strconv.Quote(name) + ":" + value
	if len(o.Members) > 0 {
		member += ","
	}
	return Edit{Span{o.start, o.start}, member}
}

// Append is the edit that puts a member behind all others. The object must have a member by then.
func (o Object) Append(name, value string) Edit {
	return Edit{Span{o.end, o.end}, "," + strconv.Quote(name) + ":" + value}
}

// Apply makes a new text; the old one is not touched. Edits at one place keep their order.
func Apply(text []byte, edits ...Edit) []byte { return Edited(text, edits...).Join() }

// Pieces are a text that lies in several places.
type Pieces [][]byte

// Edited is Apply without a copy: what was not edited is the old text itself, which must not change from now on.
func Edited(text []byte, edits ...Edit) Pieces {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.At.Start - b.At.Start })
	pieces := make(Pieces, 0, 2*len(edits)+1)
	done := 0
	for _, e := range edits {
		pieces = append(pieces, text[done:e.At.Start], []byte(e.Text))
		done = e.At.End
	}
	return append(pieces, text[done:])
}

// Join makes one text of the pieces.
func (p Pieces) Join() []byte { return bytes.Join(p, nil) }

// WithDefaults returns an object with the members of defaults that it does not have itself.
func (o Object) WithDefaults(defaults Object) []byte {
	var edits []Edit
	empty := len(o.Members) == 0
	for _, m := range defaults.Members {
		if o.Value(m.Name).Found() {
			continue
		}
		e := o.Append(m.Name, string(defaults.Text[m.Value.Start:m.Value.End]))
		if empty {
			e.Text, empty = e.Text[1:], false
		}
		edits = append(edits, e)
	}
	if len(edits) == 0 {
		return o.Text
	}
	return Apply(o.Text, edits...)
}

// Depth returns how deeply the object nests.
func (o Object) Depth() int {
	if o.depth > 0 {
		return o.depth
	}
	return Depth(o.Text)
}

// Depth returns how deeply the arrays and objects of a JSON text are nested. It counts brackets
// outside strings and does not check anything else, so it is safe to call first.
func Depth(text []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i+1:]) + 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// stringEnd is where the string that text begins inside of ends, len(text) if it does not. Strings are most of a body,
// and looking for the quote alone is many times as fast as looking at every byte.
func stringEnd(text []byte) int {
	for from := 0; ; {
		n := bytes.IndexByte(text[from:], '"')
		if n < 0 {
			return len(text)
		}
		end := from + n
		escapes := 0
		for end-escapes > from && text[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

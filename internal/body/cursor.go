package body

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Cursor reads a JSON text once, from front to back, for the few values in it that matter. It is for answers, which are
// forwarded as they came: it checks their syntax on the way, lets repeated names and invalid UTF-8 pass, and allocates
// nothing but the strings that it is asked for.
//
// After the first error everything reads as nothing, and End tells what it was.
type Cursor struct {
	text       []byte
	at         int
	err        error
	surrogates bool  // there may be half characters among what was passed
	escaped    bool  // the string that was passed last has an escape
	nonASCII   bool  // there may be bytes outside of ASCII among what was passed
	deepest    int   // levels of arrays and objects that the walk of a value entered
	images     int64 // parts that are images, see Images
	media      int64 // members that hold media, see Object.Media
	fileID     bool  // a member is named file_id
}

// NewCursor stands before the value of a text.
func NewCursor(text []byte) Cursor {
	c := Cursor{text: text}
	c.space()
	return c
}

var (
	errSyntax = errors.New("is not valid JSON")
	errNested = errors.New("is nested too deeply")
	errType   = errors.New("has a value of another type than expected")
)

// maxNesting bounds how deep values are followed that are passed over.
const maxNesting = 1000

// End returns the first error, io.ErrUnexpectedEOF if the text only ends early. That anything comes after the value is
// an error too.
func (c *Cursor) End() error {
	if c.at < len(c.text) {
		c.fail(errSyntax)
	}
	return c.err
}

// validText says whether what was passed is beyond doubt valid Unicode.
func (c *Cursor) validText() bool {
	return !c.surrogates && (!c.nonASCII || validUTF8(c.text))
}

// Kind is the first byte of the value that comes next, 0 if there is none.
func (c *Cursor) Kind() byte {
	if c.err != nil || c.at >= len(c.text) {
		return 0
	}
	return c.text[c.at]
}

// Members ranges over the object that comes next. The loop must read or skip the value of each member, up to the last
// one. Names are valid while the text is.
func (c *Cursor) Members(yield func(name []byte) bool) {
	if c.open('{') {
		for n := 0; c.more('}', n); n++ {
			name := c.name()
			if c.err != nil || !yield(name) {
				return
			}
		}
	}
}

// Elements ranges over the array that comes next, in the same way.
func (c *Cursor) Elements(yield func(n int) bool) {
	if c.open('[') {
		for n := 0; c.more(']', n); n++ {
			if !yield(n) {
				return
			}
		}
	}
}

// open enters an object or array.
func (c *Cursor) open(bracket byte) bool {
	switch c.Kind() {
	case bracket:
		c.pass(1)
		return true
	default:
		c.unexpected(errType)
	}
	return false
}

// more stands before the next entry of an object or array, of which n were read, or behind its end.
func (c *Cursor) more(end byte, n int) bool {
	if c.Kind() == end {
		c.pass(1)
		return false
	}
	if n > 0 {
		c.take(',')
	}
	return c.err == nil
}

// name reads a name and the colon behind it.
func (c *Cursor) name() []byte {
	raw := c.quoted()
	c.take(':')
	if c.escaped {
		raw, _ = jsontext.AppendUnquote(nil, raw) // an invalid one is the name of nothing
		return raw
	}
	return unquoted(raw)
}

// enter notes that the walk of a value enters an array or object that lies so deep.
func (c *Cursor) enter(depth int) { c.deepest = max(c.deepest, depth+1) }

// unquoted is what stands between quotes; nothing if there are none.
func unquoted(raw []byte) []byte {
	if len(raw) < 2 {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// take passes over a byte that must come next.
func (c *Cursor) take(b byte) {
	if c.Kind() != b {
		c.unexpected(errSyntax)
		return
	}
	c.pass(1)
}

// pass goes on by n bytes and over the space behind them.
func (c *Cursor) pass(n int) {
	c.at += n
	c.space()
}

// space passes over space. Most bodies have none, so the look for it is apart from the loop: it can be inlined.
func (c *Cursor) space() {
	if c.at < len(c.text) && c.text[c.at] <= ' ' {
		c.spaces()
	}
}

func (c *Cursor) spaces() {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

// unexpected says that something else should come next: either the text ends here, or the given is wrong with it.
func (c *Cursor) unexpected(wrong error) {
	if c.at >= len(c.text) {
		wrong = io.ErrUnexpectedEOF
	}
	c.fail(wrong)
}

func (c *Cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// String reads a string. Null reads as "".
func (c *Cursor) String() string {
	switch c.Kind() {
	case '"':
	case 'n':
		c.word("null")
		return ""
	default:
		c.unexpected(errType)
		return ""
	}
	raw := c.quoted()
	if inner := unquoted(raw); !c.escaped && utf8.Valid(inner) {
		return string(inner)
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // what is invalid was replaced
	return string(text)
}

// Int reads a whole number. Null reads as 0.
func (c *Cursor) Int() int64 {
	raw := c.Raw()
	if c.err != nil || string(raw) == "null" {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		c.fail(errType)
		return 0
	}
	return n
}

// Raw reads any value and returns its text, nil after an error.
func (c *Cursor) Raw() []byte {
	start := c.at
	if c.Skip(); c.err != nil {
		return nil
	}
	return trimSpace(c.text[start:c.at])
}

// Skip passes over any value.
func (c *Cursor) Skip() { c.skip(0) }

func (c *Cursor) skip(depth int) {
	if depth > maxNesting {
		c.fail(errNested)
		return
	}
	switch c.Kind() {
	case '{':
		c.enter(depth)
		c.pass(1)
		for n := 0; c.more('}', n); n++ {
			c.note(c.name())
			c.skip(depth + 1)
		}
	case '[':
		c.enter(depth)
		c.pass(1)
		for n := 0; c.more(']', n); n++ {
			c.skip(depth + 1)
		}
	case '"':
		c.quoted()
	case 't':
		c.word("true")
	case 'f':
		c.word("false")
	case 'n':
		c.word("null")
	default:
		c.number()
	}
}

// word passes over a literal.
func (c *Cursor) word(w string) {
	rest := c.text[c.at:]
	switch {
	case len(rest) >= len(w) && string(rest[:len(w)]) == w:
		c.pass(len(w))
	case len(rest) < len(w) && string(rest) == w[:len(rest)]:
		c.fail(io.ErrUnexpectedEOF)
	default:
		c.fail(errSyntax)
	}
}

// quoted passes over a string and returns it with its quotes.
func (c *Cursor) quoted() []byte {
	if c.Kind() != '"' {
		c.take('"') // says what is wrong
		return nil
	}
	c.escaped = false
	long := c.at + longBytes
	var all uint64
	for text, i := c.text, c.at+1; ; {
		if i > long {
			at, seen := blocks(text, i)
			i, long = at, at+longBytes
			c.escaped = c.escaped || seen.escapes
			c.nonASCII = c.nonASCII || seen.nonASCII
		}
		if len(text)-i >= 8 {
			eight := binary.LittleEndian.Uint64(text[i:])
			all |= eight
			found := special(eight)
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) / 8
		} else {
			for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= ' ' {
				all |= uint64(text[i])
				i++
			}
			if i >= len(text) {
				c.fail(io.ErrUnexpectedEOF)
				return nil
			}
		}
		switch text[i] {
		case '"':
			raw := text[c.at : i+1]
			c.nonASCII = c.nonASCII || all&highest != 0
			c.pass(len(raw))
			return raw
		case '\\':
			c.escaped = true
			if i+1 < len(text) && short[text[i+1]] {
				i += 2
				continue
			}
			n := escape(text[i:])
			if n <= 0 {
				c.fail(badEscape(n))
				return nil
			}
			c.surrogates = c.surrogates || isSurrogate(text[i:i+n])
			i += n
		default:
			c.fail(errSyntax)
			return nil
		}
	}
}

// longBytes is where it begins to pay to look at whole blocks of a string.
const longBytes = 24

// short are the bytes that make an escape of two bytes with a backslash. Source code in a body has one every few words.
var short = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// highest is the highest bit of eight bytes. ASCII has none.
const highest = 0x8080808080808080

// special finds quotes, backslashes and control characters among eight bytes: one of them sets the highest bit of its byte, and the
// lowest such bit is right. Most of a body is other text.
func special(eight uint64) uint64 {
	const every = 0x0101010101010101
	quote, backslash := eight^(every*'"'), eight^(every*'\\')
	return ((eight-every*' ')&^eight | (quote-every)&^quote | (backslash-every)&^backslash) & highest
}

// isSurrogate says whether an escape is half of a character, of which only the right pairs are valid.
func isSurrogate(escape []byte) bool {
	return len(escape) > 3 && escape[2]|0x20 == 'd' && escape[3] >= '8'
}

// escape is the length of the escape that text begins with: 0 if it ends early, -1 if it is none.
func escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch {
	case short[text[1]]:
		return 2
	case text[1] != 'u':
		return -1
	}
	const length = len(`\u0000`)
	for i := 2; i < min(length, len(text)); i++ {
		switch b := text[i]; {
		case '0' <= b && b <= '9', 'a' <= b && b <= 'f', 'A' <= b && b <= 'F':
		default:
			return -1
		}
	}
	if len(text) < length {
		return 0
	}
	return length
}

func badEscape(n int) error {
	if n == 0 {
		return io.ErrUnexpectedEOF
	}
	return errSyntax
}

// number passes over a number.
func (c *Cursor) number() {
	if c.Kind() == '-' {
		c.at++
	}
	if c.Kind() == '0' {
		c.at++ // no digit may follow
	} else {
		c.digits()
	}
	if c.Kind() == '.' {
		c.at++
		c.digits()
	}
	if k := c.Kind(); k == 'e' || k == 'E' {
		c.at++
		if k := c.Kind(); k == '+' || k == '-' {
			c.at++
		}
		c.digits()
	}
	c.space()
}

// digits passes over digits, of which there must be one.
func (c *Cursor) digits() {
	start := c.at
	for c.at < len(c.text) && '0' <= c.text[c.at] && c.text[c.at] <= '9' {
		c.at++
	}
	if c.at == start {
		c.unexpected(errSyntax)
	}
}

// Offset is where the value that comes next begins in the text.
func (c *Cursor) Offset() int { return c.at }

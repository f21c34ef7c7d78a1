// Package changeset is the algebra of changes of a text that several people edit at the same time.
//
// A [Set] describes changes of one text. Its JSON form, its positions and the results of [Set.Map] and [Set.Compose] are those of
// the change sets of CodeMirror, so that a server and editors in browsers rebase changes alike. Positions and lengths count UTF-16
// code units, as JavaScript does. Texts are Go strings.
//
// Invariants:
//   - A set applies to texts of exactly one length. Everything else is an error, never a panic.
//   - Changes begin and end between code points, and inserted texts are valid UTF-8. Mapping and composing keep this: no result has
//     half of a surrogate pair.
//   - For sets a and b of one text, a.Compose(b.Map(a)) and b.Compose(a.Map(b, Before)) make the same text.
//
// Sets are immutable and safe for concurrent use. The package stores nothing and knows no people.
package changeset

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Why a set cannot be used.
var (
	// ErrLength means that a set is for a text of another length.
	ErrLength = errors.New("the changes are for a text of another length")
	// ErrSplit means that a change begins or ends inside a surrogate pair.
	ErrSplit = errors.New("a change begins or ends inside a character")
)

// Set is a list of changes of one text.
type Set struct{ parts []part }

// part is a section of the old text: kept, or replaced. Parts that follow each other may both be replacements.
type part struct {
	length int    // of the section in the old text
	insert int    // the length of the replacement; kept for a section that stays
	text   string // the replacement
}

// kept marks a section that stays as it is.
const kept = -1

// Units is the length of a text in UTF-16 code units.
func Units(text string) (n int) {
	for _, r := range text {
		n += width(r)
	}
	return n
}

// width is the number of UTF-16 code units of a character.
func width(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// cut divides a text after some code units. It fails inside a surrogate pair, and behind the end.
func cut(text string, units int) (head, tail string, err error) {
	if units == 0 {
		return "", text, nil
	}
	n := 0
	for i, r := range text {
		if n == units {
			return text[:i], text[i:], nil
		}
		if n += width(r); n > units {
			return "", "", ErrSplit
		}
	}
	if n < units {
		return "", "", ErrLength
	}
	return text, "", nil
}

// Nothing is the set without changes for a text of a length.
func Nothing(length int) Set {
	if length == 0 {
		return Set{}
	}
	return Set{[]part{{length, kept, ""}}}
}

// Replace is a set that replaces the code units from one position to another in a text of a length.
func Replace(length, from, to int, text string) (Set, error) {
	if from < 0 || to < from || to > length || !utf8.ValidString(text) {
		return Set{}, fmt.Errorf("replacing %d to %d of %d: %w", from, to, length, ErrLength)
	}
	var b builder
	b.section(from, kept, "")
	b.section(to-from, Units(text), text)
	b.section(length-to, kept, "")
	return b.set(), nil
}

// Length is the length of the texts that the set applies to.
func (s Set) Length() (n int) {
	for _, p := range s.parts {
		n += p.length
	}
	return n
}

// NewLength is the length of the texts that the set makes.
func (s Set) NewLength() (n int) {
	for _, p := range s.parts {
		n += p.after()
	}
	return n
}

// after is the length of a part in the new text.
func (p part) after() int {
	if p.insert == kept {
		return p.length
	}
	return p.insert
}

// Empty reports whether the set changes nothing.
func (s Set) Empty() bool {
	return len(s.parts) == 0 || len(s.parts) == 1 && s.parts[0].insert == kept
}

// Inserted and Deleted count the code units that the set adds and removes.
func (s Set) Inserted() (n int) {
	for _, p := range s.parts {
		if p.insert != kept {
			n += p.insert
		}
	}
	return n
}

// Deleted counts the code units that the set removes.
func (s Set) Deleted() (n int) {
	for _, p := range s.parts {
		if p.insert != kept {
			n += p.length
		}
	}
	return n
}

// Apply makes the new text. It fails with ErrLength or ErrSplit.
func (s Set) Apply(text string) (string, error) {
	var out strings.Builder
	out.Grow(len(text))
	err := s.walk(text, func(p part, old string) {
		if p.insert == kept {
			out.WriteString(old)
		} else {
			out.WriteString(p.text)
		}
	})
	return out.String(), err
}

// Invert is the set that turns the new text back into the old one, which is given.
func (s Set) Invert(text string) (Set, error) {
	parts := make([]part, 0, len(s.parts))
	err := s.walk(text, func(p part, old string) {
		if p.insert != kept {
			p = part{p.insert, p.length, old}
		}
		parts = append(parts, p)
	})
	return Set{parts}, err
}

// walk calls a function with every part and its section of the old text.
func (s Set) walk(text string, do func(p part, old string)) error {
	for _, p := range s.parts {
		old, rest, err := cut(text, p.length)
		if err != nil {
			return err
		}
		do(p, old)
		text = rest
	}
	if text != "" {
		return ErrLength
	}
	return nil
}

// Side is the side of an insertion at which a position stays.
type Side int

// The sides.
const (
	Left  Side = -1 // in front of text that is inserted at the position
	Right Side = 1  // behind it
)

// Position maps a position in the old text to the new text. A position inside a replaced section moves to the end of the
// replacement on its side. A position behind the text becomes its end.
func (s Set) Position(at int, side Side) int {
	before, after := 0, 0
	for _, p := range s.parts {
		end := before + p.length
		if p.insert == kept {
			if end > at {
				return after + at - before
			}
		} else if end > at || end == at && side == Left && p.length == 0 {
			if at == before || side == Left {
				return after
			}
			return after + p.insert
		}
		after += p.after()
		before = end
	}
	return after
}

// builder appends sections, joining those that CodeMirror joins.
type builder struct {
	parts []part
	open  bool // the last section goes on: what follows becomes a part of it
}

// section appends a section.
func (b *builder) section(length, insert int, text string) {
	if length == 0 && insert <= 0 {
		return
	}
	n := len(b.parts)
	if n == 0 {
		b.parts = append(b.parts, part{length, insert, text})
		return
	}
	last := &b.parts[n-1]
	switch {
	case insert <= 0 && insert == last.insert:
		last.length += length
	case length == 0 && last.length == 0, b.open:
		last.length += length
		last.insert += insert
		last.text += text
	default:
		b.parts = append(b.parts, part{length, insert, text})
	}
}

func (b *builder) set() Set { return Set{b.parts} }

// Slice is the part of a text between two positions. It reports whether both are positions between characters, in this order.
func Slice(text string, from, to int) (string, bool) {
	if from < 0 || to < from {
		return "", false
	}
	_, rest, err := cut(text, from)
	if err != nil {
		return "", false
	}
	part, _, err := cut(rest, to-from)
	return part, err == nil
}

package changeset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxUnits bounds the lengths in a set.
const MaxUnits = math.MaxInt32

// Parse reads a set as CodeMirror writes it: a number keeps code units, [n] deletes some, and [n, "line", …] replaces some by lines.
func Parse(text []byte) (Set, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if err := expect(dec, '['); err != nil {
		return Set{}, err
	}
	var parts []part
	total := 0
	for dec.PeekKind() != ']' {
		p, err := readPart(dec)
		if err != nil {
			return Set{}, err
		}
		parts = append(parts, p)
		if total += p.length + max(p.insert, 0); total > MaxUnits {
			return Set{}, errors.New("the changes are longer than any text")
		}
	}
	if err := expect(dec, ']'); err != nil {
		return Set{}, err
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return Set{}, errors.New("text follows the changes")
	}
	return Set{parts}, nil
}

func expect(dec *jsontext.Decoder, kind jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err != nil {
		return fmt.Errorf("reading changes: %w", err)
	}
	if token.Kind() != kind {
		return fmt.Errorf("changes have %v where %v belongs", token.Kind(), kind)
	}
	return nil
}

func readPart(dec *jsontext.Decoder) (part, error) {
	if dec.PeekKind() != '[' {
		n, err := readLength(dec)
		if err == nil && n == 0 {
			err = errors.New("a kept section of changes is empty")
		}
		return part{n, kept, ""}, err
	}
	if err := expect(dec, '['); err != nil {
		return part{}, err
	}
	n, err := readLength(dec)
	if err != nil {
		return part{}, err
	}
	var lines []string
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return part{}, fmt.Errorf("reading changes: %w", err)
		}
		line := token.String()
		if strings.Contains(line, "\n") {
			return part{}, errors.New("a line of changes has a line break")
		}
		lines = append(lines, line)
	}
	if err := expect(dec, ']'); err != nil {
		return part{}, err
	}
	text := strings.Join(lines, "\n")
	if text == "" && (n == 0 || len(lines) > 0) {
		return part{}, errors.New("a section of changes does nothing")
	}
	return part{n, Units(text), text}, nil
}

func readLength(dec *jsontext.Decoder) (int, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return 0, fmt.Errorf("reading changes: %w", err)
	}
	if token.Kind() != '0' {
		return 0, fmt.Errorf("changes have %v where a length belongs", token.Kind())
	}
	n, err := token.Float()
	if err != nil || n < 0 || n > MaxUnits || n != math.Trunc(n) {
		return 0, errors.New("a length of changes is out of range")
	}
	return int(n), nil
}

// AppendJSON appends the set as CodeMirror reads it.
func (s Set) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, p := range s.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		if p.insert == kept {
			dst = fmt.Appendf(dst, "%d", p.length)
			continue
		}
		dst = fmt.Appendf(dst, "[%d", p.length)
		if p.insert > 0 {
			for line := range strings.SplitSeq(p.text, "\n") {
				dst = append(dst, ',')
				dst, _ = jsontext.AppendQuote(dst, line) // lines are valid UTF-8
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// MarshalJSON implements json.Marshaler.
func (s Set) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Set) UnmarshalJSON(text []byte) (err error) {
	*s, err = Parse(text)
	return err
}

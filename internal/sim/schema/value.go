package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value. Objects keep the order of their members.
type value struct {
	kind    jsontext.Kind
	text    string // of a string; of a number, as it is written
	members []member
	items   []*value
}

type member struct {
	name  string
	value *value
}

// parse reads a JSON value.
func parse(text []byte) (*value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := read(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err == nil {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

func read(dec *jsontext.Decoder, depth int) (*value, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("it is nested more than %d deep", maxNesting)
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &value{kind: token.Kind()}
	switch v.kind {
	case '"', '0':
		v.text = token.String()
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: name.String()}
			if m.value, err = read(dec, depth+1); err != nil {
				return nil, err
			}
			v.members = append(v.members, m)
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			item, err := read(dec, depth+1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
		_, err = dec.ReadToken()
	}
	return v, err
}

// member returns the value of a name, nil if there is none.
func (v *value) member(name string) *value {
	for i := range v.members {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return nil
}

// at returns the value that a JSON pointer leads to, nil if there is none.
func (v *value) at(pointer string) *value {
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch {
		case v == nil:
			return nil
		case v.kind == '[':
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
		default:
			v = v.member(token)
		}
	}
	return v
}

// append writes the value as JSON.
func (v *value) append(to []byte) []byte {
	switch v.kind {
	case '"':
		to, _ = jsontext.AppendQuote(to, v.text) // it is UTF-8: it was decoded from JSON, or generated
	case '0':
		to = append(to, v.text...)
	case '{':
		to = append(to, '{')
		for i, m := range v.members {
			if i > 0 {
				to = append(to, ',')
			}
			to, _ = jsontext.AppendQuote(to, m.name)
			to = m.value.append(append(to, ':'))
		}
		to = append(to, '}')
	case '[':
		to = append(to, '[')
		for i, item := range v.items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.append(to)
		}
		to = append(to, ']')
	case 't':
		to = append(to, "true"...)
	case 'f':
		to = append(to, "false"...)
	default:
		to = append(to, "null"...)
	}
	return to
}

// equal compares values as JSON Schema does: numbers by what they are worth, objects without order.
func (v *value) equal(other *value) bool {
	if v.kind != other.kind || len(v.members) != len(other.members) || len(v.items) != len(other.items) {
		return false
	}
	switch v.kind {
	case '0':
		a, b := rational(v.text), rational(other.text)
		if a == nil || b == nil {
			return v.text == other.text
		}
		return a.Cmp(b) == 0
	case '"':
		return v.text == other.text
	}
	for i := range v.items {
		if !v.items[i].equal(other.items[i]) {
			return false
		}
	}
	for i := range v.members {
		theirs := other.member(v.members[i].name)
		if theirs == nil || !v.members[i].value.equal(theirs) {
			return false
		}
	}
	return true
}

// maxNumberBytes bounds the literal of a number, and with it the cost of exact arithmetic.
const maxNumberBytes = 64

// rational is the exact worth of a number, nil for one that is too long or no double can hold.
func rational(literal string) *big.Rat {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || len(literal) > maxNumberBytes || math.IsInf(f, 0) || (f == 0 && strings.ContainsAny(mantissa(literal), "123456789")) {
		return nil
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok {
		return nil
	}
	return r
}

// mantissa is a number without its exponent.
func mantissa(literal string) string {
	before, _, _ := strings.Cut(strings.ToLower(literal), "e")
	return before
}

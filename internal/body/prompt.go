package body

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Prompts counts the prompts in a value: a string, a list of strings, a list of tokens, or a list of such lists. Each of
// them is answered.
func Prompts(value []byte) int64 {
	dec := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '[' {
		return 1
	}
	if _, err := dec.ReadToken(); err != nil || dec.PeekKind() == '0' {
		return 1 // of tokens: one prompt
	}
	var n int64
	for dec.PeekKind() != ']' && dec.SkipValue() == nil {
		n++
	}
	return max(n, 1)
}

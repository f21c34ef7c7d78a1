package body

import "unicode/utf8"

// vectorBytes is how many bytes validAVX2 looks at together.
const vectorBytes = 32

// validUTF8 is [utf8.Valid], with the vector instructions that the processor has.
func validUTF8(text []byte) bool {
	if !hasVectors() || len(text) < 2*vectorBytes {
		return utf8.Valid(text)
	}
	if !validAVX2(&text[0], len(text)) {
		return false
	}
	// The rest begins with the last character of the last whole vector, which may go on in the rest.
	rest := len(text) / vectorBytes * vectorBytes
	for rest--; rest > 0 && !utf8.RuneStart(text[rest]); rest-- {
	}
	return utf8.Valid(text[rest:])
}

// validAVX2 reports whether whole vectors of a text are valid, but for a character that the last one leaves open.
//
//go:noescape
func validAVX2(text *byte, n int) bool

package body

import (
	"unicode"
	"unicode/utf8"
)

// appendFold appends a name as the most generous decoders of JSON compare it: characters without their case, and neither
// underscores nor dashes. Two names that fold to the same text are one member to some server.
//
// Go's encoding/json, .NET and Jackson can ignore case; Go's encoding/json/v2 then ignores _ and - too, and servers that read
// protocol buffers take maxTokens for max_tokens. A character stands for all characters that Unicode's simple folding makes equal, so the
// Kelvin sign is a k and the long s an s; both Turkish i are an i, as in Java. A NUL ends the name, as in C.
func appendFold(to, name []byte) []byte {
	for i := 0; i < len(name); {
		c := name[i]
		switch {
		case c == 0:
			return to
		case c == '_' || c == '-':
			i++
		case 'A' <= c && c <= 'Z':
			to, i = append(to, c|0x20), i+1
		case c < utf8.RuneSelf:
			to, i = append(to, c), i+1
		default:
			r, n := utf8.DecodeRune(name[i:])
			to, i = utf8.AppendRune(to, foldRune(r)), i+n
		}
	}
	return to
}

// foldRune is the least of the characters that are equal without their case, in lower case where it is one of ASCII.
func foldRune(r rune) rune {
	if r == 'ı' || r == 'İ' {
		return 'i'
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least |= 0x20
	}
	return least
}

//go:build !amd64

package body

import "unicode/utf8"

func blocks(text []byte, i int) (at int, seen content) { return blocksPortable(text, i) }

func hasVectors() bool { return false }

func validUTF8(text []byte) bool { return utf8.Valid(text) }

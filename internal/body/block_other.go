//go:build !amd64

package body

func blocks(text []byte, i int) (at int, seen content) { return blocksPortable(text, i) }

func hasVectors() bool { return false }

package body

import "golang.org/x/sys/cpu"

// blocks passes over blocks of a string as blocksPortable does, with the vector instructions that the processor has.
func blocks(text []byte, i int) (at int, seen content) {
	if !hasVectors() || len(text)-i < blockBytes {
		return blocksPortable(text, i)
	}
	n, backslashes, high := blocksAVX2(&text[i], len(text)-i)
	return i + n, content{escapes: backslashes != 0, nonASCII: high != 0}
}

func hasVectors() bool { return cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 }

// blocksAVX2 passes over n bytes of text, as far as whole blocks go. It stops at the first quote or control character outside
// of escapes and at the backslash of the first escape that has not exactly two bytes. backslashes is 0 if it passed no backslash; high is 0 if
// the blocks that it saw are ASCII.
//
//go:noescape
func blocksAVX2(text *byte, n int) (at int, backslashes, high uint64)

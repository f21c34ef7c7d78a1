package body

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// blockEnd defines where blocks may go, by a look at one byte after the other. It returns the place of the first byte that is neither
// text nor part of an escape of two bytes, such as the quote at the end of a string, or len(text).
func blockEnd(text []byte, i int) int {
	for i < len(text) {
		switch {
		case text[i] == '"' || text[i] < ' ':
			return i
		case text[i] != '\\':
			i++
		case i+1 < len(text) && short[text[i+1]]:
			i += 2
		default:
			return i
		}
	}
	return i
}

// insideEscape says whether a place that a scan from start reaches is the second byte of an escape.
func insideEscape(text []byte, start, at int) bool {
	for i := start; i < at; i++ {
		if text[i] == '\\' {
			i++
			if i == at {
				return true
			}
		}
	}
	return false
}

func checkBlocks(t rapid.TB, text []byte, start int) {
	t.Helper()
	for name, scan := range map[string]func([]byte, int) (int, content){"blocks": blocks, "blocksPortable": blocksPortable} {
		at, seen := scan(text, start)
		end := blockEnd(text, start)
		switch {
		case at < start || at > end:
			t.Fatalf("%s(%q, %d) stops at %d, but the string goes to %d", name, text, start, at, end)
		case insideEscape(text, start, at):
			t.Fatalf("%s(%q, %d) stops at %d, inside an escape", name, text, start, at)
		case bytes.IndexByte(text[start:at], '\\') >= 0 && !seen.escapes, bytes.IndexByte(text[start:min(at+1, len(text))], '\\') < 0 && seen.escapes:
			t.Fatalf("%s(%q, %d) says of escapes up to %d: %t", name, text, start, at, seen.escapes)
		case bytes.IndexFunc(text[start:at], func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 && !seen.nonASCII:
			t.Fatalf("%s(%q, %d) saw ASCII alone before %d", name, text, start, at)
		}
	}
}

func TestBlocksStopWhereStringsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "weir", "é", "\xff", "    ", strings.Repeat("x", 63), strings.Repeat("x", 64), `\n`, `\"`, `\\`, `\/`, `\b`, `\f`, `\r`, `\t`, `\`, `"`, `\u00e9`, `\x`, "\n", "\x1f", "\x7f", "/", "b",
		}), 0, 60).Draw(t, "pieces")
		text := []byte(strings.Join(pieces, ""))
		checkBlocks(t, text, rapid.IntRange(0, len(text)).Draw(t, "start"))
	})
}

// Every byte is tried at every place of a block, alone and behind a backslash: the tables of the vector code have an entry for each.
func TestBlocksKnowEveryByte(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		for at := range 2*blockBytes + 1 {
			text := bytes.Repeat([]byte("x"), 4*blockBytes)
			text[at+1] = byte(b)
			checkBlocks(t, text, 0)
			text[at] = '\\'
			checkBlocks(t, text, 0)
		}
	}
}

// The vector code goes as far as whole blocks do: an early stop would be right, but slow.
func TestBlocksGoFar(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(`code\n\t\"with\" escapes and é, `, 100) + `"`)
	if at, _ := blocks(text, 0); hasVectors() && len(text)-at > blockBytes {
		t.Errorf("blocks stops at %d of %d", at, len(text))
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add([]byte(strings.Repeat(`a\n\\`, 40)+`\u12"`), 0)
	f.Fuzz(func(t *testing.T, text []byte, start int) {
		if start >= 0 && start <= len(text) {
			checkBlocks(t, text, start)
		}
	})
}

package body

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func checkValid(t rapid.TB, text []byte) {
	t.Helper()
	if got, want := validUTF8(text), utf8.Valid(text); got != want {
		t.Fatalf("validUTF8(%q) = %t", text, got)
	}
}

func TestValidUTF8(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "weir", strings.Repeat("x", 31), strings.Repeat("x", 32), "é", "–", "堰", "😀", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff",
			"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xe0\xa0", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
		}), 0, 60).Draw(t, "pieces")
		checkValid(t, []byte(strings.Join(pieces, "")))
	})
}

// Every pair of bytes is tried before a byte of every kind, at the border of two vectors and inside of one.
func TestValidUTF8KnowsEveryPair(t *testing.T) {
	t.Parallel()
	const long = 100
	for first := range 256 {
		for second := range 256 {
			for _, next := range []string{"a", "\x80", "\x80\x80", "\xbf\xbf", "\xc3\xa9", "\xe2\x80\x93"} {
				for _, at := range []int{30, 31, 40} {
					text := append([]byte(strings.Repeat("a", at)), byte(first), byte(second))
					text = append(text, next...)
					checkValid(t, append(text, strings.Repeat("b", long-len(text))...))
				}
			}
		}
	}
}

// A text may end at every byte of a character.
func TestValidUTF8Ends(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 62) + "é–😀堰é😀–堰" + strings.Repeat("b", 20) + "😀"
	for end := range len(text) + 1 {
		checkValid(t, []byte(text[:end]))
	}
}

func FuzzValidUTF8(f *testing.F) {
	f.Add([]byte(strings.Repeat("naïve – ", 20)))
	f.Fuzz(func(t *testing.T, text []byte) { checkValid(t, text) })
}

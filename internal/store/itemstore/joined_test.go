package itemstore

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Payloads are joined in their order, wherever they lie, and nothing around them changes.
func TestJoined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		buffer := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "buffer")
		before := bytes.Clone(buffer)
		var j joined
		var want []byte
		at := 0
		for range rapid.IntRange(0, 8).Draw(t, "payloads") {
			if rapid.Bool().Draw(t, "elsewhere") {
				at = rapid.IntRange(0, len(buffer)).Draw(t, "at")
			}
			n := rapid.IntRange(0, len(buffer)-at).Draw(t, "length")
			p := buffer[at : at+n]
			if rapid.Bool().Draw(t, "clipped") {
				p = p[:n:n]
			}
			at += n
			want = append(want, p...)
			j.add(p)
		}
		if got := j.all(); !bytes.Equal(got, want) || got == nil || cap(got) != len(got) {
			t.Fatalf("joined %v with capacity %d, want %v", got, cap(got), want)
		}
		if !bytes.Equal(buffer, before) {
			t.Fatalf("the buffer is %v, and was %v", buffer, before)
		}
	})
}

// Payloads of one buffer are not copied.
func TestJoinedInPlace(t *testing.T) {
	t.Parallel()
	buffer := []byte("onetwothree")
	var j joined
	for _, p := range [][]byte{buffer[:3], buffer[3:6], buffer[6:]} {
		j.add(p)
	}
	if got := j.all(); &got[0] != &buffer[0] || string(got) != "onetwothree" {
		t.Errorf("%q was copied", got)
	}
}

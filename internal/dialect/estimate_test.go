package dialect

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"penstock"
)

func TestLikelyInput(t *testing.T) {
	t.Parallel()
	picture := strings.Repeat("iVBORw0KGgo", 100_000)
	for _, tt := range []struct {
		name, body string
		want       int64
	}{
		{"nothing", "", 0},
		{"words", `{"messages":[]}`, 4},
		{"a picture, whatever its size", `{"url":"` + picture + `"}`, 3 + attachmentTokens},
		{"two pictures", `["` + picture + `","` + picture + `"]`, 2 + 2*attachmentTokens},
		{"a long word", strings.Repeat("x", attachmentBytes-1), attachmentBytes / 4},
	} {
		if got := LikelyInput([]byte(tt.body), Ranking{}); got != tt.want {
			t.Errorf("%s: %d tokens, want %d", tt.name, got, tt.want)
		}
	}
}

// Looking at few bytes finds what looking at all of them does.
func TestLikelyInputLooksAtFewBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		runs := rapid.SliceOfN(rapid.IntRange(0, 3*attachmentBytes), 0, 8).Draw(t, "runs")
		var words, attached int64
		for _, run := range runs {
			text.WriteString(strings.Repeat("x", run) + " ")
			words++
			if run < attachmentBytes {
				words += int64(run)
			} else {
				attached++
			}
		}
		if got, want := LikelyInput([]byte(text.String()), Ranking{}), penstock.InputTokens(words)+attached*attachmentTokens; got != want {
			t.Errorf("%d tokens, want %d", got, want)
		}
	})
}

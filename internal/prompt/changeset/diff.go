package changeset

import (
	"strings"
	"unicode/utf8"
)

// maxDiffCells bounds the table of a comparison by lines. Where texts are longer, the part that differs is one change.
const maxDiffCells = 1 << 20

// Diff returns a small set that turns one text into another: unchanged lines stay, and so do the ends of changed lines. Both texts
// are valid UTF-8.
func Diff(from, to string) Set {
	var b builder
	head, tail := commonEnds(from, to)
	for head > 0 && from[head-1] != '\n' {
		head--
	}
	for tail > 0 && !(lineBegins(from, len(from)-tail) && lineBegins(to, len(to)-tail)) {
		tail--
	}
	b.section(Units(from[:head]), kept, "")
	diffLines(&b, from[head:len(from)-tail], to[head:len(to)-tail])
	b.section(Units(from[len(from)-tail:]), kept, "")
	return b.set()
}

// commonEnds are the bytes that two texts share at their beginnings and at their ends, in whole characters.
func commonEnds(x, y string) (head, tail int) {
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	for head > 0 && (!boundary(x, head) || !boundary(y, head)) {
		head--
	}
	x, y = x[head:], y[head:]
	for tail < len(x) && tail < len(y) && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	for tail > 0 && (!boundary(x, len(x)-tail) || !boundary(y, len(y)-tail)) {
		tail--
	}
	return head, tail
}

// lineBegins reports whether a line begins at a byte.
func lineBegins(text string, at int) bool { return at == 0 || text[at-1] == '\n' }

// boundary reports whether a character begins at a byte, or the text ends there.
func boundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// replace appends the replacement of one text by another, without the ends that they share.
func (b *builder) replace(from, to string) {
	head, tail := commonEnds(from, to)
	text := to[head : len(to)-tail]
	b.section(Units(from[:head]), kept, "")
	b.section(Units(from[head:len(from)-tail]), Units(text), text)
	b.section(Units(from[len(from)-tail:]), kept, "")
}

// diffLines appends the difference of two texts by lines.
func diffLines(b *builder, from, to string) {
	x, y := strings.SplitAfter(from, "\n"), strings.SplitAfter(to, "\n")
	if len(x)*len(y) > maxDiffCells {
		b.replace(from, to)
		return
	}
	i, j := 0, 0
	for _, pair := range commonLines(x, y) {
		b.replace(strings.Join(x[i:pair[0]], ""), strings.Join(y[j:pair[1]], ""))
		b.section(Units(x[pair[0]]), kept, "")
		i, j = pair[0]+1, pair[1]+1
	}
	b.replace(strings.Join(x[i:], ""), strings.Join(y[j:], ""))
}

// commonLines is a longest list of pairs of equal lines whose places ascend on both sides.
func commonLines(x, y []string) (pairs [][2]int) {
	width := len(y) + 1
	longest := make([]int32, (len(x)+1)*width)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

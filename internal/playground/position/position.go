// Package position writes down how far a reader of a run's events has come, so that a process that knows nothing of the reader can
// send exactly the rest. It holds no state.
package position

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"penstock"
)

// maxParts bounds the cells of a position: a run has no more.
const maxParts = 400

// Position is how much a reader of events has: all changes up to a number, and of some cells the beginning of later output.
// It tells a process that knows nothing of the reader what the rest is.
type Position struct {
	Seq   int64
	Parts map[int]Part
}

// Part is how much of the output of an open cell a reader has.
type Part struct {
	Attempt int64
	Bytes   [3]int // by kind: text, reasoning, arguments of tools
}

// String is the id of an event: 17 or, with parts, 17;cell.attempt.text.reasoning.arguments;….
func (p Position) String() string {
	var b strings.Builder
	fmt.Fprint(&b, p.Seq)
	for _, n := range slices.Sorted(maps.Keys(p.Parts)) {
		part := p.Parts[n]
		fmt.Fprintf(&b, ";%d.%d.%d.%d.%d", n, part.Attempt, part.Bytes[0], part.Bytes[1], part.Bytes[2])
	}
	return b.String()
}

// Parse reads the id of an event; "" is the beginning. Codes: invalid_request.
func Parse(text string) (Position, error) {
	p := Position{Parts: map[int]Part{}}
	if text == "" {
		return p, nil
	}
	words := strings.Split(text, ";")
	seq, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || seq < 0 || len(words) > maxParts+1 {
		return p, wrongPosition()
	}
	p.Seq = seq
	for _, word := range words[1:] {
		fields := strings.Split(word, ".")
		if len(fields) != 5 {
			return p, wrongPosition()
		}
		var n [5]int64
		for i, field := range fields {
			if n[i], err = strconv.ParseInt(field, 10, 32); err != nil || n[i] < 0 {
				return p, wrongPosition()
			}
		}
		p.Parts[int(n[0])] = Part{Attempt: n[1], Bytes: [3]int{int(n[2]), int(n[3]), int(n[4])}}
	}
	return p, nil
}

func wrongPosition() error {
	return penstock.InvalidParam("Last-Event-ID", "Last-Event-ID must be the id of an event of this stream.")
}

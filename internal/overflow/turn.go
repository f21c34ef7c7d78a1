package overflow

import (
	"strings"

	"penstock/internal/body"
)

// part is what an element of a conversation is for the division into turns.
type part uint8

const (
	partAnswer      part = iota // belongs to the turn that is open: answers, calls of tools, their results, reasoning
	partUser                    // begins a turn, unless a message of the user is before it
	partInstruction             // belongs to no turn, and is always kept
)

// element is a message, or an item of a response.
type element struct {
	at   body.Span // in the body
	part part
	turn int    // the number of its turn, -1 for an instruction
	of   *group // of its turn, nil for an instruction

	calls   []string // the ids of calls of tools in it
	results []string // the ids of the calls whose results are in it
	answers bool     // a block of it is the result of a tool
}

// kept reports whether it is always kept.
func (e *element) kept() bool { return e.of == nil || e.of.must }

// group is one or more turns that are kept together or dropped together: a later one has the result of a call in an earlier one.
type group struct {
	turns    int // how many
	first    int // the number of its first turn
	last     int
	must     bool  // it is always kept
	elements []int // in their order
}

// conversation is the list of messages of a body, divided.
type conversation struct {
	text     []byte
	elements []element
	turns    int
	groups   []*group // in the order of their first turns
}

// divided reports whether there are elements. A text instead of a list has none.
func (c *conversation) divided() bool { return len(c.elements) > 0 }

// read divides the list of messages that stands at a place of a body.
func read(text []byte, list body.Span) *conversation {
	c := &conversation{text: text}
	if !list.Found() || text[list.Start] != '[' {
		return c
	}
	cursor := body.NewCursor(text[list.Start:list.End])
	for range cursor.Elements {
		start := list.Start + cursor.Offset()
		raw := cursor.Raw()
		e := readElement(raw)
		e.at = body.Span{Start: start, End: start + len(raw)}
		c.elements = append(c.elements, e)
	}
	if cursor.End() != nil {
		c.elements = nil // the body was scanned before, so this does not happen
		return c
	}
	c.number()
	c.group()
	return c
}

// readElement finds out what an element is, without what it says.
func readElement(raw []byte) (e element) {
	c := body.NewCursor(raw)
	if c.Kind() != '{' {
		return e
	}
	kind, call := "", ""
	for name := range c.Members {
		switch n := string(name); {
		case n == "role" && c.Kind() == '"':
			e.part = partOf(c.String())
		case n == "type" && c.Kind() == '"':
			kind = c.String()
		case n == "call_id" && c.Kind() == '"':
			call = c.String()
		case (n == "content" || n == "tool_calls") && c.Kind() == '[':
			for range c.Elements {
				e.block(&c)
			}
		default:
			e.link(n, &c)
		}
	}
	if strings.HasSuffix(kind, "_output") { // a call and its result have the same member in responses
		e.results = append(e.results, call)
	} else if call != "" {
		e.calls = append(e.calls, call)
	}
	return e
}

// block reads a block of content, or a call of a tool. Messages of results have the role of the user in Anthropic's format.
func (e *element) block(c *body.Cursor) {
	if c.Kind() != '{' {
		c.Skip()
		return
	}
	for name := range c.Members {
		if n := string(name); n == "type" && c.Kind() == '"' {
			e.answers = strings.HasSuffix(c.String(), "tool_result") || e.answers
		} else {
			e.link(n, c)
		}
	}
}

// link reads a member that may name a call of a tool, or the call that something is the result of.
func (e *element) link(name string, c *body.Cursor) {
	switch {
	case c.Kind() != '"':
		c.Skip()
	case name == "id":
		e.calls = append(e.calls, c.String())
	case name == "tool_call_id" || name == "tool_use_id" || name == "approval_request_id":
		e.results = append(e.results, c.String())
	default:
		c.Skip()
	}
}

func partOf(role string) part {
	switch role {
	case "system", "developer":
		return partInstruction
	case "assistant", "model", "tool", "function", "ipython":
		return partAnswer
	}
	return partUser
}

// number numbers the turns. Answers before the first message of the user are a turn too.
func (c *conversation) number() {
	turn, before := -1, partAnswer
	for i := range c.elements {
		e := &c.elements[i]
		if e.turn = -1; e.part == partInstruction {
			continue
		}
		if e.answers {
			e.part = partAnswer
		}
		if turn < 0 || e.part == partUser && before != partUser {
			turn++
		}
		e.turn, before = turn, e.part
	}
	c.turns = turn + 1
}

// group joins the turns of calls and of their results, and marks the last turn as one that must be kept. Some clients use an id again in
// a later turn: a result belongs to the nearest call before it.
func (c *conversation) group() {
	joined := make([]int, c.turns) // the turn that a turn was joined with: an earlier one, or itself
	for i := range joined {
		joined[i] = i
	}
	find := func(turn int) int {
		for joined[turn] != turn {
			joined[turn] = joined[joined[turn]] // the way is shorter the next time
			turn = joined[turn]
		}
		return turn
	}
	called := make(map[string]int)
	for i := range c.elements {
		e := &c.elements[i]
		if e.turn < 0 {
			continue
		}
		for _, id := range e.calls {
			called[id] = e.turn
		}
		for _, id := range e.results {
			if turn, ok := called[id]; ok {
				a, b := find(turn), find(e.turn)
				joined[max(a, b)] = min(a, b)
			}
		}
	}
	groups := make([]*group, c.turns)
	for turn := range joined {
		g := groups[find(turn)]
		if g == nil { // the first turn of a group is the one that all others were joined with
			g = &group{first: turn}
			c.groups = append(c.groups, g)
		}
		groups[turn] = g
		g.turns, g.last, g.must = g.turns+1, turn, turn == c.turns-1
	}
	for i := range c.elements {
		if e := &c.elements[i]; e.turn >= 0 {
			e.of = groups[e.turn]
			e.of.elements = append(e.of.elements, i)
		}
	}
}

// protect marks the turns of the last n elements as turns that must be kept.
func (c *conversation) protect(n int) {
	for _, e := range c.elements[max(0, len(c.elements)-n):] {
		if e.of != nil {
			e.of.must = true
		}
	}
}

// removals are the edits that remove groups. The last element of a list is never removed, since it is an instruction or in the last
// turn. So a removed element goes with the comma behind it.
func (c *conversation) removals(dropped []*group) (edits []body.Edit) {
	gone := make(map[*group]bool, len(dropped))
	for _, g := range dropped {
		gone[g] = true
	}
	for i := range c.elements[:len(c.elements)-1] {
		e, next := &c.elements[i], &c.elements[i+1]
		if gone[e.of] {
			edits = append(edits, body.Edit{At: body.Span{Start: e.at.Start, End: next.at.Start}})
		}
	}
	return edits
}

package content

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Change is what happened to a part of a content.
type Change string

// The changes.
const (
	Same    Change = "same"
	Changed Change = "changed"
	Added   Change = "added"
	Removed Change = "removed"
)

// Changes lists every change.
var Changes = []Change{Same, Changed, Added, Removed}

// Diff is the difference between two contents.
type Diff struct {
	Messages []MessageDiff
	Config   []MemberDiff // members that differ, by name
	Schema   []MemberDiff // properties of the input schema that differ, and other members of it
}

// MessageDiff is a message of either content, or of both.
type MessageDiff struct {
	Change   Change
	From, To *int // places in the lists of messages, from 0; nil on the side that lacks the message
	Role     string
	Lines    []Line // of the text; only "same", "added" and "removed"
}

// Line is a line of a message in either version.
type Line struct {
	Change Change
	Text   string
}

// MemberDiff is a member that differs. The value is nil where the member is absent.
type MemberDiff struct {
	Name     string
	From, To json.RawMessage
}

// Compare returns the difference between two contents.
func Compare(from, to Content) Diff {
	return Diff{
		Messages: compareMessages(messagesOf(from), messagesOf(to)),
		Config:   compareMembers(from.Config, to.Config),
		Schema:   compareMembers(schemaMembers(from.InputSchema), schemaMembers(to.InputSchema)),
	}
}

// Empty reports whether nothing differs.
func (d Diff) Empty() bool {
	changed := slices.ContainsFunc(d.Messages, func(m MessageDiff) bool { return m.Change != Same })
	return !changed && len(d.Config) == 0 && len(d.Schema) == 0
}

// shown is a message as lines.
type shown struct {
	role  string
	lines []string
}

func (s shown) equal(other shown) bool {
	return s.role == other.role && slices.Equal(s.lines, other.lines)
}

func messagesOf(c Content) []shown {
	if c.Kind == KindText {
		return []shown{{"", strings.Split(c.Text, "\n")}}
	}
	all := make([]shown, len(c.Messages))
	for i, m := range c.Messages {
		all[i] = shown{role: m.Role, lines: linesOf(m)}
		if m.Placeholder != "" {
			all[i] = shown{role: "placeholder", lines: []string{m.Placeholder}}
		}
	}
	return all
}

func linesOf(m Message) (lines []string) {
	if m.Content.Parts == nil {
		lines = strings.Split(m.Content.Text, "\n")
	}
	for _, p := range m.Content.Parts {
		if p.Type == PartImage {
			lines = append(lines, strings.TrimSpace("image_url: "+p.ImageURL.URL+" "+p.ImageURL.Detail))
		} else {
			lines = append(lines, strings.Split(p.Text, "\n")...)
		}
	}
	for _, call := range m.ToolCalls {
		lines = append(lines, "tool_call: "+call.ID+" "+call.Function.Name+" "+call.Function.Arguments)
	}
	if m.Name != "" {
		lines = append(lines, "name: "+m.Name)
	}
	if m.ToolCallID != "" {
		lines = append(lines, "tool_call_id: "+m.ToolCallID)
	}
	return lines
}

// compareMessages aligns messages: those that are equal belong together, and those between them in their order.
func compareMessages(from, to []shown) (out []MessageDiff) {
	i, j := 0, 0
	flush := func(endI, endJ int) {
		for ; i < endI && j < endJ; i, j = i+1, j+1 {
			out = append(out, messagePair(from, to, i, j))
		}
		for ; i < endI; i++ {
			out = append(out, MessageDiff{Change: Removed, From: new(i), Role: from[i].role, Lines: whole(from[i].lines, Removed)})
		}
		for ; j < endJ; j++ {
			out = append(out, MessageDiff{Change: Added, To: new(j), Role: to[j].role, Lines: whole(to[j].lines, Added)})
		}
	}
	for _, pair := range align(len(from), len(to), func(x, y int) bool { return from[x].equal(to[y]) }) {
		flush(pair[0], pair[1])
		out = append(out, MessageDiff{Change: Same, From: new(pair[0]), To: new(pair[1]), Role: to[pair[1]].role, Lines: whole(to[pair[1]].lines, Same)})
		i, j = pair[0]+1, pair[1]+1
	}
	flush(len(from), len(to))
	return out
}

func messagePair(from, to []shown, i, j int) MessageDiff {
	return MessageDiff{Change: Changed, From: new(i), To: new(j), Role: to[j].role, Lines: compareLines(from[i].lines, to[j].lines)}
}

func whole(lines []string, change Change) []Line {
	all := make([]Line, len(lines))
	for i, text := range lines {
		all[i] = Line{change, text}
	}
	return all
}

func compareLines(from, to []string) (out []Line) {
	i, j := 0, 0
	flush := func(endI, endJ int) {
		out = append(append(out, whole(from[i:endI], Removed)...), whole(to[j:endJ], Added)...)
	}
	for _, pair := range align(len(from), len(to), func(x, y int) bool { return from[x] == to[y] }) {
		flush(pair[0], pair[1])
		out = append(out, Line{Same, from[pair[0]]})
		i, j = pair[0]+1, pair[1]+1
	}
	flush(len(from), len(to))
	return out
}

// maxAlign bounds the table of an alignment. Longer texts are shown as removed and added where they differ.
const maxAlign = 4_000_000

// align returns a longest list of pairs of equal elements whose places ascend on both sides.
func align(n, m int, equal func(i, j int) bool) (pairs [][2]int) {
	head := 0
	for head < n && head < m && equal(head, head) {
		pairs = append(pairs, [2]int{head, head})
		head++
	}
	tail := 0
	for tail < n-head && tail < m-head && equal(n-1-tail, m-1-tail) {
		tail++
	}
	pairs = append(pairs, alignMiddle(span{head, n - tail}, span{head, m - tail}, equal)...)
	for k := tail; k > 0; k-- {
		pairs = append(pairs, [2]int{n - k, m - k})
	}
	return pairs
}

type span struct{ from, to int }

func (s span) length() int { return s.to - s.from }

// alignMiddle fills a table with the lengths of the longest common subsequences of all suffixes.
func alignMiddle(left, right span, equal func(i, j int) bool) (pairs [][2]int) {
	n, m := left.length(), right.length()
	if n == 0 || m == 0 || n > maxAlign/m {
		return nil
	}
	width := m + 1
	longest := make([]int32, (n+1)*width)
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if equal(left.from+i, right.from+j) {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case equal(left.from+i, right.from+j):
			pairs = append(pairs, [2]int{left.from + i, right.from + j})
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// schemaMembers are the members of a schema; those of its properties as properties.NAME.
func schemaMembers(text json.RawMessage) map[string]json.RawMessage {
	var all, properties map[string]json.RawMessage
	if text == nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	if json.Unmarshal(all["properties"], &properties) == nil {
		delete(all, "properties")
		for name, value := range properties {
			all["properties."+name] = value
		}
	}
	return all
}

func compareMembers(from, to map[string]json.RawMessage) (out []MemberDiff) {
	names := map[string]bool{}
	for name := range from {
		names[name] = true
	}
	for name := range to {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !sameJSON(from[name], to[name]) {
			out = append(out, MemberDiff{Name: name, From: from[name], To: to[name]})
		}
	}
	return out
}

// sameJSON compares values; the order of members does not count.
func sameJSON(x, y json.RawMessage) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	cx, errX := canonical(x)
	cy, errY := canonical(y)
	return errX == nil && errY == nil && bytes.Equal(cx, cy)
}

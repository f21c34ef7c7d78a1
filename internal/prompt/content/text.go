package content

import (
	"bytes"
	"fmt"
	"slices"
)

// Text is a text of a content that people edit: the text of a text prompt, the text of a message, or a text part of a message.
type Text struct {
	Where string  // such as text, messages[0].content or messages[1].content[2].text
	Value *string // in the content
	kind  string  // texts of different kinds do not continue each other
}

// Texts are the texts of a content, in their order. Other members that have templates, such as the URLs of images, are not among
// them.
func (c *Content) Texts() []Text {
	if c.Kind == KindText {
		return []Text{{Where: "text", Value: &c.Text}}
	}
	var all []Text
	for i := range c.Messages {
		m := &c.Messages[i]
		where := fmt.Sprintf("messages[%d].content", i)
		if m.Placeholder == "" && m.Content.Parts == nil {
			all = append(all, Text{where, &m.Content.Text, m.Role})
		}
		for j := range m.Content.Parts {
			if p := &m.Content.Parts[j]; p.Type == PartText {
				all = append(all, Text{fmt.Sprintf("%s[%d].text", where, j), &p.Text, m.Role + " part"})
			}
		}
	}
	return all
}

// Clone returns a content whose texts can be changed without a change of the original.
func (c Content) Clone() Content {
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		c.Messages[i].Content.Parts = slices.Clone(c.Messages[i].Content.Parts)
	}
	return c
}

// PairTexts says, for each text of a new content, the text of the old content that it continues; -1 for none. Equal texts belong
// together, and texts of the same role between them in their order.
func PairTexts(was, now Content) []int {
	from, to := was.Texts(), now.Texts()
	pairs := slices.Repeat([]int{-1}, len(to))
	i, j := 0, 0
	flush := func(endI, endJ int) {
		for ; i < endI && j < endJ; i, j = i+1, j+1 {
			if from[i].kind == to[j].kind {
				pairs[j] = i
			}
		}
	}
	for _, pair := range align(len(from), len(to), func(x, y int) bool { return from[x].kind == to[y].kind && *from[x].Value == *to[y].Value }) {
		flush(pair[0], pair[1])
		pairs[pair[1]] = pair[0]
		i, j = pair[0]+1, pair[1]+1
	}
	flush(len(from), len(to))
	return pairs
}

// SameStructure reports whether two contents differ in their texts at most.
func SameStructure(x, y Content) (bool, error) {
	var forms [2][]byte
	for i, c := range []Content{x.Clone(), y.Clone()} {
		for _, t := range c.Texts() {
			*t.Value = ""
		}
		var err error
		if forms[i], err = canonical(c); err != nil {
			return false, err
		}
	}
	return bytes.Equal(forms[0], forms[1]), nil
}

package filter

import (
	"context"
	"errors"
)

// PartKind says what a part of an answer is.
type PartKind int

// The kinds.
const (
	PartText          PartKind = iota // words for the caller
	PartToolArguments                 // of a tool call, as JSON text
	PartReasoning                     // thinking, as far as it is shown
	PartRaw                           // bytes that no editor has read
)

// Part is a piece of generated text in a chunk. The parts of one Kind, Choice and Index make one text, over all chunks.
type Part struct {
	Kind   PartKind
	Choice int // which of several answers
	Index  int // which content block, output item or tool call of the answer
	Text   string
	Ends   bool // the text is complete with this part
}

// Editor reads and edits the chunks of one answer, in the dialect of its caller. Package dialect has one for each dialect.
type Editor interface {
	// Parts adds the parts of a chunk to a list, in the order of the chunk. A chunk that generates nothing has none.
	Parts(to []Part, wire []byte) ([]Part, error)
	// Replace returns the chunk with other texts in its parts, which are those of Parts in the same order. A review that holds text
	// back leaves it out of one chunk and adds it to a later one, at the latest to the part that Ends.
	Replace(wire []byte, parts []Part) ([]byte, error)
}

// errNotEditable is the failure of an Edit where no editor is.
var errNotEditable = errors.New("a filter edited an answer whose dialect has no editor")

// Chunk is a part of an answer: the whole body of a plain one, an event of a streamed one, or the words of an upstream about its
// failure.
type Chunk struct {
	Wire  []byte // as the caller would receive it
	Last  bool   // the answer is complete with this chunk
	Error bool   // the upstream failed, and these are its words

	text   string // the generated text, as far as the provider read it
	editor Editor // nil for none
	parts  []Part // as they were read last
	read   bool
}

// Parts are the generated texts of the chunk. They are read when they are asked for, so that a filter which does not look costs
// nothing. They are valid until the next chunk.
func (c *Chunk) Parts() ([]Part, error) {
	if c.read {
		return c.parts, nil
	}
	c.parts = c.parts[:0]
	switch {
	case c.Error || (c.editor == nil && c.text == ""):
		if len(c.Wire) > 0 {
			c.parts = append(c.parts, Part{Kind: PartRaw, Text: string(c.Wire)})
		}
	case c.editor == nil:
		c.parts = append(c.parts, Part{Kind: PartText, Text: c.text})
	default:
		var err error
		if c.parts, err = c.editor.Parts(c.parts, c.Wire); err != nil {
			return nil, err
		}
	}
	c.read = true
	return c.parts, nil
}

// Replace puts other texts into the parts of the chunk, which are those of Parts in the same order. The review that does so returns
// an Edit. Where no editor is, it fails: an answer that has to be edited and cannot be is not passed on.
func (c *Chunk) Replace(parts []Part) (err error) {
	switch {
	case c.Error:
		if len(parts) != 1 {
			return errNotEditable
		}
		c.Wire = []byte(parts[0].Text)
	case c.editor == nil:
		return errNotEditable
	default:
		if c.Wire, err = c.editor.Replace(c.Wire, parts); err != nil {
			return err
		}
	}
	c.read = false
	return nil
}

// Answer is an answer that filters judge while it arrives. A nil Answer passes everything.
type Answer struct {
	subject Subject
	reviews []Review
	chunk   Chunk
}

// Begin begins to judge an answer. It returns nil when no filter wants to.
func (c *Chain) Begin(s Subject) *Answer {
	if c == nil || len(c.Outputs) == 0 {
		return nil
	}
	return c.begin(s)
}

// begin is apart from Begin so that a chain without output filters allocates nothing.
func (c *Chain) begin(s Subject) *Answer {
	a := &Answer{subject: s}
	for _, f := range c.Outputs {
		if r := f.Review(&a.subject); r != nil {
			a.reviews = append(a.reviews, r)
		}
	}
	if len(a.reviews) == 0 {
		return nil
	}
	if c.Editor != nil {
		a.chunk.editor = c.Editor(s.Endpoint)
	}
	return a
}

// Arrival is a chunk as it arrives, before it is judged.
type Arrival struct {
	Wire []byte
	Text string
	Last bool
}

// Chunk judges a chunk, and returns the bytes to pass on. A chunk that is not meant for the caller, with no bytes, is not judged.
// Codes: content_blocked, internal.
func (a *Answer) Chunk(ctx context.Context, from Arrival) ([]byte, error) {
	if a == nil || len(from.Wire) == 0 {
		return from.Wire, nil
	}
	c := &a.chunk // the editor and the memory of parts stay
	c.Wire, c.text, c.Last, c.Error, c.read = from.Wire, from.Text, from.Last, false, false
	return a.judge(ctx)
}

// Text is the text of the chunk that was judged last, of all its parts that callers read as text.
func (a *Answer) Text() string {
	parts, err := a.chunk.Parts()
	if err != nil {
		return ""
	}
	text := ""
	for _, p := range parts {
		if p.Kind == PartText {
			text += p.Text
		}
	}
	return text
}

// Failure judges the words of an upstream about its failure: its body, or the message that was made of it. Codes: content_blocked,
// internal.
func (a *Answer) Failure(ctx context.Context, words []byte) ([]byte, error) {
	if a == nil || len(words) == 0 {
		return words, nil
	}
	c := &a.chunk
	c.Wire, c.text, c.Last, c.Error, c.read = words, "", false, true, false
	return a.judge(ctx)
}

func (a *Answer) judge(ctx context.Context) ([]byte, error) {
	for _, r := range a.reviews {
		v, err := r.Chunk(ctx, &a.chunk)
		switch {
		case err != nil:
			return nil, failed(err)
		case v.Action == Block:
			return nil, blocked(v, "The answer was blocked.")
		}
	}
	return a.chunk.Wire, nil
}

package filter

import (
	"context"
	"errors"

	"penstock"
	"penstock/internal/dialect/edit"
)

// errCount is the failure of a Replace with more or fewer deltas than the chunk has.
var errCount = errors.New("a filter replaced other deltas than those of the chunk")

// Chunk is a part of an answer: the whole body of a plain answer, an event of a streamed one, or the error message of an upstream.
type Chunk struct {
	Wire  []byte // as the caller would receive it
	Last  bool   // the answer is complete with this chunk
	Error bool   // Wire is the error body or the error message of an upstream

	endpoint penstock.Endpoint
	form     edit.Form
	reader   *reviewed    // the review that is asked
	read     bool         // by that review
	deltas   []edit.Delta // of the review that read the chunk last
}

// Deltas are the texts of the chunk: text, tool arguments, reasoning, and all other strings that an upstream wrote. A chunk is
// parsed when a review asks for its deltas, so a review that does not look costs nothing. The deltas are valid until the review
// returns. The review may change their texts for Replace.
//
// A text that is complete has a delta with Last, which may be empty. A review that held text back returns it there: the editor puts
// it into an event of its own if the chunk has no place for it.
func (c *Chunk) Deltas() []edit.Delta {
	if c.read {
		return c.deltas
	}
	if c.reader.editor == nil {
		c.reader.editor = edit.New(c.endpoint)
	}
	c.deltas, c.Wire = c.reader.editor.Read(c.deltas[:0], c.Wire, c.form)
	c.read = true
	return c.deltas
}

// Replace puts the texts of other deltas into the chunk, in the order of Deltas. The review returns an Edit then.
func (c *Chunk) Replace(deltas []edit.Delta) error {
	if len(c.Deltas()) != len(deltas) {
		return errCount
	}
	c.Wire = c.reader.editor.Replace(deltas)
	copy(c.deltas, deltas)
	return nil
}

// Answer is an answer that filters judge while it arrives. A nil Answer passes everything.
type Answer struct {
	subject Subject
	reviews []reviewed
	chunk   Chunk
}

// reviewed is an answer as one review sees it: with the edits of the reviews before. So each review has an editor of its own.
type reviewed struct {
	review Review
	editor *edit.Editor // nil until the review asks for deltas
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
	a := &Answer{subject: s, chunk: Chunk{endpoint: s.Endpoint}}
	for _, f := range c.Outputs {
		if r := f.Review(&a.subject); r != nil {
			a.reviews = append(a.reviews, reviewed{review: r})
		}
	}
	if len(a.reviews) == 0 {
		return nil
	}
	return a
}

// Arrival is a chunk as it arrives, before it is judged.
type Arrival struct {
	Wire []byte
	Form edit.Form
	Last bool
}

// Chunk judges a chunk, and returns the bytes to pass on. A chunk that is not meant for the caller, with no bytes, is not judged.
// Codes: content_blocked, internal.
func (a *Answer) Chunk(ctx context.Context, from Arrival) ([]byte, error) {
	if a == nil || len(from.Wire) == 0 {
		return from.Wire, nil
	}
	a.chunk.Last, a.chunk.Error, a.chunk.form = from.Last, false, from.Form
	return a.judge(ctx, from.Wire)
}

// Text is the text for the user in the chunk that was judged last, if a review has read it.
func (a *Answer) Text() string {
	text := ""
	for _, d := range a.chunk.deltas {
		if d.Kind == edit.Text {
			text += d.Text
		}
	}
	return text
}

// Failure judges the error of an upstream: its body, or the message that was made of it. Codes: content_blocked, internal.
func (a *Answer) Failure(ctx context.Context, message []byte) ([]byte, error) {
	if a == nil || len(message) == 0 {
		return message, nil
	}
	a.chunk.Last, a.chunk.Error, a.chunk.form = false, true, edit.Error
	return a.judge(ctx, message)
}

func (a *Answer) judge(ctx context.Context, wire []byte) ([]byte, error) {
	c := &a.chunk
	c.Wire, c.deltas = wire, c.deltas[:0]
	for i := range a.reviews {
		r := &a.reviews[i]
		c.reader, c.read = r, false
		v, err := r.review.Chunk(ctx, c)
		switch {
		case err != nil:
			return nil, failed(err)
		case v.Action == Block:
			return nil, blocked(v, "The answer was blocked.")
		case r.editor != nil:
			c.Deltas() // a chunk that the review skipped may repeat a text that the review edited before
		}
	}
	return c.Wire, nil
}

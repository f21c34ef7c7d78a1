// Package overflow shortens conversations that are longer than the context of their model. It divides the messages of a body
// into turns, counts them, and drops whole turns by the policy of the model.
//
// It owns the rule of what may be dropped. Instructions, definitions of tools and the last turn of the user are always kept. The
// call of a tool and its result are kept together or dropped together. The bytes of the kept messages do not change.
//
// A turn is one or more messages of the user, one after the other, and all that follows up to the next message of the user: answers,
// calls of tools, results of tools, and reasoning. So the messages that are left have an order of roles that the format allows.
//
// The package decides nothing about targets: its caller says how many tokens are allowed. It holds no state besides the vocabulary of
// the tokenizer, and is safe for concurrent use.
package overflow

import (
	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/token"
)

// Cutter shortens conversations. The zero value is ready.
type Cutter struct{ tokens token.Counter }

// Window is how many tokens of input are allowed.
type Window struct {
	// Goal is what a conversation is shortened to. The rest of the context is for the answer.
	Goal int64
	// Limit is the most that the context takes. Messages that must be kept may use it all; it is at least Goal.
	Limit int64
}

// Order is a body to be shortened.
type Order struct {
	Inference *dialect.Inference
	Policy    penstock.OnOverflow
	Window    Window
	// Own is how many messages at the end of the conversation must be kept, 0 for those of the last turn.
	Own int
}

// Cut is the result. A body that is short enough, and one without turns to drop, has no Text.
type Cut struct {
	Text   []byte // the shortened body; nil if nothing was dropped
	Turns  int64  // that were dropped
	Before int64  // tokens of the body; an estimate where many tokens were dropped
	After  int64  // tokens that are left, by the tokenizer
}

// Applies reports whether the bodies of an endpoint have turns.
func Applies(e penstock.Endpoint) bool {
	entry, ok := catalog.Of(e)
	return ok && entry.Conversation != "" && !entry.Free
}

// member is the name of the list of messages of an inference, "" for an endpoint without turns.
func member(inf *dialect.Inference) string {
	if inf.Format == nil {
		return ""
	}
	entry, _ := catalog.Of(inf.Format.Endpoint)
	return entry.Conversation
}

// Bound is more tokens than a body can have by the tokenizer. It costs nothing, and shows of nearly all calls that they are short
// enough: a token is at least one byte, and the frame of a message is shorter than the names in it.
func Bound(o body.Object) int64 { return int64(len(o.Text)) + o.Media()*token.PerImage }

// Input is how many tokens of input a body has: by the tokenizer, unless it surely has at most enough of them.
func (c *Cutter) Input(o body.Object, enough int64) int64 {
	if bound := Bound(o); bound <= enough {
		return bound
	}
	return c.tokens.Body(o.Text)
}

// Cut shortens a conversation to the goal of its window. If the messages that must be kept have more tokens than the goal, all others
// are dropped; the caller compares After with the limit.
func (c *Cutter) Cut(o Order) Cut {
	list := o.Inference.Object.Value(member(o.Inference))
	turns := read(o.Inference.Object.Text, list)
	turns.protect(o.Own)
	m := meter{tokens: &c.tokens, name: member(o.Inference), limit: o.Window.Limit}
	for _, other := range o.Inference.Object.Members {
		if other.Name == m.name && turns.divided() {
			continue
		}
		m.add(other.Name, o.Inference.Object.Text[other.Value.Start:other.Value.End])
	}
	chosen := turns.choose(&m, o)
	cut := Cut{After: m.kept, Before: m.kept + chosen.tokens}
	for _, g := range chosen.dropped {
		cut.Turns += int64(g.turns)
	}
	if cut.Turns > 0 {
		cut.Text = body.Apply(o.Inference.Object.Text, turns.removals(chosen.dropped)...)
	}
	return cut
}

package work

import (
	"context"

	"penstock"
	"penstock/internal/dialect/assemble"
	"penstock/internal/inflight"
	"penstock/internal/provider"
	"penstock/internal/store"
)

// answer collects an item's answer while it arrives.
type answer struct {
	assemble.Sink
	held        heldAnswer
	deltaWriter *deltaWriter // nil when the answer is not streamed
}

// newAnswer returns the answer of a claimed item, and the body of its request.
func (p *Pool) newAnswer(ctx context.Context, c *store.Claimed) (*answer, []byte, error) {
	a := &answer{held: heldAnswer{p.Answers.Open(c.Tenant), ctx}}
	mode, say := penstock.StreamNone, (func(string))(nil)
	if p.deltaRecorder != nil && c.Stream != penstock.StreamNone {
		mode, say = c.Stream, func(piece string) { a.deltaWriter.add(piece) }
	}
	var body []byte
	var err error
	if a.Sink, body, err = assemble.NewSink(c.Endpoint, mode, c.Body, say); err != nil {
		return nil, nil, err
	}
	if a.Streams() {
		a.deltaWriter = p.deltaRecorder.begin(*c)
	}
	return a, body, nil
}

// Chunk implements attempt.Sink. The reader of a plain answer has accounted for its memory: the answer keeps a copy, and soon
// the only one. The memory of a streamed answer's parts is accounted for here, which may wait.
func (a *answer) Chunk(c provider.Chunk) error {
	if !a.Streams() {
		a.held.account.Add(int64(len(c.Wire)))
	} else if err := a.held.hold(len(c.Wire)); err != nil {
		return err
	}
	return a.Sink.Chunk(c)
}

// heldAnswer accounts for the memory of an answer until it is recorded.
type heldAnswer struct {
	account inflight.Account
	ctx     context.Context // of the item: it ends when the answer is not needed any more
}

// hold takes the memory of more bytes, and waits for it if necessary.
func (h *heldAnswer) hold(n int) error {
	if err := h.account.Wait(h.ctx.Done(), int64(n)); err != nil {
		e := penstock.AsError(err)
		return &provider.Error{Kind: provider.KindMemory, Message: "There was no memory for the answer: " + e.Message, RetryAfter: e.RetryAfter, Err: e}
	}
	return nil
}

// close ends the answer, and returns the text that was not streamed yet.
func (a *answer) close() []store.Delta {
	if a.deltaWriter == nil {
		return nil
	}
	return a.deltaWriter.end()
}

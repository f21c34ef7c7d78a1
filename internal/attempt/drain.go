package attempt

import (
	"context"
	"errors"

	"penstock/internal/drain"
	"penstock/internal/provider"
)

// outlive is the context of a try whose stream may outlive its caller, or else the caller's own.
func (t *try) outlive(ctx context.Context) context.Context {
	if t.target.DrainTimeout == 0 || !t.task.Stream || t.task.Tenant == "" {
		return ctx
	}
	ctx, t.drain = drain.New(ctx, t.target.DrainTimeout)
	return ctx
}

// hand gives a chunk to the sink, or counts its bytes if the caller left.
func (t *try) hand(chunk provider.Chunk) error {
	if !t.drain.Left() {
		if err := t.sink.Chunk(chunk); err == nil || t.endedBy(err) {
			return err
		}
		t.drain.Leave()
	}
	return t.drain.Miss(len(chunk.Wire))
}

// endedBy reports whether an error of the sink ends the answer.
func (t *try) endedBy(err error) bool {
	_, says := errors.AsType[*provider.Error](err)
	return says || t.drain == nil
}

// waiting is the hook that has the sink send what it keeps back; nil for a sink that keeps nothing back.
func (t *try) waiting() func() error {
	var ok bool
	if t.flusher, ok = t.sink.(Flusher); !ok || !t.task.Stream {
		return nil
	}
	return t.flush
}

// flush has the sink send what it keeps back.
func (t *try) flush() error {
	if !t.begun || t.drain.Left() {
		return nil
	}
	err := t.flusher.Flush()
	switch {
	case err == nil:
	case t.endedBy(err):
		t.flushErr = refused(err)
	default:
		t.drain.Leave()
		t.flushErr = t.drain.Miss(1) // or more: the sink does not say
	}
	return t.flushErr
}

// drained is the end of an answer that was read to its end: an error if its caller did not receive all of it.
func (t *try) drained() *provider.Error {
	if !t.drain.Missed() {
		return nil
	}
	return &provider.Error{Kind: provider.KindCancelled, Message: "The caller left before the answer was complete; the rest was read to learn what it used."}
}

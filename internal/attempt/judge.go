package attempt

import (
	"context"
	"errors"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/dialect/edit"
	"penstock/internal/filter"
	"penstock/internal/provider"
)

// subject describes a task to filters.
func (task *Task) subject() filter.Subject {
	return filter.Subject{ID: task.Subject, Tenant: task.Owner, Key: task.Key, Model: task.Model, Endpoint: task.Endpoint}
}

// formOf is how the chunks of an answer are framed. An upstream may answer a request for a stream with a plain body.
func formOf(meta provider.Meta) edit.Form {
	if strings.HasPrefix(meta.ContentType, "text/event-stream") {
		return edit.Events
	}
	return edit.Plain
}

// judge asks the filters about a chunk before the sink receives the chunk, and replaces its bytes by those that the filters return.
// An answer that the filters block has been generated and is charged for.
func (t *try) judge(ctx context.Context, chunk *provider.Chunk) error {
	chunk.More = false // the next one has to be judged first, which may take time
	wire, err := t.filtered.Chunk(ctx, filter.Arrival{Wire: chunk.Wire, Form: t.form, Last: chunk.Last})
	if err != nil {
		t.blocked = true
		return withheld(err)
	}
	if len(wire) != len(chunk.Wire) || (len(wire) > 0 && &wire[0] != &chunk.Wire[0]) {
		chunk.Wire, chunk.Text = wire, t.filtered.Text()
	}
	return nil
}

// judgeFailure asks the filters about the error body and the error message of an upstream, which callers and records receive.
// Messages of Penstock are not judged. A call that several tasks share fails as a whole: its error is judged here, and its answer by
// the part.
func (t *try) judgeFailure(ctx context.Context, failure *provider.Error) *provider.Error {
	if t.task.parts && t.filtered == nil {
		t.filtered = t.runner.Filters.Begin(t.task.subject())
	}
	if t.filtered == nil || t.blocked || slices.Contains(ownKinds, failure.Kind) {
		return failure
	}
	judged := *failure
	body, err := t.filtered.Failure(ctx, failure.Body)
	if err == nil && failure.Message != "" {
		var message []byte
		message, err = t.filtered.Failure(ctx, []byte(failure.Message))
		judged.Message = string(message)
	}
	if err != nil {
		// The kind of the failure stays. Only the message is replaced.
		body, judged.Message, judged.Err = nil, penstock.AsError(err).Message, err
	}
	judged.Body = body
	return &judged
}

// ownKinds are the failures whose message Penstock wrote.
var ownKinds = []provider.Kind{provider.KindCancelled, provider.KindInternal, provider.KindMemory}

// withheld is the failure of an answer that a filter blocked: the same as that of an upstream which blocks the answer itself, unless
// the filter failed.
func withheld(err error) *provider.Error {
	kind := provider.KindContentBlocked
	if penstock.ErrorCode(err) != penstock.CodeContentBlocked {
		kind = provider.KindInternal
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e
	}
	return &provider.Error{Kind: kind, Message: penstock.AsError(err).Message, Err: err}
}

package attempt

import (
	"context"
	"errors"
	"slices"

	"penstock"
	"penstock/internal/filter"
	"penstock/internal/provider"
)

// subject is what filters are told of a task.
func (task *Task) subject() filter.Subject {
	return filter.Subject{ID: task.Subject, Tenant: task.Owner, Key: task.Key, Model: task.Model, Endpoint: task.Endpoint}
}

// judge has the filters judge a chunk before anybody sees it, and puts the bytes in its place that they let through. An answer that
// they block has been generated and is charged for.
func (t *try) judge(ctx context.Context, chunk *provider.Chunk) error {
	chunk.More = false // the next one has to be judged first, which may take time
	wire, err := t.filtered.Chunk(ctx, filter.Arrival{Wire: chunk.Wire, Text: chunk.Text, Last: chunk.Last})
	if err != nil {
		t.blocked = true
		return withheld(err)
	}
	if len(wire) != len(chunk.Wire) || (len(wire) > 0 && &wire[0] != &chunk.Wire[0]) {
		chunk.Wire, chunk.Text = wire, t.filtered.Text()
	}
	return nil
}

// judgeFailure has the filters judge the words of an upstream about its failure, which callers and records get. Words of our own are
// not judged. A call that several tasks share fails as a whole: its words are judged here, and its answer by the part.
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
		// It failed as it did. Only its words are replaced.
		body, judged.Message, judged.Err = nil, penstock.AsError(err).Message, err
	}
	judged.Body = body
	return &judged
}

// ownKinds are the failures whose words are never an upstream's.
var ownKinds = []provider.Kind{provider.KindCancelled, provider.KindInternal, provider.KindMemory}

// withheld is the failure of an answer that the filters did not let through: the same as that of an upstream which blocks it itself,
// unless a filter broke.
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

package outbound

import (
	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

// Answer is an answer of the upstream in the caller's dialect. All of a plain answer is held to be translated: memory accounts for it.
func (q *Request) Answer(answer provider.Answer, asked dialect.Asked, memory provider.Memory) provider.Answer {
	if q.translation == nil {
		return answer
	}
	if !asked.Stream {
		answer = &gathering{answer, memory}
	}
	return q.translation.Answer(answer, asked)
}

// Translated reports whether the target speaks another dialect than the caller.
func (q *Request) Translated() bool { return q.translation != nil }

// Failure is an error of the exchange, in the caller's dialect.
func (q *Request) Failure(err error) *provider.Error {
	e := provider.AsError(err)
	if q.translation == nil {
		return e
	}
	return q.translation.Error(e)
}

// lossy is an answer of which a translation could not carry everything.
type lossy interface {
	// Dropped names what was left out so far.
	Dropped() []string
}

// Losses names what a translation left out of an answer so far; nil for nothing.
func Losses(answer provider.Answer) []string {
	if a, ok := answer.(lossy); ok {
		return a.Dropped()
	}
	return nil
}

// gathering is an answer that is put together before its caller sees any of it, so that all of it is held.
type gathering struct {
	provider.Answer
	memory provider.Memory
}

func (g *gathering) Next() (provider.Chunk, error) {
	chunk, err := g.Answer.Next()
	if err != nil {
		return chunk, err
	}
	if full := g.memory.Take(int64(len(chunk.Wire))); full != nil {
		return provider.Chunk{}, noMemory(full)
	}
	return chunk, nil
}

// noMemory is the failure of an answer that could not be held.
func noMemory(why error) *provider.Error {
	e := penstock.AsError(why)
	return &provider.Error{Kind: provider.KindMemory, Message: "There was no memory for the answer: " + e.Message, RetryAfter: e.RetryAfter, Err: e}
}

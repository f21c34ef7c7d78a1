package attempt

import (
	"penstock"
	"penstock/internal/inflight"
	"penstock/internal/provider"
)

// answerMemory is the memory that the answer of a try is held in. It is given back when the try is closed.
type answerMemory struct {
	inflight.Account
	done <-chan struct{} // closed when nobody wants the answer any more
}

// Take implements provider.Memory. The upstream has worked for the answer already, so it waits for memory.
func (m *answerMemory) Take(n int64) error { return m.Wait(m.done, n) }

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

// noMemory is the failure of a try whose answer could not be held.
func noMemory(why error) *provider.Error {
	e := penstock.AsError(why)
	return &provider.Error{Kind: provider.KindMemory, Message: "There was no memory for the answer: " + e.Message, RetryAfter: e.RetryAfter, Err: e}
}

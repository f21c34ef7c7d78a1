package filter

import (
	"context"
	"sync/atomic"
)

// Counter is the trivial filter: it passes everything, and counts the questions. The zero value is ready to use.
type Counter struct {
	inputs  atomic.Int64
	answers atomic.Int64
	chunks  atomic.Int64
	errors  atomic.Int64
}

// Counts are the questions that a Counter was asked.
type Counts struct {
	Inputs  int64 // bodies of inferences
	Answers int64 // answers, and failures without one
	Chunks  int64 // of all answers
	Errors  int64 // error bodies and error messages of upstreams
}

// Counts returns the counts so far.
func (c *Counter) Counts() Counts {
	return Counts{Inputs: c.inputs.Load(), Answers: c.answers.Load(), Chunks: c.chunks.Load(), Errors: c.errors.Load()}
}

// Input implements Input.
func (c *Counter) Input(context.Context, *Subject) (Verdict, error) {
	c.inputs.Add(1)
	return Verdict{}, nil
}

// Review implements Output.
func (c *Counter) Review(*Subject) Review {
	c.answers.Add(1)
	return c
}

// Chunk implements Review.
func (c *Counter) Chunk(_ context.Context, chunk *Chunk) (Verdict, error) {
	if chunk.Error {
		c.errors.Add(1)
	} else {
		c.chunks.Add(1)
	}
	return Verdict{}, nil
}

// Counting is a chain of a Counter alone.
func Counting() (*Chain, *Counter) {
	c := new(Counter)
	return &Chain{Inputs: []Input{c}, Outputs: []Output{c}}, c
}

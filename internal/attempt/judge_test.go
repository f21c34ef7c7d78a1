package attempt

import (
	"context"
	"testing"

	"penstock/internal/filter"
	"penstock/internal/provider"
)

// passing is a filter that lets everything through.
type passing struct{}

func (passing) Review(*filter.Subject) filter.Review { return passing{} }

func (passing) Chunk(context.Context, *filter.Chunk) (filter.Verdict, error) {
	return filter.Verdict{}, nil
}

// A chunk that was judged is sent at once: the filters may take any time over the next one.
func TestJudgedChunksDoNotWait(t *testing.T) {
	t.Parallel()
	chain := filter.Chain{Outputs: []filter.Output{passing{}}}
	try := try{filtered: chain.Begin(filter.Subject{})}
	chunk := provider.Chunk{Wire: []byte("data: a\n\n"), Text: "a", More: true}
	if err := try.judge(t.Context(), &chunk); err != nil || chunk.More || string(chunk.Wire) != "data: a\n\n" {
		t.Errorf("judged as %+v, %v", chunk, err)
	}
}

package work

import (
	"testing"

	"penstock/internal/store"
)

func TestExpectationsFollowWhatWasUsed(t *testing.T) {
	t.Parallel()
	e := make(expectations)
	item := store.Candidate{Model: "fast", Estimate: 1000}
	if got := e.of(item); got != 1000 {
		t.Errorf("an unknown model is charged %d, want its estimate", got)
	}
	e.learn(store.Claimed{Model: "fast", Estimate: 500}, 50)
	if got := e.of(item); got != 100 {
		t.Errorf("after one item that used a tenth, %d, want 100", got)
	}
	for range 200 {
		e.learn(store.Claimed{Model: "fast", Estimate: 500}, 250)
	}
	if got := e.of(item); got < 490 || got > 500 {
		t.Errorf("after many that used half, %d, want about 500", got)
	}
	e.learn(store.Claimed{Model: "fast", Estimate: 500}, 0)
	e.learn(store.Claimed{Model: "fast"}, 10)
	if got := e.of(item); got < 490 || got > 500 {
		t.Errorf("items that tell nothing changed it to %d", got)
	}
}

package fair

import "testing"

func TestExpectationsFollowWhatWasUsed(t *testing.T) {
	t.Parallel()
	e := make(Expectations)
	if got := e.Of("fast", 1000); got != 1000 {
		t.Errorf("an unknown model is charged %d, want its estimate", got)
	}
	e.Learn("fast", 500, 50)
	if got := e.Of("fast", 1000); got != 100 {
		t.Errorf("after one item that used a tenth, %d, want 100", got)
	}
	for range 200 {
		e.Learn("fast", 500, 250)
	}
	if got := e.Of("fast", 1000); got < 490 || got > 500 {
		t.Errorf("after many that used half, %d, want about 500", got)
	}
	e.Learn("fast", 500, 0)
	e.Learn("fast", 0, 10)
	if got := e.Of("fast", 1000); got < 490 || got > 500 {
		t.Errorf("items that tell nothing changed it to %d", got)
	}
}

package fair

import "testing"

func TestExpectationsFollowWhatWasUsed(t *testing.T) {
	t.Parallel()
	e := make(Expectations)
	if got := e.Of("fast", 1600); got != 100 {
		t.Errorf("an unknown model is charged %d, want the first part of its estimate, 100", got)
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

// Whoever comes before the first items of others have ended starts where these are, which is what they were charged
// and not what they will have used. Nobody is set back by that for more than a few rounds of slots.
func TestComingInTheFirstRound(t *testing.T) {
	t.Parallel()
	const slots, estimate = 64, 4096
	for _, used := range []int64{64, 256, 1024, estimate} {
		e := make(Expectations)
		first := Share{Weight: 1}
		for range slots {
			first.Charge(Tokens(e.Of("fast", estimate)))
		}
		newcomer := Share{VTime: Rejoin(0, first.VTime), Weight: 1}
		first.Charge(slots * (used - e.Of("fast", estimate)))
		rounds := float64(newcomer.VTime-first.VTime) / float64(Cost(slots*used, 1))
		if rounds < -1 || rounds > 4 {
			t.Errorf("items that use %d: the newcomer is %.1f rounds behind, want -1 to 4", used, rounds)
		}
	}
}

package queue

import (
	"testing"

	"pgregory.net/rapid"

	"penstock"
)

// serve gives n units of the given size to whichever lane is due and has work, and returns what each
// got.
func serve(s *Stride, n int, busy func(penstock.Lane) bool, tokens int64) map[penstock.Lane]int {
	got := map[penstock.Lane]int{}
	for range n {
		for _, lane := range s.Order() {
			if !busy(lane) {
				s.Idle(lane)
				continue
			}
			s.Given(lane, tokens)
			got[lane]++
			break
		}
	}
	return got
}

func always(penstock.Lane) bool { return true }

func TestStrideSharesByWeight(t *testing.T) {
	t.Parallel()
	got := serve(NewStride(LaneWeights{penstock.LaneRealtime: 6, penstock.LaneStandard: 3, penstock.LaneBulk: 1}), 1000, always, 500)
	for lane, want := range map[penstock.Lane]int{penstock.LaneRealtime: 600, penstock.LaneStandard: 300, penstock.LaneBulk: 100} {
		if diff := got[lane] - want; diff < -2 || diff > 2 {
			t.Errorf("%s got %d of 1000, want %d", lane, got[lane], want)
		}
	}
}

func TestStrideLendsIdleShares(t *testing.T) {
	t.Parallel()
	onlyBulk := func(l penstock.Lane) bool { return l == penstock.LaneBulk }
	if got := serve(NewStride(DefaultLaneWeights), 100, onlyBulk, 10); got[penstock.LaneBulk] != 100 {
		t.Errorf("bulk alone got %d of 100", got[penstock.LaneBulk])
	}
}

func TestStrideBanksNothing(t *testing.T) {
	t.Parallel()
	s := NewStride(LaneWeights{penstock.LaneRealtime: 1, penstock.LaneStandard: 1, penstock.LaneBulk: 1})
	serve(s, 10_000, func(l penstock.Lane) bool { return l == penstock.LaneBulk }, 100)
	// Realtime was idle for long. When it comes back it shares equally instead of catching up.
	got := serve(s, 100, func(l penstock.Lane) bool { return l != penstock.LaneStandard }, 100)
	if got[penstock.LaneBulk] < 48 {
		t.Errorf("bulk got %d of 100 beside a lane that had been idle", got[penstock.LaneBulk])
	}
}

func TestStrideNeverStarvesALane(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := NewStride(DefaultLaneWeights)
		size := rapid.Int64Range(1, 100_000).Draw(t, "tokens")
		got := serve(s, 500, always, size)
		for _, lane := range penstock.Lanes {
			if got[lane] == 0 {
				t.Fatalf("%s got nothing of 500", lane)
			}
		}
	})
}

// A claim says which lanes had nothing: those that were passed over, and all while slots stay free.
func TestStrideLearnsFromClaims(t *testing.T) {
	t.Parallel()
	given := func(lane penstock.Lane) map[penstock.Lane]int64 { return map[penstock.Lane]int64{lane: 1000} }
	for _, tt := range []struct {
		name string
		left int
		want int // of 100 turns after bulk had 1000 alone
	}{
		{"realtime was passed over", 0, 48},
		{"slots stayed free", 5, 48},
	} {
		s := NewStride(LaneWeights{penstock.LaneRealtime: 1, penstock.LaneStandard: 1, penstock.LaneBulk: 1})
		for range 1000 {
			s.Claimed(penstock.Lanes, given(penstock.LaneBulk), tt.left)
		}
		got := serve(s, 100, func(l penstock.Lane) bool { return l != penstock.LaneStandard }, 1000)
		if got[penstock.LaneBulk] < tt.want {
			t.Errorf("%s: bulk got %d of 100 beside a lane that had been idle", tt.name, got[penstock.LaneBulk])
		}
	}
	s := NewStride(DefaultLaneWeights)
	s.Claimed([]penstock.Lane{penstock.LaneBulk, penstock.LaneRealtime, penstock.LaneStandard}, given(penstock.LaneBulk), 0)
	if order := s.Order(); order[2] != penstock.LaneBulk {
		t.Errorf("the lane that was served comes again, in %v", order)
	}
}

func TestStrideTakesNewWeights(t *testing.T) {
	t.Parallel()
	s := NewStride(LaneWeights{penstock.LaneRealtime: 1, penstock.LaneStandard: 1, penstock.LaneBulk: 1})
	serve(s, 300, always, 100)
	s.Weigh(LaneWeights{penstock.LaneRealtime: 8, penstock.LaneStandard: 1, penstock.LaneBulk: 1})
	if got := serve(s, 1000, always, 100); got[penstock.LaneRealtime] < 790 || got[penstock.LaneRealtime] > 810 {
		t.Errorf("realtime got %d of 1000 after its weight was raised to 8 of 10", got[penstock.LaneRealtime])
	}
}

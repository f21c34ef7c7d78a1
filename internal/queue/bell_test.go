package queue

import "testing"

func TestABellIsHeardBeyondThisProcessButNotEchoed(t *testing.T) {
	t.Parallel()
	b, told := NewBell(), 0
	rung := b.Listen()
	b.Beyond(func() { told++ })
	b.RingHere()
	if told != 0 {
		t.Error("what another process told was told on")
	}
	<-rung
	b.Ring()
	b.Ring()
	<-rung
	select {
	case <-rung:
		t.Error("two rings that nobody had heard are two")
	default:
	}
	if told != 2 {
		t.Errorf("told others %d times, want twice", told)
	}
}

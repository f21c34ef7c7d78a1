package signal

import (
	"slices"
	"testing"
)

func TestGather(t *testing.T) {
	t.Parallel()
	topic := NewTopic[None](nil, "x")
	topic.Publish("before")
	g := topic.Gather(2)
	take := func(want []None, everything bool) {
		t.Helper()
		select {
		case <-g.C:
		default:
			t.Error("no signal")
		}
		keys, all := g.Take()
		slices.Sort(keys)
		if !slices.Equal(keys, want) || all != everything {
			t.Errorf("took %v, %v, want %v, %v", keys, all, want, everything)
		}
	}
	topic.Publish("a", "b")
	topic.Publish("a")
	take([]None{"a", "b"}, false)
	topic.receive([]string{"c", "d", "e"})
	take([]None{"c", "d"}, true)
	topic.Notify()
	take(nil, true)
	g.Close()
	topic.Publish("late")
	if keys, _ := g.Take(); len(keys) > 0 {
		t.Errorf("after its end it gathered %v", keys)
	}
}

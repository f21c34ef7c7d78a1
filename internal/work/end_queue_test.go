package work

import (
	"testing"

	"penstock"
	"penstock/internal/store"
)

func TestEndQueueKeepsOrderInBoundedGroups(t *testing.T) {
	t.Parallel()
	const ends = 2*MaxFinishGroup + 3
	q := newEndQueue()
	for n := range ends {
		q.add(finished{Finish: store.Finish{Fence: int64(n)}})
	}
	q.close()
	next := 0
	for group := q.take(); group != nil; group = q.take() {
		if n := len(group.finishes); n > MaxFinishGroup || n != len(group.runs) {
			t.Fatalf("a group of %d ends and %d runs", n, len(group.runs))
		}
		for _, f := range group.finishes {
			if f.Fence != int64(next) {
				t.Fatalf("end %d came as number %d", f.Fence, next)
			}
			next++
		}
		q.reuse(group)
	}
	if next != ends {
		t.Errorf("%d ends came out of %d", next, ends)
	}
}

// A recorded group is used again, without the ends that were in it.
func TestEndQueueReusesGroups(t *testing.T) {
	t.Parallel()
	q := newEndQueue()
	q.add(finished{Finish: store.Finish{Item: "1", Result: []byte("large")}})
	first := q.take()
	q.reuse(first)
	q.add(finished{Finish: store.Finish{Item: "2"}})
	second := q.take()
	if second != first || len(second.finishes) != 1 || second.finishes[0].Item != penstock.ID("2") || second.finishes[0].Result != nil {
		t.Errorf("the second group is %+v", second.finishes)
	}
}

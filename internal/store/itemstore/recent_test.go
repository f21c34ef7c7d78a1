package itemstore

import (
	"fmt"
	"testing"

	"penstock"
)

func TestRecentForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var r Recent
	job := func(n int) penstock.ID { return penstock.ID(fmt.Sprint("job", n)) }
	for n := range 10 {
		r.Keep(job(n), []InputGroup{{Facts: make([]Fact, 2), sealed: make([]byte, recentBytes/4)}})
		if r.bytes > recentBytes || len(r.groups) != len(r.order) {
			t.Fatalf("%d bytes, %d groups and %d names are kept", r.bytes, len(r.groups), len(r.order))
		}
	}
	found := func(n int) bool {
		_, ok := r.Find(GroupKey{Job: job(n)}, 0)
		return ok
	}
	if !found(9) || !found(7) || found(6) || found(0) {
		t.Errorf("of ten: the last %v, the third last %v, the one before %v, the first %v", found(9), found(7), found(6), found(0))
	}
	r.Keep(job(10), []InputGroup{{Facts: make([]Fact, 2), sealed: make([]byte, 2*recentBytes)}})
	if len(r.groups) != 0 || r.bytes != 0 {
		t.Errorf("%d groups of %d bytes are left of one that is too large", len(r.groups), r.bytes)
	}
}

func TestRecentTellsGroupsApart(t *testing.T) {
	t.Parallel()
	var r Recent
	if _, ok := r.Find(GroupKey{Job: "a"}, 0); ok {
		t.Error("found a group where none is kept")
	}
	r.Keep("a", []InputGroup{
		{First: 0, Facts: make([]Fact, 2), sealed: []byte("first")},
		{First: 2, Facts: make([]Fact, 3), sealed: []byte("second")},
		{First: 5, Facts: make([]Fact, 1), sealed: []byte("alone")},
	})
	if second, ok := r.Find(GroupKey{"a", 2}, 3); !ok || string(second.sealed) != "second" || len(second.facts) != 3 {
		t.Errorf("found %q with %d facts", second.sealed, len(second.facts))
	}
	for _, key := range []GroupKey{{"b", 2}, {"a", 3}, {"a", 5}} {
		if other, ok := r.Find(key, key.First); ok {
			t.Errorf("found %q for %+v", other.sealed, key)
		}
	}
}

// A group whose last item is taken is not kept any longer, and neither is its name.
func TestRecentRemovesTakenGroups(t *testing.T) {
	t.Parallel()
	var r Recent
	for n := range 10 * minOrder {
		key := GroupKey{Job: penstock.ID(fmt.Sprint("job", n))}
		r.Keep(key.Job, []InputGroup{{Facts: make([]Fact, 4), sealed: make([]byte, 100)}})
		for upTo, want := range []bool{true, true, true, true, false} {
			if _, ok := r.Find(key, min(upTo, 3)); ok != want {
				t.Fatalf("found after %d items were taken: %v", upTo, ok)
			}
		}
	}
	if r.bytes != 0 || len(r.groups) != 0 || len(r.order) > 2*minOrder {
		t.Errorf("%d bytes, %d groups and %d names are left", r.bytes, len(r.groups), len(r.order))
	}
}

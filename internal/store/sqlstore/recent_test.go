package sqlstore

import (
	"fmt"
	"testing"

	"penstock"
)

func TestRecentForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var r recent
	inputGroupOfTwo := func(first int) inputGroup {
		return inputGroup{first: first, facts: make([]fact, 2), inputs: make([]byte, recentBytes/4)}
	}
	job := func(n int) penstock.ID { return penstock.ID(fmt.Sprint("job", n)) }
	for n := range 10 {
		r.keep(job(n), []inputGroup{inputGroupOfTwo(0)})
		if r.bytes > recentBytes || len(r.inputGroups) != len(r.order) {
			t.Fatalf("%d bytes, %d input groups and %d names are kept", r.bytes, len(r.inputGroups), len(r.order))
		}
	}
	found := func(n int) bool { return r.find(&readyRange{job: job(n), last: 1}, 1) }
	if !found(9) || !found(7) || found(6) || found(0) {
		t.Errorf("of ten: the last %v, the third last %v, the one before %v, the first %v", found(9), found(7), found(6), found(0))
	}
	r.keep(job(10), []inputGroup{{facts: make([]fact, 2), inputs: make([]byte, 2*recentBytes)}})
	if len(r.inputGroups) != 0 || r.bytes != 0 {
		t.Errorf("%d input groups of %d bytes are left of one that is too large", len(r.inputGroups), r.bytes)
	}
}

func TestRecentTellsInputGroupsApart(t *testing.T) {
	t.Parallel()
	var r recent
	if r.find(&readyRange{job: "a"}, 1) {
		t.Error("found something where nothing is kept")
	}
	r.keep("a", []inputGroup{
		{first: 0, facts: make([]fact, 2), inputs: []byte("first")},
		{first: 2, facts: make([]fact, 3), inputs: []byte("second")},
		{first: 5, facts: make([]fact, 1), inputs: []byte("alone")},
	})
	second := readyRange{job: "a", first: 3, last: 4, inputGroup: 2}
	if !r.find(&second, 1) || string(second.inputs) != "second" || len(second.facts) != 3 {
		t.Errorf("found %q with %d facts", second.inputs, len(second.facts))
	}
	for _, other := range []readyRange{{job: "b", inputGroup: 2}, {job: "a", inputGroup: 3}, {job: "a", inputGroup: 5}} {
		if r.find(&other, 1) {
			t.Errorf("found %q for input group %d of job %s", other.inputs, other.inputGroup, other.job)
		}
	}
}

// What a claim takes to the end is not kept any longer, and neither are its names.
func TestRecentLetsGoOfWhatIsTaken(t *testing.T) {
	t.Parallel()
	var r recent
	for n := range 10 * minOrder {
		job := penstock.ID(fmt.Sprint("job", n))
		r.keep(job, []inputGroup{{facts: make([]fact, 4), inputs: make([]byte, 100)}})
		front, rest := readyRange{job: job, first: 0, last: 3}, readyRange{job: job, first: 2, last: 3}
		if !r.find(&front, 2) || !r.find(&rest, 2) || r.find(&rest, 2) {
			t.Fatal("an input group is to be there until the rest of it is taken, and not longer")
		}
	}
	if r.bytes != 0 || len(r.inputGroups) != 0 || len(r.order) > 2*minOrder {
		t.Errorf("%d bytes, %d input groups and %d names are left", r.bytes, len(r.inputGroups), len(r.order))
	}
}

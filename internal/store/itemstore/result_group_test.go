package itemstore

import (
	"testing"

	"penstock"
	"penstock/internal/store"
)

// TestFormOfEndedItem holds which items that ended are in a result group: those that nothing set apart. All counts of a
// usage are stored there.
func TestFormOfEndedItem(t *testing.T) {
	t.Parallel()
	usual := func() Ended {
		a := &penstock.Attempt{Fence: 1, UsageKnown: true}
		r := &Row{Rowless: true, Place: 1, Tries: 1, Last: a, Sealed: Sealed{Inline: []byte("sealed")}}
		r.Status, r.Fence = penstock.StatusSucceeded, 1
		return Ended{Row: r, Was: penstock.StatusRunning, Of: &penstock.Job{}}
	}
	for name, c := range map[string]struct {
		change  func(*Ended)
		grouped bool
	}{
		"success":               {func(*Ended) {}, true},
		"no result":             {func(e *Ended) { e.Sealed = Sealed{} }, true},
		"every token class":     {func(e *Ended) { e.Usage = everyCount(); e.Last.Usage = everyCount() }, true},
		"unknown usage":         {func(e *Ended) { e.Last.UsageKnown = false }, true},
		"last place of a claim": {func(e *Ended) { e.Place = ClaimPlaces }, true},
		"claim without a bit":   {func(e *Ended) { e.Place = ClaimPlaces + 1 }, false},
		"failure": {func(e *Ended) {
			e.Status, e.Error = penstock.StatusFailed, &penstock.ItemError{Code: penstock.CodeGone}
		}, false},
		"cancelled in the queue": {func(e *Ended) { e.Status, e.Was, e.Place = penstock.StatusCancelled, penstock.StatusQueued, 0 }, false},
		"has a row":              {func(e *Ended) { e.Rowless, e.Place = false, 0 }, false},
		"second try":             {func(e *Ended) { e.Tries = 2 }, false},
		"lost a worker":          {func(e *Ended) { e.Crashes = 1 }, false},
		"ran in a child process": {func(e *Ended) { e.Last.Isolated = true }, false},
		"result in a blob":       {func(e *Ended) { e.Sealed = Sealed{Blob: "b10b"} }, false},
		"no deciding attempt":    {func(e *Ended) { e.Last = nil }, false},
		"attempt with an error":  {func(e *Ended) { e.Last.ErrorKind = "timeout" }, false},
	} {
		e := usual()
		c.change(&e)
		if got := e.groupable(); got != c.grouped {
			t.Errorf("%s: in a result group %v, want %v", name, got, c.grouped)
		}
	}
}

func everyCount() (u penstock.Usage) {
	for i, n := range u.Counts() {
		*n = int64(i) + 1
	}
	return u
}

// TestInputGroups holds how new items are grouped: consecutive ones that may start at once, within the bounds.
func TestInputGroups(t *testing.T) {
	t.Parallel()
	items := make([]store.NewItem, 2*inputGroupItems+5)
	inputs := make([]Sealed, len(items))
	for i := range items {
		items[i].Body = []byte("{}")
		inputs[i].Inline = []byte("sealed")
	}
	items[10].StartIn = 1
	inputs[20].Inline = make([]byte, inputGroupBytes) // fills a group by itself
	inputs[21] = Sealed{Blob: "b10b"}
	groups := GroupInputs(items, inputs, 100)
	var got [][2]int
	for i := range groups {
		g := &groups[i]
		got = append(got, [2]int{g.First, g.Last()})
		in := Inputs{key: GroupKey{First: g.First}, facts: g.Facts, sealed: g.sealed}
		for n := g.First; n <= g.Last(); n++ {
			if read, want := in.Input(n), inputs[n-100]; string(read.Inline) != string(want.Inline) || read.Blob != want.Blob {
				t.Errorf("input %d is %d bytes, blob %q", n, len(read.Inline), read.Blob)
			}
		}
		if read := in.Input(g.Last() + 1); !read.Empty() {
			t.Errorf("input %d is not in the group", g.Last()+1)
		}
	}
	want := [][2]int{{100, 109}, {111, 119}, {120, 121}, {122, 122 + inputGroupItems - 1}, {122 + inputGroupItems, 100 + len(items) - 1}}
	if len(got) != len(want) {
		t.Fatalf("groups %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("groups %v, want %v", got, want)
			break
		}
	}
}

package blobtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"penstock/internal/blob"
)

func testListPages(t *testing.T, store blob.Store) {
	want := make([]string, 7)
	for i := range want {
		want[i] = mustPut(t, store, []byte("x"))
	}
	slices.Sort(want)
	soon := time.Now().Add(time.Hour)
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for page := range pages(t, store, blob.Query{OlderThan: soon, Limit: limit}) {
			if len(page) > limit {
				t.Fatalf("a page of %d blobs for a limit of %d", len(page), limit)
			}
			for _, info := range page {
				got = append(got, info.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %v, want %v", limit, got, want)
		}
	}

	// The cursor need not exist any more: a sweep deletes what it has just listed.
	if err := store.Delete(t.Context(), want[2]); err != nil {
		t.Fatal(err)
	}
	page, err := store.List(t.Context(), blob.Query{After: want[2], OlderThan: soon, Limit: 1})
	if err != nil || len(page) != 1 || page[0].Name != want[3] {
		t.Errorf("after a deleted blob: %+v, %v; want %s", page, err, want[3])
	}
}

// pages yields one page after the other, as a sweep reads them.
func pages(t *testing.T, store blob.Store, q blob.Query) func(yield func([]blob.Info) bool) {
	return func(yield func([]blob.Info) bool) {
		for {
			page, err := store.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(page) || len(page) < q.Limit {
				return
			}
			last := page[len(page)-1].Name
			if last <= q.After {
				t.Fatalf("a page after %s ends at %s: a sweep would never end", q.After, last)
			}
			q.After = last
		}
	}
}

func testListAge(t *testing.T, store blob.Store) {
	before := time.Now()
	name := mustPut(t, store, []byte("x"))
	listed := everything(t, store)
	if len(listed) != 1 || listed[0].Name != name {
		t.Fatalf("List shows %+v, want %s", listed, name)
	}
	// A store's clock may be another machine's, and may count whole seconds.
	const skew = 5 * time.Minute
	storedAt := listed[0].StoredAt
	if storedAt.Before(before.Add(-skew)) || storedAt.After(time.Now().Add(skew)) {
		t.Errorf("stored at %v, want about %v", storedAt, before)
	}
	tests := map[string]struct {
		olderThan time.Time
		want      int
	}{
		"zero":          {time.Time{}, 0},
		"an hour ago":   {before.Add(-time.Hour), 0},
		"its very time": {storedAt, 0},
		"a bit later":   {storedAt.Add(time.Second), 1},
		"in an hour":    {before.Add(time.Hour), 1},
	}
	for when, test := range tests {
		page, err := store.List(t.Context(), blob.Query{OlderThan: test.olderThan, Limit: 10})
		if err != nil || len(page) != test.want {
			t.Errorf("older than %s: %+v, %v; want %d", when, page, err, test.want)
		}
	}
}

func testListBadQueries(t *testing.T, store blob.Store) {
	for _, q := range []blob.Query{
		{},
		{Limit: -1},
		{Limit: blob.MaxListLimit + 1},
		{Limit: 1, After: ".."},
		{Limit: 1, After: "0"},
	} {
		if _, err := store.List(t.Context(), q); !errors.Is(err, blob.ErrInvalidQuery) {
			t.Errorf("List(%+v) returned %v, want ErrInvalidQuery", q, err)
		}
	}
}

package storetest

import (
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

// labelled is a call with labels, plain or not.
func labelled(q penstock.Request, l penstock.Labels) penstock.Request {
	q.Labels = l
	return q
}

// requestLabels records calls with labels in both forms, and counts their cost by tag.
func requestLabels(r *rig) {
	l := penstock.Labels{Tags: oddTags(), Subject: "user-7 'x' \\ \"y\""}
	all := []penstock.Request{
		labelled(r.plainRequest(), l), labelled(r.request(), l), labelled(r.failedRequest(), l),
		labelled(r.plainRequest(), penstock.Labels{Subject: "user-8"}), r.plainRequest(),
	}
	for range 2 { // a group that was sent again
		r.record(all...)
		for _, q := range all {
			r.wantRequest(q)
		}
	}
	spent := map[bool]penstock.NanoUSD{}
	for _, s := range r.spending(store.SpendingQuery{ByTags: true}) {
		spent[len(s.Tags) > 0] += s.Cost
	}
	if spent[true] != 2*4321 || spent[false] != 2*4321 {
		r.t.Errorf("spent with and without tags: %v", spent)
	}
	r.verifyLedger()
}

// lists is the store as a list of calls.
func (r *rig) lists() store.RequestLists {
	r.t.Helper()
	l, ok := r.s.(store.RequestLists)
	if !ok {
		r.t.Fatalf("%T does not list calls", r.s)
	}
	return l
}

func (r *rig) listed(tenant penstock.TenantID, f store.RequestFilter) (ids []penstock.ID) {
	r.t.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	page, err := r.lists().ListRequests(r.t.Context(), tenant, f)
	r.must("list requests", err)
	for _, q := range page.Requests {
		ids = append(ids, q.ID)
	}
	return ids
}

func requestList(r *rig) {
	search, ads := map[string]string{"team": "search"}, map[string]string{"team": "ads", "run": "search"}
	first := labelled(r.plainRequest(), penstock.Labels{Tags: search, Subject: "ann"})
	r.clock.Advance(time.Minute)
	second := labelled(r.failedRequest(), penstock.Labels{Tags: ads, Subject: "bob"})
	second.Model, second.Key = "smart", "other"
	r.clock.Advance(time.Minute)
	third := r.request()
	third.Target, third.Cost = "third", 9999
	theirs := labelled(r.plainRequest(), penstock.Labels{Tags: search, Subject: "ann"})
	theirs.Tenant = umbra
	r.record(first, second, third, theirs)
	for name, c := range map[string]struct {
		filter store.RequestFilter
		want   []penstock.ID
	}{
		"all":             {store.RequestFilter{}, []penstock.ID{third.ID, second.ID, first.ID}},
		"model":           {store.RequestFilter{Model: "smart"}, []penstock.ID{second.ID}},
		"target":          {store.RequestFilter{Target: "third"}, []penstock.ID{third.ID}},
		"key":             {store.RequestFilter{Key: "other"}, []penstock.ID{second.ID}},
		"status":          {store.RequestFilter{Status: penstock.StatusFailed}, []penstock.ID{second.ID}},
		"succeeded":       {store.RequestFilter{Status: penstock.StatusSucceeded}, []penstock.ID{third.ID, first.ID}},
		"tag":             {store.RequestFilter{TagKey: "team", TagValue: "search"}, []penstock.ID{first.ID}},
		"tag and status":  {store.RequestFilter{TagKey: "team", TagValue: "ads", Status: penstock.StatusFailed}, []penstock.ID{second.ID}},
		"tag, not status": {store.RequestFilter{TagKey: "team", TagValue: "ads", Status: penstock.StatusSucceeded}, nil},
		"value elsewhere": {store.RequestFilter{TagKey: "run", TagValue: "ads"}, nil},
		"subject":         {store.RequestFilter{Subject: "bob"}, []penstock.ID{second.ID}},
		"subject, model":  {store.RequestFilter{Subject: "bob", Model: "fast"}, nil},
		"cost":            {store.RequestFilter{MinCost: 9999}, []penstock.ID{third.ID}},
		"after a time":    {store.RequestFilter{CreatedAfter: second.ID.Time()}, []penstock.ID{third.ID}},
		"up to a time":    {store.RequestFilter{CreatedUntil: second.ID.Time()}, []penstock.ID{second.ID, first.ID}},
		"tag and time":    {store.RequestFilter{TagKey: "team", TagValue: "search", CreatedAfter: first.ID.Time()}, nil},
		"after a call":    {store.RequestFilter{After: second.ID}, []penstock.ID{first.ID}},
		"odd text":        {store.RequestFilter{Model: "x\x00' OR 1=1 --"}, nil},
	} {
		if got := r.listed(acme, c.filter); !slices.Equal(got, c.want) {
			r.t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	// Another tenant sees its own, whatever it filters by.
	for _, f := range []store.RequestFilter{{}, {TagKey: "team", TagValue: "search"}, {Subject: "ann"}, {Model: "fast"}} {
		if got := r.listed(umbra, f); !slices.Equal(got, []penstock.ID{theirs.ID}) {
			r.t.Errorf("the other tenant sees %v for %+v", got, f)
		}
	}
}

// requestPages walks through calls page by page, with and without a filter that no index answers.
func requestPages(r *rig) {
	var all []penstock.Request
	for i := range 25 {
		q := labelled(r.plainRequest(), penstock.Labels{Tags: map[string]string{"half": string('a' + rune(i%2))}})
		all = append(all, q)
	}
	r.record(all...)
	for name, c := range map[string]struct {
		filter store.RequestFilter
		want   int
	}{"all": {store.RequestFilter{}, 25}, "tag": {store.RequestFilter{TagKey: "half", TagValue: "a"}, 13}, "model": {store.RequestFilter{Model: "fast"}, 25}} {
		seen := map[penstock.ID]bool{}
		c.filter.Limit = 4
		for pages := 0; ; pages++ {
			page, err := r.lists().ListRequests(r.t.Context(), acme, c.filter)
			r.must("list requests", err)
			for _, q := range page.Requests {
				if seen[q.ID] {
					r.t.Fatalf("%s: %s is on two pages", name, q.ID)
				}
				seen[q.ID] = true
			}
			if page.Next == "" || pages > 10 {
				break
			}
			c.filter.After = page.Next
		}
		if len(seen) != c.want {
			r.t.Errorf("%s: %d calls, want %d", name, len(seen), c.want)
		}
	}
}

func requestPurgeTags(r *rig) {
	old := labelled(r.plainRequest(), penstock.Labels{Tags: map[string]string{"team": "search"}, Subject: "ann"})
	r.record(old)
	r.clock.Advance(48 * time.Hour)
	young := labelled(r.plainRequest(), penstock.Labels{Tags: map[string]string{"team": "search"}, Subject: "ann"})
	r.record(young)
	_, err := r.s.PurgeRequests(r.t.Context(), acme, store.Purge{Kept: 24 * time.Hour, Limit: 100})
	r.must("purge", err)
	for _, f := range []store.RequestFilter{{}, {TagKey: "team", TagValue: "search"}, {Subject: "ann"}} {
		if got := r.listed(acme, f); !slices.Equal(got, []penstock.ID{young.ID}) {
			r.t.Errorf("%+v lists %v after the purge, want %s", f, got, young.ID)
		}
	}
}

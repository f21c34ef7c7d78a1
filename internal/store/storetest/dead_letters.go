package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func deadLetterCases() []testCase {
	return []testCase{
		{"a failed item is a dead letter", deadLetterFields},
		{"failures of one cause share a fingerprint", deadLetterFingerprint},
		{"oldest first, page by page", deadLetterPages},
		{"groups by fingerprint", deadLetterGroups},
		{"groups page by page", deadLetterGroupPages},
		{"filters", deadLetterFilters},
		{"jobs of the oldest dead letters", deadLetterJobs},
		{"some items of the dead letters", deadLetterItems},
		{"dismissed in bounded steps, oldest first", deadLetterDismissals},
	}
}

func deadLetterFields(r *rig) {
	sub := r.submitN(5)
	claims := r.claimN(r.lease("worker"), 5)
	r.clock.Advance(time.Second)
	r.finishInOrder(claims, mixedEndings(), 0, 1, 2, 3, 4)
	deadLetters := r.deadLetters(acme)
	if len(deadLetters) != 1 || deadLetters[0].Fingerprint == "" {
		r.t.Fatalf("dead letters: %+v, want the one failed item with a fingerprint", deadLetters)
	}
	r.wantSame("dead letter", deadLetters[0], store.DeadLetter{
		Item:        claims[1].Item,
		Job:         sub.Job.ID,
		Model:       sub.Job.Model,
		Code:        penstock.CodeUpstreamRejected,
		Kind:        "rejected",
		Message:     "no such parameter",
		Target:      deadLetters[0].Target,
		Fingerprint: deadLetters[0].Fingerprint,
		CreatedAt:   r.clock.Now(),
	})
}

func deadLetterFingerprint(r *rig) {
	r.submitN(7)
	group := r.endings(r.claimN(r.lease("worker"), 7), penstock.TransitionFail)
	group[2].Error = &penstock.ItemError{Code: penstock.CodeContextTooLong, Message: "prompt does not fit"}
	group[2].ErrorKind = "context_too_long"
	for i, message := range []string{"at most 5 images, not 17 (req_01a)", "at most 9 images, not 12 (req_7c)", "at most 5 images, not 17 (req_01a)", "no images at all"} {
		f := &group[3+i]
		f.StatusCode = []int{413, 413, 422, 413}[i]
		f.Error = &penstock.ItemError{Code: penstock.CodeUpstreamRejected, Message: message}
	}
	r.win(group...)
	deadLetters := r.deadLetters(acme)
	if len(deadLetters) != 7 {
		r.t.Fatalf("%d dead letters, want 7", len(deadLetters))
	}
	r.wantSame("a number and an id in the message", deadLetters[4].Fingerprint, deadLetters[3].Fingerprint)
	if len(r.groups(store.DeadLetterGroupPage{Limit: everything})) != 5 || deadLetters[5].Fingerprint == deadLetters[3].Fingerprint || deadLetters[6].Fingerprint == deadLetters[3].Fingerprint {
		r.t.Errorf("the status or the message does not distinguish causes: %+v", deadLetters)
	}
	if deadLetters[0].Fingerprint != deadLetters[1].Fingerprint {
		r.t.Errorf("equal failures have fingerprints %q and %q", deadLetters[0].Fingerprint, deadLetters[1].Fingerprint)
	}
	if deadLetters[0].Fingerprint == deadLetters[2].Fingerprint {
		r.t.Errorf("failures of different causes share fingerprint %q", deadLetters[0].Fingerprint)
	}
}

func deadLetterPages(r *rig) {
	first, second := r.submitN(4), r.submitN(3)
	claims := r.claimN(r.lease("worker"), 7)
	r.win(r.endings(claims, penstock.TransitionFail)...)
	var want []penstock.ID
	for _, sub := range []store.Submission{first, second} {
		for n := range sub.Items {
			want = append(want, penstock.ItemID(sub.Job.ID, n))
		}
	}
	var got []penstock.ID
	page := store.DeadLetterPage{Limit: 3}
	for _, size := range []int{3, 3, 1, 0} {
		deadLetters, _, err := r.s.DeadLetters(r.t.Context(), acme, page)
		r.must("read dead letters", err)
		if len(deadLetters) != size {
			r.t.Fatalf("a page has %d dead letters, want %d", len(deadLetters), size)
		}
		for _, d := range deadLetters {
			got = append(got, d.Item)
			page.After = d.Item
		}
	}
	r.wantSame("dead letters", got, want)
}

// graveyard is dead letters of two jobs for two models: causes has one kind for each item of the first,
// which fail a second apart.
func (r *rig) graveyard(kinds ...string) (fast, smart store.Submission) {
	r.t.Helper()
	fast, smart = r.submission(len(kinds)), r.submission(1)
	smart.Job.Model = "smart"
	for _, sub := range []store.Submission{fast, smart} {
		r.submit(sub)
		for _, c := range r.claimN(r.lease("worker"), len(sub.Items)) {
			f := r.ending(c, penstock.TransitionFail)
			f.ErrorKind = kinds[c.Index]
			f.Error.Message = "it was " + f.ErrorKind
			r.clock.Advance(time.Second)
			r.win(f)
		}
	}
	return fast, smart
}

func (r *rig) groups(p store.DeadLetterGroupPage) []store.DeadLetterGroup {
	r.t.Helper()
	groups, _, err := r.s.DeadLetterGroups(r.t.Context(), acme, p)
	r.must("read groups of dead letters", err)
	return groups
}

func deadLetterGroups(r *rig) {
	fast, smart := r.graveyard("timeout", "rejected", "timeout")
	start := r.clock.Now().Add(-4 * time.Second)
	groups := r.groups(store.DeadLetterGroupPage{Limit: everything})
	if len(groups) != 2 {
		r.t.Fatalf("%d groups of two causes: %+v", len(groups), groups)
	}
	rejected, timeout := groups[0], groups[1]
	r.wantSame("group of one model", rejected, store.DeadLetterGroup{
		Fingerprint: rejected.Sample.Fingerprint, Count: 1, Model: "fast", FirstAt: start.Add(2 * time.Second), LastAt: start.Add(2 * time.Second),
		Sample: store.DeadLetter{Item: penstock.ItemID(fast.Job.ID, 1), Job: fast.Job.ID, Model: "fast", Code: penstock.CodeUpstreamRejected,
			Kind: "rejected", Message: "it was rejected", Target: "first", Fingerprint: rejected.Fingerprint, CreatedAt: start.Add(2 * time.Second)},
	})
	r.wantSame("group of two models", timeout, store.DeadLetterGroup{
		Fingerprint: timeout.Sample.Fingerprint, Count: 3, FirstAt: start.Add(time.Second), LastAt: start.Add(4 * time.Second),
		Sample: store.DeadLetter{Item: penstock.ItemID(smart.Job.ID, 0), Job: smart.Job.ID, Model: "smart", Code: penstock.CodeUpstreamRejected,
			Kind: "timeout", Message: "it was timeout", Target: "first", Fingerprint: timeout.Fingerprint, CreatedAt: start.Add(4 * time.Second)},
	})
	only := r.groups(store.DeadLetterGroupPage{Filter: store.DeadLetterFilter{Model: "fast", Kind: "timeout"}, Limit: everything})
	if len(only) != 1 || only[0].Count != 2 || only[0].Model != "fast" {
		r.t.Errorf("groups of one model and kind: %+v", only)
	}
}

func deadLetterGroupPages(r *rig) {
	r.graveyard("b", "a", "B", "_", "a-b", "b")
	var got []string
	page := store.DeadLetterGroupPage{Limit: 2}
	for _, size := range []int{2, 2, 1, 0} {
		groups := r.groups(page)
		if len(groups) != size {
			r.t.Fatalf("a page behind %q has %d groups, want %d", page.After, len(groups), size)
		}
		for _, g := range groups {
			got, page.After = append(got, g.Sample.Kind), g.Fingerprint
		}
	}
	r.wantSame("kinds in the order of their fingerprints, byte by byte", got, []string{"B", "_", "a-b", "a", "b"})
}

func (r *rig) wantCount(f store.DeadLetterFilter, want int) {
	r.t.Helper()
	n, err := r.s.CountDeadLetters(r.t.Context(), acme, f)
	r.must("count dead letters", err)
	if n != want {
		r.t.Errorf("%+v selects %d dead letters, want %d", f, n, want)
	}
}

func deadLetterFilters(r *rig) {
	fast, smart := r.graveyard("timeout", "rejected", "timeout")
	start := r.clock.Now().Add(-4 * time.Second)
	fingerprint := r.deadLetters(acme)[0].Fingerprint
	for _, c := range []struct {
		filter store.DeadLetterFilter
		want   []int // 0 to 2 of the first job, 3 of the second
	}{
		{store.DeadLetterFilter{}, []int{0, 1, 2, 3}},
		{store.DeadLetterFilter{Job: fast.Job.ID}, []int{0, 1, 2}},
		{store.DeadLetterFilter{Job: smart.Job.ID}, []int{3}},
		{store.DeadLetterFilter{Job: r.newID()}, nil},
		{store.DeadLetterFilter{Model: "smart"}, []int{3}},
		{store.DeadLetterFilter{Code: penstock.CodeUpstreamRejected, Kind: "rejected"}, []int{1}},
		{store.DeadLetterFilter{Code: penstock.CodePoison}, nil},
		{store.DeadLetterFilter{Fingerprint: fingerprint}, []int{0, 2, 3}},
		{store.DeadLetterFilter{Fingerprint: fingerprint, Model: "fast"}, []int{0, 2}},
		{store.DeadLetterFilter{CreatedAfter: start.Add(2 * time.Second)}, []int{2, 3}},
		{store.DeadLetterFilter{CreatedUntil: start.Add(2 * time.Second)}, []int{0, 1}},
		{store.DeadLetterFilter{Model: "%"}, nil},
		{store.DeadLetterFilter{Model: "\x00", Kind: "\xff"}, nil},
	} {
		var want, got []penstock.ID
		for _, n := range c.want {
			if n == 3 {
				want = append(want, penstock.ItemID(smart.Job.ID, 0))
			} else {
				want = append(want, penstock.ItemID(fast.Job.ID, n))
			}
		}
		deadLetters, _, err := r.s.DeadLetters(r.t.Context(), acme, store.DeadLetterPage{Filter: c.filter, Limit: everything})
		r.must("read dead letters", err)
		for _, d := range deadLetters {
			got = append(got, d.Item)
		}
		r.wantSame("dead letters of a filter", got, want)
		r.wantCount(c.filter, len(want))
	}
}

// A filter of items is for retries and dismissals.
func deadLetterItems(r *rig) {
	fast, smart := r.graveyard("a", "b", "a")
	filter := store.DeadLetterFilter{Items: []penstock.ID{penstock.ItemID(fast.Job.ID, 2), penstock.ItemID(smart.Job.ID, 0), r.newID()}}
	r.wantCount(filter, 2)
	jobs, err := r.s.DeadLetterJobs(r.t.Context(), acme, store.DeadLetterJobPage{Filter: filter, DeadLetters: 9, Jobs: 9})
	r.must("read jobs of dead letters", err)
	r.wantSame("jobs of dead letters", jobs, []store.DeadLetterJob{{Job: fast.Job.ID, DeadLetters: 1}, {Job: smart.Job.ID, DeadLetters: 1}})
	if found := r.retryable(fast.Job.ID, &filter); len(found.Items) != 1 || found.Items[0].ID != penstock.ItemID(fast.Job.ID, 2) {
		r.t.Errorf("to retry: %+v", found.Items)
	}
	n, err := r.s.DismissDeadLetters(r.t.Context(), acme, store.Dismissal{Filter: filter, Actor: "operator", Limit: 9})
	r.must("dismiss", err)
	if n != 2 {
		r.t.Errorf("dismissed %d", n)
	}
	r.wantCount(store.DeadLetterFilter{}, 2)
}

func deadLetterJobs(r *rig) {
	one, two := r.graveyard("a", "b", "a")
	three := r.fail(r.submission(2))
	for _, c := range []struct {
		page store.DeadLetterJobPage
		want []store.DeadLetterJob
	}{
		{store.DeadLetterJobPage{DeadLetters: 9, Jobs: 9}, []store.DeadLetterJob{{Job: one.Job.ID, DeadLetters: 3}, {Job: two.Job.ID, DeadLetters: 1}, {Job: three.Job.ID, DeadLetters: 2}}},
		{store.DeadLetterJobPage{DeadLetters: 9, Jobs: 2}, []store.DeadLetterJob{{Job: one.Job.ID, DeadLetters: 3}, {Job: two.Job.ID, DeadLetters: 1}}},
		{store.DeadLetterJobPage{DeadLetters: 2, Jobs: 9}, []store.DeadLetterJob{{Job: one.Job.ID, DeadLetters: 2}}},
		{store.DeadLetterJobPage{Filter: store.DeadLetterFilter{Kind: "a"}, DeadLetters: 9, Jobs: 9}, []store.DeadLetterJob{{Job: one.Job.ID, DeadLetters: 2}, {Job: two.Job.ID, DeadLetters: 1}}},
	} {
		jobs, err := r.s.DeadLetterJobs(r.t.Context(), acme, c.page)
		r.must("read jobs of dead letters", err)
		r.wantSame("jobs of dead letters", jobs, c.want)
	}
}

func deadLetterDismissals(r *rig) {
	fast, smart := r.graveyard("a", "b", "a")
	d := store.Dismissal{Filter: store.DeadLetterFilter{Kind: "a"}, Actor: "operator", Limit: 2}
	var left []penstock.ID
	for i, want := range []int{2, 1, 0} {
		n, err := r.s.DismissDeadLetters(r.t.Context(), acme, d)
		r.must("dismiss", err)
		if n != want {
			r.t.Errorf("step %d dismissed %d, want %d", i, n, want)
		}
		left = nil
		for _, deadLetter := range r.deadLetters(acme) {
			left = append(left, deadLetter.Item)
		}
		if i == 0 {
			r.wantSame("left after the first step", left, []penstock.ID{penstock.ItemID(fast.Job.ID, 1), penstock.ItemID(smart.Job.ID, 0)})
		}
	}
	r.wantSame("left in the end", left, []penstock.ID{penstock.ItemID(fast.Job.ID, 1)})
	if groups := r.groups(store.DeadLetterGroupPage{Limit: everything}); len(groups) != 1 || groups[0].Count != 1 {
		r.t.Errorf("groups in the end: %+v", groups)
	}
	r.verifyLedger()
}

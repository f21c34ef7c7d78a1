package storetest

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"

	"penstock"
	"penstock/internal/store"
)

func resultCases() []testCase {
	return []testCase{
		{"both orders, page by page", resultPages},
		{"pages are bounded by the size of their results", resultPageSize},
		{"results can be read while the job runs", resultsPartial},
		{"a reader that resumes misses nothing in either order", resultsResumed},
		{"a status selects", resultsByStatus},
	}
}

// finishInOrder ends the items with the given indexes one after the other, so that completion order
// differs from input order.
func (r *rig) finishInOrder(claims []*store.Claimed, endings map[int]penstock.Transition, order ...int) {
	r.t.Helper()
	for _, n := range order {
		r.win(r.ending(claims[n], endings[n]))
	}
}

// indexes reads one page of results and returns which items it has.
func (r *rig) indexes(job penstock.ID, page store.ResultPage) []int {
	r.t.Helper()
	items, _, err := r.s.Results(r.t.Context(), acme, job, page)
	r.must("read results", err)
	out := make([]int, len(items))
	for i, item := range items {
		out[i] = item.Index
	}
	return out
}

// mixedEndings is how the jobs of these tests end; every terminal status occurs.
func mixedEndings() map[int]penstock.Transition {
	return map[int]penstock.Transition{
		0: penstock.TransitionSucceed,
		1: penstock.TransitionFail,
		2: penstock.TransitionSucceed,
		3: penstock.TransitionCancel,
		4: penstock.TransitionExpire,
	}
}

func resultPages(r *rig) {
	sub := r.submitN(5)
	r.finishInOrder(r.claimN(r.lease("worker"), 5), mixedEndings(), 3, 1, 4, 0, 2)
	job := r.audit(sub)

	byInput := func(after int64, limit int) []int {
		return r.indexes(job.ID, store.ResultPage{Order: store.OrderInput, After: after, Limit: limit})
	}
	r.wantSame("input order", byInput(-1, everything), []int{0, 1, 2, 3, 4})
	r.wantSame("input order, first page", byInput(-1, 2), []int{0, 1})
	r.wantSame("input order, second page", byInput(1, 2), []int{2, 3})
	r.wantSame("input order, last page", byInput(3, 2), []int{4})
	r.wantSame("input order, past the end", byInput(4, 2), []int{})
	r.wantSame("input order, far past the end", byInput(math.MaxInt64, 2), []int{})

	// Two events come before the first item: job.queued and job.started.
	byCompletion := func(after int64, limit int) []int {
		return r.indexes(job.ID, store.ResultPage{Order: store.OrderCompletion, After: after, Limit: limit})
	}
	r.wantSame("completion order", byCompletion(-1, everything), []int{3, 1, 4, 0, 2})
	r.wantSame("completion order, first page", byCompletion(0, 2), []int{3, 1})
	r.wantSame("completion order, second page", byCompletion(4, 2), []int{4, 0})
	r.wantSame("completion order, last page", byCompletion(6, 2), []int{2})
	r.wantSame("completion order, past the end", byCompletion(7, 2), []int{})
	r.wantSame("completion order, far past the end", byCompletion(math.MaxInt64, 2), []int{})
}

func resultsPartial(r *rig) {
	sub := r.submitN(5)
	page := store.ResultPage{Order: store.OrderInput, After: -1, Limit: everything}
	r.wantSame("results of a queued job", r.indexes(sub.Job.ID, page), []int{})
	claims := r.claimN(r.lease("worker"), 5)
	r.wantSame("results of a running job", r.indexes(sub.Job.ID, page), []int{})

	r.finishInOrder(claims, mixedEndings(), 4, 2)
	r.win(r.ending(claims[3], penstock.TransitionRetry)) // back in the queue: no result
	r.wantSame("results in input order while the first item is open", r.indexes(sub.Job.ID, page), []int{})
	page.After = 1
	r.wantSame("results in input order behind the open ones", r.indexes(sub.Job.ID, page), []int{2})
	page.After = -1
	page.Order = store.OrderCompletion
	r.wantSame("first results in completion order", r.indexes(sub.Job.ID, page), []int{4, 2})
	job := r.audit(sub)

	// A reader that follows the job asks for the results after the last one that it has.
	page.After = job.Seq
	r.finishInOrder(claims, mixedEndings(), 0)
	r.wantSame("later results", r.indexes(sub.Job.ID, page), []int{0})
}

// resultsResumed ends the items of a job far out of order, some with a row and some recorded together, while readers come back
// again and again for what is behind the last result they saw. Each of them gets every item once and in order.
func resultsResumed(r *rig) {
	const items = 120
	sub := r.submitN(items)
	claims := r.claimN(r.lease("worker"), items)
	type reader struct {
		page store.ResultPage
		seen []int
	}
	readers := []*reader{
		{page: store.ResultPage{Order: store.OrderInput, After: -1, Limit: 7}},
		{page: store.ResultPage{Order: store.OrderCompletion, After: -1, Limit: 7}},
		{page: store.ResultPage{Order: store.OrderInput, After: -1, Limit: 7, Status: penstock.StatusFailed}},
	}
	read := func() {
		for _, reader := range readers {
			for more := true; more; {
				var page []penstock.Item
				var err error
				page, more, err = r.s.Results(r.t.Context(), acme, sub.Job.ID, reader.page)
				r.must("read results", err)
				for _, item := range page {
					reader.seen = append(reader.seen, item.Index)
					reader.page.After = item.Seq
					if reader.page.Order == store.OrderInput {
						reader.page.After = int64(item.Index)
					}
				}
			}
		}
	}
	ends := func(n int) penstock.Transition {
		if n%10 == 3 {
			return penstock.TransitionFail
		}
		return penstock.TransitionSucceed
	}
	completed := []int{}
	for step := range 8 { // 7, 15, 23, …; 6, 14, 22, …
		var group []store.Finish
		for n := 7 - step; n < items; n += 8 {
			group = append(group, r.ending(claims[n], ends(n)))
			completed = append(completed, n)
		}
		r.win(group...)
		read()
	}
	all, failed := make([]int, items), []int{}
	for n := range items {
		if all[n] = n; ends(n) == penstock.TransitionFail {
			failed = append(failed, n)
		}
	}
	r.wantSame("what a reader in input order saw", readers[0].seen, all)
	r.wantSame("what a reader in completion order saw", readers[1].seen, completed)
	r.wantSame("what a reader of failures in input order saw", readers[2].seen, failed)
}

func resultsByStatus(r *rig) {
	sub := r.submitN(5)
	r.finishInOrder(r.claimN(r.lease("worker"), 5), mixedEndings(), 3, 2, 1, 0)
	for status, want := range map[penstock.Status][]int{
		penstock.StatusSucceeded: {0, 2},
		penstock.StatusFailed:    {1},
		penstock.StatusCancelled: {3},
		penstock.StatusExpired:   {},
		"":                       {0, 1, 2, 3},
	} {
		page := store.ResultPage{Order: store.OrderInput, After: -1, Status: status, Limit: everything}
		r.wantSame("results by status "+string(status), r.indexes(sub.Job.ID, page), want)
	}
	page := store.ResultPage{Order: store.OrderCompletion, After: -1, Status: penstock.StatusSucceeded, Limit: 1}
	r.wantSame("first success to complete", r.indexes(sub.Job.ID, page), []int{2})
	page.After = r.item(penstock.ItemID(sub.Job.ID, 2)).Seq
	r.wantSame("next success to complete", r.indexes(sub.Job.ID, page), []int{0})
}

// resultPageSize reads results that are too large for one page, of items with rows and without, and misses none.
func resultPageSize(r *rig) {
	const items, size = 600, 8 << 10
	sub := r.submitN(items)
	for group := range slices.Chunk(r.claimN(r.lease("worker"), items), 100) {
		ends := r.endings(group, penstock.TransitionSucceed)
		for i := range ends {
			if i%2 == 1 {
				ends[i] = r.ending(group[i], penstock.TransitionFail)
				continue
			}
			text := make([]byte, size/2)
			_, _ = rand.Read(text) // so that it does not get smaller in the store
			ends[i].Result = fmt.Appendf(nil, `{"answer":"%x"}`, text)
		}
		r.win(ends...)
	}
	for _, order := range []store.Order{store.OrderCompletion, store.OrderInput} {
		page, seen, pages := store.ResultPage{Order: order, After: -1, Limit: everything}, map[int]bool{}, 0
		for more := true; more; pages++ {
			var read []penstock.Item
			var err error
			read, more, err = r.s.Results(r.t.Context(), acme, sub.Job.ID, page)
			r.must("read results", err)
			bytes := 0
			for _, item := range read {
				at := item.Seq
				if order == store.OrderInput {
					at = int64(item.Index)
				}
				if at <= page.After {
					r.t.Fatalf("in %s order, %d follows %d", order, at, page.After)
				}
				page.After, seen[item.Index], bytes = at, true, bytes+len(item.Result)
			}
			if more && len(read) == 0 || bytes > 3<<20 {
				r.t.Fatalf("a page of %d results has %d bytes", len(read), bytes)
			}
		}
		if len(seen) != items || pages < 2 {
			r.t.Errorf("%d pages in %s order have %d of %d items", pages, order, len(seen), items)
		}
	}
}

package storetest

import (
	"math"

	"penstock"
	"penstock/internal/store"
)

func resultCases() []testCase {
	return []testCase{
		{"both orders, page by page", resultPages},
		{"results can be read while the job runs", resultsPartial},
		{"a status selects", resultsByStatus},
	}
}

// finishInOrder ends the items with the given indexes one after the other, so that completion order
// differs from input order.
func (r *rig) finishInOrder(claims []store.Claimed, endings map[int]penstock.Transition, order ...int) {
	r.t.Helper()
	for _, n := range order {
		r.win(r.ending(claims[n], endings[n]))
	}
}

// indexes reads one page of results and returns which items it has.
func (r *rig) indexes(job penstock.ID, page store.ResultPage) []int {
	r.t.Helper()
	items, err := r.s.Results(r.t.Context(), acme, job, page)
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
	r.wantSame("first results in input order", r.indexes(sub.Job.ID, page), []int{2, 4})
	page.Order = store.OrderCompletion
	r.wantSame("first results in completion order", r.indexes(sub.Job.ID, page), []int{4, 2})
	job := r.audit(sub)

	// A reader that follows the job asks for what came after the last result it saw.
	page.After = job.Seq
	r.finishInOrder(claims, mixedEndings(), 0)
	r.wantSame("results that came since", r.indexes(sub.Job.ID, page), []int{0})
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

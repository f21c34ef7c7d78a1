package sqlstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// A queued item stands in one of three lines: ready, in the order of claims; parked until its time comes; or among the
// suspects, whether its time has come or not. A suspect counts as parked.
// The ready line holds ranges: items that nothing happened to stand in it together, and leave it from the
// front; an item that came back stands in it alone.

var (
	admitReady = insertInto("ready", `lane text, tenant_id text, model text, deadline bigint, job_id text, last_n bigint, first_n bigint,
		input_group_n bigint, item_id text, estimate_tokens bigint, input_bytes bigint`, "")
	admitParked = insertInto("parked", `not_before bigint, item_id text`, "")
	leaveParked = deleteFrom("parked", `not_before bigint, item_id text`)

	admitSuspects = insertInto("suspects", `tenant_id text, urgency bigint, deadline bigint, item_id text, not_before bigint`, "")
	leaveSuspects = deleteFrom("suspects", `tenant_id text, urgency bigint, deadline bigint, item_id text`).RequireAll()

	// A range that somebody else took from meanwhile is missed.
	readyKey     = `lane text, tenant_id text, model text, deadline bigint, job_id text, last_n bigint`
	leaveReady   = deleteFrom("ready", readyKey+", first_n bigint").RequireAll()
	advanceReady = swap("ready", readyKey, "first_n")
)

// readyRange is a range of items that may start, as the line keeps it.
type readyRange struct {
	backlogKey
	deadline    int64
	job         penstock.ID
	first, last int
	inputGroup  int         // first item of the input group that they are in
	item        penstock.ID // the one item that has a row of its own, or ""
	estimate    int64       // where it is one item
	inputBytes  int64
	facts       []fact            // of the whole input group, where it is several
	inputs      []byte            // of the whole input group, sealed; nil unless most of the range is likely to be taken
	endpoint    penstock.Endpoint // of its job; known to claims alone
	suspect     bool              // it is one item that stands among the suspects
}

const rangeColumns = `job_id, first_n, last_n, input_group_n, item_id, deadline, estimate_tokens, input_bytes`

func (r *readyRange) dest() []any {
	return []any{&r.job, &r.first, &r.last, &r.inputGroup, &r.item, &r.deadline, &r.estimate, &r.inputBytes}
}

func (r *readyRange) size() int { return r.last - r.first + 1 }

// kept is how its items are kept.
func (r *readyRange) kept() keptHow {
	if r.item != "" {
		return keptApart
	}
	return keptInGroup
}

// single says that the row of the range tells all that a claim weighs.
func (r *readyRange) single() bool {
	return r.item != "" || (r.first == r.last && r.first == r.inputGroup)
}

func (r *readyRange) inputGroupOf() inputGroupOf { return inputGroupOf{r.job, r.inputGroup} }

// fact is what the input group knows of an item of the range.
func (r *readyRange) fact(n int) (fact, error) {
	if at := n - r.inputGroup; at >= 0 && at < len(r.facts) {
		return r.facts[at], nil
	}
	return fact{}, brokenInputGroup(r.inputGroupOf())
}

func (r *readyRange) admit(ctx context.Context, tx Tx) error {
	return tx.Put(ctx, admitReady, r.lane, r.tenant, r.model, r.deadline, r.job, r.last, r.first, r.inputGroup, r.item, r.estimate, r.inputBytes)
}

// leaveTo takes the items before next out of the line.
func (r *readyRange) leaveTo(ctx context.Context, tx Tx, next int) error {
	if r.suspect {
		return tx.Put(ctx, leaveSuspects, r.tenant, urgency(r.lane), r.deadline, r.item)
	}
	if next > r.last {
		return tx.Put(ctx, leaveReady, r.lane, r.tenant, r.model, r.deadline, r.job, r.last, r.first)
	}
	return tx.Put(ctx, advanceReady, r.lane, r.tenant, r.model, r.deadline, r.job, r.last, r.first, next)
}

// alone is the range of an item that has a row.
func (r itemInJob) alone() *readyRange {
	return &readyRange{
		backlogKey: backlogKey{r.job.Lane, r.Tenant, r.job.Model}, deadline: micros(r.job.Deadline), job: r.Job,
		first: r.Index, last: r.Index, inputGroup: r.Index, item: r.ID, estimate: r.estimate, inputBytes: r.inputBytes, suspect: r.suspect(),
	}
}

// admit puts a queued item that has a row into its line.
func (r itemInJob) admit(ctx context.Context, tx Tx) error {
	r.moved.move(r.backlogKey(), r.itemRow, 1)
	switch {
	case r.suspect():
		return tx.Put(ctx, admitSuspects, r.Tenant, urgency(r.job.Lane), micros(r.job.Deadline), r.ID, r.notBefore)
	case r.parked:
		return tx.Put(ctx, admitParked, r.notBefore, r.ID)
	}
	return r.alone().admit(ctx, tx)
}

// leave takes an item that has a row out of its line.
func (r itemInJob) leave(ctx context.Context, tx Tx) error {
	r.moved.move(r.backlogKey(), r.itemRow, -1)
	if r.parked && !r.suspect() {
		return tx.Put(ctx, leaveParked, r.notBefore, r.ID)
	}
	alone := r.alone()
	return alone.leaveTo(ctx, tx, alone.last+1)
}

// suspect says that an item lost so many workers that it runs in a child process.
func (r *itemRow) suspect() bool { return r.crashes >= store.SuspectCrashes }

// urgency orders lanes, the most urgent first.
func urgency(lane penstock.Lane) int64 { return int64(slices.Index(penstock.Lanes, lane)) }

func (r itemInJob) backlogKey() backlogKey { return backlogKey{r.job.Lane, r.Tenant, r.job.Model} }

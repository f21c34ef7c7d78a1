package sqlstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// A queued item is in one of three tables: ready, in the order of claims; parked, until its time comes; or suspects,
// whether its time has come or not. A suspect counts as parked.
// Table ready holds ranges. Items that never ran share a range and leave it from the front. An item that was queued again
// has a range of its own.

var (
	admitReady = sqldb.InsertInto("ready", `lane text, tenant_id text, model text, deadline bigint, job_id text, last_n bigint, first_n bigint,
		input_group_n bigint, item_id text, estimate_tokens bigint, input_bytes bigint`, "")
	admitParked = sqldb.InsertInto("parked", `not_before bigint, item_id text`, "")
	leaveParked = sqldb.DeleteFrom("parked", `not_before bigint, item_id text`)

	admitSuspects = sqldb.InsertInto("suspects", `tenant_id text, urgency bigint, deadline bigint, item_id text, not_before bigint`, "")
	leaveSuspects = sqldb.DeleteFrom("suspects", `tenant_id text, urgency bigint, deadline bigint, item_id text`).RequireAll()

	// These fail with ErrMissed if another transaction took items from the range.
	readyKey     = `lane text, tenant_id text, model text, deadline bigint, job_id text, last_n bigint`
	leaveReady   = sqldb.DeleteFrom("ready", readyKey+", first_n bigint").RequireAll()
	advanceReady = sqldb.Swap("ready", readyKey, "first_n")
)

// readyRange is a range of items that may start: a row of table ready.
type readyRange struct {
	backlogKey
	deadline    int64
	job         penstock.ID
	first, last int
	inputGroup  int         // index of the first item in their input group
	item        penstock.ID // of a range of one item that has a row; else ""
	estimate    int64       // tokens, of a range of one item
	inputBytes  int64
	inputs      itemstore.Inputs  // as far as they were read
	endpoint    penstock.Endpoint // of the job; only claims read it
	suspect     bool              // the range is one item of table suspects
}

const rangeColumns = `job_id, first_n, last_n, input_group_n, item_id, deadline, estimate_tokens, input_bytes`

func (r *readyRange) dest() []any {
	return []any{&r.job, &r.first, &r.last, &r.inputGroup, &r.item, &r.deadline, &r.estimate, &r.inputBytes}
}

func (r *readyRange) size() int { return r.last - r.first + 1 }

// kept is the form of its items.
func (r *readyRange) kept() keptHow {
	if r.item != "" {
		return keptApart
	}
	return keptInGroup
}

// single says that the row of the range has all that a claim needs to pick the item.
func (r *readyRange) single() bool {
	return r.item != "" || (r.first == r.last && r.first == r.inputGroup)
}

func (r *readyRange) groupKey() itemstore.GroupKey {
	return itemstore.GroupKey{Job: r.job, First: r.inputGroup}
}

func (r *readyRange) admit(ctx context.Context, tx sqldb.Tx) error {
	return tx.Put(ctx, admitReady, r.lane, r.tenant, r.model, r.deadline, r.job, r.last, r.first, r.inputGroup, r.item, r.estimate, r.inputBytes)
}

// leaveTo removes the items before next from the range.
func (r *readyRange) leaveTo(ctx context.Context, tx sqldb.Tx, next int) error {
	if r.suspect {
		return tx.Put(ctx, leaveSuspects, r.tenant, urgency(r.lane), r.deadline, r.item)
	}
	if next > r.last {
		return tx.Put(ctx, leaveReady, r.lane, r.tenant, r.model, r.deadline, r.job, r.last, r.first)
	}
	return tx.Put(ctx, advanceReady, r.lane, r.tenant, r.model, r.deadline, r.job, r.last, r.first, next)
}

// alone is the range of one item that has a row.
func (r itemInJob) alone() *readyRange {
	return &readyRange{
		backlogKey: backlogKey{r.job.Lane, r.Tenant, r.job.Model}, deadline: sqldb.Micros(r.job.Deadline), job: r.Job,
		first: r.Index, last: r.Index, inputGroup: r.Index, item: r.ID, estimate: r.Estimate, inputBytes: r.InputBytes, suspect: suspect(r.Row),
	}
}

// admit adds a queued item that has a row to its table.
func (r itemInJob) admit(ctx context.Context, tx sqldb.Tx) error {
	r.moved.move(r.backlogKey(), r.Row, 1)
	switch {
	case suspect(r.Row):
		return tx.Put(ctx, admitSuspects, r.Tenant, urgency(r.job.Lane), sqldb.Micros(r.job.Deadline), r.ID, r.NotBefore)
	case r.Parked:
		return tx.Put(ctx, admitParked, r.NotBefore, r.ID)
	}
	return r.alone().admit(ctx, tx)
}

// leave removes a queued item that has a row from its table.
func (r itemInJob) leave(ctx context.Context, tx sqldb.Tx) error {
	r.moved.move(r.backlogKey(), r.Row, -1)
	if r.Parked && !suspect(r.Row) {
		return tx.Put(ctx, leaveParked, r.NotBefore, r.ID)
	}
	alone := r.alone()
	return alone.leaveTo(ctx, tx, alone.last+1)
}

// suspect says that an item was in flight in so many crashes that it runs in a child process.
func suspect(r *itemstore.Row) bool { return r.Crashes >= store.SuspectCrashes }

// urgency is the rank of a lane, 0 for the most urgent.
func urgency(lane penstock.Lane) int64 { return int64(slices.Index(penstock.Lanes, lane)) }

func (r itemInJob) backlogKey() backlogKey { return backlogKey{r.job.Lane, r.Tenant, r.job.Model} }

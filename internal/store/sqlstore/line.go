package sqlstore

import (
	"context"

	"penstock"
)

// A queued item stands in one of two lines: ready, in the order of claims, or parked until its time comes.

var (
	enterReady = insertInto("ready", `lane text, tenant_id text, model text, deadline bigint, item_id text, job_id text,
		estimate_tokens bigint, input_bytes bigint`, "")
	leaveReady  = deleteFrom("ready", `lane text, tenant_id text, model text, deadline bigint, item_id text`)
	enterParked = insertInto("parked", `not_before bigint, item_id text`, "")
	leaveParked = deleteFrom("parked", `not_before bigint, item_id text`)
)

// enter puts a queued item into its line.
func (r itemInJob) enter(ctx context.Context, tx Tx) error {
	r.moved.move(r.job.Lane, r.itemRow, 1)
	if r.parked {
		return tx.Put(ctx, enterParked, r.notBefore, r.ID)
	}
	return tx.Put(ctx, enterReady, r.job.Lane, r.Tenant, r.model, micros(r.job.Deadline), r.ID, r.Job, r.estimate, r.inputBytes)
}

// leave takes an item out of its line.
func (r itemInJob) leave(ctx context.Context, tx Tx) error {
	r.moved.move(r.job.Lane, r.itemRow, -1)
	if r.parked {
		return tx.Put(ctx, leaveParked, r.notBefore, r.ID)
	}
	return tx.Put(ctx, leaveReady, r.job.Lane, r.Tenant, r.model, micros(r.job.Deadline), r.ID)
}

// readyItem is an item that may start, as its line keeps it.
type readyItem struct {
	backlogKey
	deadline   int64
	item, job  penstock.ID
	estimate   int64
	inputBytes int64
}

func (r readyItem) enter(ctx context.Context, tx Tx) error {
	return tx.Put(ctx, enterReady, r.lane, r.tenant, r.model, r.deadline, r.item, r.job, r.estimate, r.inputBytes)
}

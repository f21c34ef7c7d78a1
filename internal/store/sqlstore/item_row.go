package sqlstore

import (
	"context"
	"fmt"

	"penstock"
)

// itemRow is an item as its row has it: the result is still sealed.
type itemRow struct {
	penstock.Item
	reserved   penstock.NanoUSD
	estimate   int64
	inputBytes int64
	notBefore  int64
	parked     bool        // it is queued and waits until notBefore
	claim      penstock.ID // under which it runs
	tries      int
	crashes    int
	model      string
	result     placed
}

// itemColumns leaves the result out: most readers do not want it, and it can be large.
const itemColumns = `id, job_id, tenant_id, model, n, custom_id, status, seq, attempts, fence, tries, crashes,
	reserved_nano_usd, estimate_tokens, input_bytes, not_before, parked = 1, claim_id, target, status_code, error_code, error_message,
	cost_nano_usd, ` + usageNames + `, finished_at`

func (r *itemRow) dest(extra ...any) []any {
	r.Error = &penstock.ItemError{}
	return append(intoUsage(&r.Usage, &r.ID, &r.Job, &r.Tenant, &r.model, &r.Index, &r.CustomID, &r.Status, &r.Seq, &r.Attempts,
		&r.Fence, &r.tries, &r.crashes, &r.reserved, &r.estimate, &r.inputBytes, &r.notBefore, &r.parked, &r.claim, &r.Target, &r.StatusCode, &r.Error.Code, &r.Error.Message,
		&r.Cost), extra...)
}

// scanned completes a row after its columns were read.
func (r *itemRow) scanned(finished int64) {
	r.FinishedAt = fromMicros(finished)
	if r.Error.Code == "" {
		r.Error = nil
	}
}

func scanItem(row Row) (itemRow, error) {
	var r itemRow
	var finished int64
	if err := row.Scan(r.dest(&finished)...); err != nil {
		return r, fmt.Errorf("scanning item: %w", err)
	}
	r.scanned(finished)
	return r, nil
}

func scanItemWithResult(row Row) (itemRow, error) {
	var r itemRow
	var finished int64
	if err := row.Scan(r.dest(&finished, &r.result.inline, &r.result.blob)...); err != nil {
		return r, fmt.Errorf("scanning item: %w", err)
	}
	r.scanned(finished)
	return r, nil
}

// itemInJob is a locked item and its locked job. The transaction that moves the item must save the job.
type itemInJob struct {
	*itemRow
	job *penstock.Job
	jobGroup
}

// outcome is how an item ends.
type outcome struct {
	transition   penstock.Transition
	target       string
	statusCode   int
	result       placed
	attempt      *penstock.Attempt // that decided it, nil when none did or it is recorded already
	err          *penstock.ItemError
	errorKind    string
	priceVersion string
}

// spend adds what a claim is known to have used to an item and its job.
func (r itemInJob) spend(u penstock.Usage, cost penstock.NanoUSD) {
	r.Usage, r.job.Usage = r.Usage.Plus(u), r.job.Usage.Plus(u)
	r.Cost += cost
	r.job.Cost += cost
	r.purse.move(r.job.Budgets, 0, cost)
}

// end takes an item to its outcome: status, event number, settlement and dead letter.
func (r itemInJob) end(ctx context.Context, tx Tx, o outcome) error {
	next, err := r.Status.Next(o.transition)
	if err != nil {
		return err
	}
	if r.Status == penstock.StatusQueued {
		err = r.leave(ctx, tx)
	} else {
		r.released[r.claim]++
	}
	if err != nil {
		return err
	}
	r.job.Counts.Move(r.Status, next)
	r.job.Seq++
	r.Status, r.Seq = next, r.job.Seq
	if o.err == nil {
		o.err = &penstock.ItemError{}
	}
	last, err := keepAttempt(o.attempt)
	if err != nil {
		return err
	}
	err = tx.Put(ctx, endItem, withUsage(r.Usage, r.ID, r.claim, next, r.Seq, r.tries, r.Attempts, r.crashes, o.target,
		o.statusCode, o.result.inline, o.result.blob, o.err.Code, storable(o.err.Message),
		r.Cost, micros(tx.Now()), last)...)
	if err != nil {
		return err
	}
	if err := r.settle(ctx, tx, o); err != nil || next != penstock.StatusFailed {
		return err
	}
	return r.bury(ctx, tx, o)
}

// heldKey finds an item only under the claim that it is thought to run under, "" for one that is queued.
const heldKey = "id text, claim_id text"

var (
	endItem = update("items", heldKey, `status text, seq bigint, tries bigint, attempts bigint, crashes bigint, target text,
		status_code bigint, result bytea, result_blob text, error_code text, error_message text,
		cost_nano_usd bigint, finished_at bigint, last_attempt text, `+usageColumns, "process_id = '', claim_id = ''")
	requeueItem = update("items", heldKey, `status text, not_before bigint, parked bigint, tries bigint, attempts bigint, crashes bigint,
		cost_nano_usd bigint, `+usageColumns, "process_id = '', claim_id = ''")
)

var addDeadLetter = insertInto("dead_letters", `item_id text, job_id text, tenant_id text, model text, error_code text,
	error_kind text, fingerprint text, created_at bigint`, "")

// truth is a bool as the database keeps it.
type truth bool

func (t truth) column() int64 {
	if t {
		return 1
	}
	return 0
}

// settle books the outcome once: the key is the item's, and the ledger takes a key only once.
func (r itemInJob) settle(ctx context.Context, tx Tx, o outcome) error {
	r.purse.move(r.job.Budgets, r.reserved, 0)
	kind := penstock.EntrySettle
	if r.tries == 0 {
		kind = penstock.EntryRelease
	}
	return book(ctx, tx, penstock.LedgerEntry{
		Key: settleKey(r.ID), Tenant: r.Tenant, Kind: kind, Subject: r.ID, Job: r.Job, Target: o.target,
		Reserved: r.reserved, Cost: r.Cost, Usage: r.Usage, PriceVersion: o.priceVersion, Origin: r.job.Origin(),
	})
}

// bury keeps a failed item in sight until somebody retries or dismisses it.
func (r *itemRow) bury(ctx context.Context, tx Tx, o outcome) error {
	fingerprint := string(o.err.Code) + "/" + o.errorKind + "/" + o.target
	return tx.Put(ctx, addDeadLetter, r.ID, r.Job, r.Tenant, r.model, o.err.Code, o.errorKind, fingerprint, micros(tx.Now()))
}

// requeue gives an item back to the queue.
func (r itemInJob) requeue(ctx context.Context, tx Tx, t penstock.Transition, notBefore int64) error {
	next, err := r.Status.Next(t)
	if err != nil {
		return err
	}
	r.parked = notBefore > micros(tx.Now())
	if !r.parked {
		if err := activate(ctx, tx, r.Tenant, r.job.Lane); err != nil {
			return err
		}
	}
	r.released[r.claim]++
	r.job.Counts.Move(r.Status, next)
	r.Status, r.notBefore = next, notBefore
	r.moved.takeBack(r.job.Lane, r.itemRow)
	err = tx.Put(ctx, requeueItem, withUsage(r.Usage, r.ID, r.claim, next, notBefore, truth(r.parked).column(), r.tries, r.Attempts, r.crashes,
		r.Cost)...)
	if err != nil {
		return err
	}
	return r.enter(ctx, tx)
}

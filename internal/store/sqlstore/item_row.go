package sqlstore

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/store"
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
	deaths     int // of child processes
	result     placed
	price      string            // version of the price that its settlement is at
	fresh      bool              // it has no row yet
	place      int               // of one that has no row and runs: its place in its claim, from 1
	last       *penstock.Attempt // that decided it, where it has no row or ended in this transaction
	lies       inResultGroup     // where one lies that ended without a row
}

// itemColumns leaves the result out: most readers do not want it, and it can be large.
const itemColumns = `id, job_id, tenant_id, n, custom_id, status, seq, attempts, fence, tries, crashes, child_deaths,
	reserved_nano_usd, estimate_tokens, input_bytes, not_before, parked = 1, claim_id, target, status_code, error_code, error_message,
	cost_nano_usd, price_version, ` + usageNames + `, finished_at`

func (r *itemRow) dest(extra ...any) []any {
	r.Error = &penstock.ItemError{}
	return append(intoUsage(&r.Usage, &r.ID, &r.Job, &r.Tenant, &r.Index, &r.CustomID, &r.Status, &r.Seq, &r.Attempts,
		&r.Fence, &r.tries, &r.crashes, &r.deaths, &r.reserved, &r.estimate, &r.inputBytes, &r.notBefore, &r.parked, &r.claim, &r.Target, &r.StatusCode, &r.Error.Code, &r.Error.Message,
		&r.Cost, &r.price), extra...)
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
	resultBytes  int64 // of the result as it came
}

// spend adds what a claim is known to have used to an item and its job.
func (r itemInJob) spend(u penstock.Usage, cost penstock.NanoUSD) {
	r.Usage, r.job.Usage = r.Usage.Plus(u), r.job.Usage.Plus(u)
	r.Cost = r.Cost.Plus(cost)
	r.job.Cost = r.job.Cost.Plus(cost)
	r.lockedBudgets.move(r.budgets(), 0, cost)
}

// end takes an item to its outcome: status, event number, settlement and dead letter.
func (r itemInJob) end(ctx context.Context, tx Tx, o outcome) error {
	next, err := r.Status.Next(o.transition)
	if err != nil {
		return err
	}
	groupable := r.groupable(o)
	if r.Status == penstock.StatusRunning {
		r.released.add(r.itemRow)
	}
	r.job.Counts.Move(penstock.StatusQueued, next)
	r.job.Seq++
	was := r.Status
	r.Status, r.Seq, r.parked, r.FinishedAt = next, r.job.Seq, false, tx.Now()
	r.Target, r.StatusCode, r.Error, r.result, r.price = o.target, o.statusCode, o.err, o.result, o.priceVersion
	r.last = o.attempt
	r.job.StoredBytes += o.resultBytes
	r.stored.job(r.Tenant, r.Job, o.resultBytes)
	r.settled.add(r)
	r.lockedBudgets.move(r.budgets(), r.reserved, 0)
	if groupable {
		return r.recordTogether(ctx, tx)
	}
	if err := r.save(ctx, tx, was, o.attempt); err != nil {
		return err
	}
	r.ended[r.Job] = append(r.ended[r.Job], r.Index)
	if next != penstock.StatusFailed {
		return nil
	}
	return r.bury(ctx, tx, o)
}

// save writes the row of an item that was in the given status and, if it was running, under its claim. An item
// that has no row yet gets one. If an item is not how it was thought to be, the transaction fails with ErrMissed.
func (r itemInJob) save(ctx context.Context, tx Tx, was penstock.Status, last *penstock.Attempt) error {
	kept, err := keepAttempt(last)
	if err != nil {
		return err
	}
	failure := r.Error
	if failure == nil {
		failure = &penstock.ItemError{}
	}
	how := saveItem
	switch {
	case r.fresh:
		how = addFresh
	case was == penstock.StatusQueued:
		how = saveQueued
	}
	return tx.Put(ctx, how, withUsage(r.Usage, r.ID, r.Job, r.Tenant, r.Index, r.CustomID, r.estimate, r.inputBytes, r.reserved, r.claim,
		r.Status, r.Seq, r.notBefore, truth(r.parked).column(), r.Fence, r.tries, r.Attempts, r.crashes, r.deaths, r.Target, r.StatusCode,
		r.result.inline, r.result.blob, failure.Code, storable(failure.Message),
		r.Cost, r.price, micros(r.FinishedAt), kept)...)
}

// savedColumns are those of a new row; of a row that is there those change that changing lists.
const savedColumns = `id text, job_id text, tenant_id text, n bigint, custom_id text, estimate_tokens bigint, input_bytes bigint,
	reserved_nano_usd bigint, claim_id text, ` + changing

const changing = `status text, seq bigint, not_before bigint, parked bigint, fence bigint, tries bigint, attempts bigint, crashes bigint, child_deaths bigint,
	target text, status_code bigint, result bytea, result_blob text, error_code text, error_message text,
	cost_nano_usd bigint, price_version text, finished_at bigint, last_attempt text, ` + usageColumns

var (
	saveItem = insertInto("items", savedColumns, overwriting("id", changing)+
		" WHERE items.status = 'running' AND items.claim_id = excluded.claim_id AND items.fence = excluded.fence").RequireAll()
	// addFresh is for items that are thought to have no row: a server need not look for one first.
	addFresh = &Bulk{Strict: true, Types: saveItem.Types, One: saveItem.One, Many: insertInto("items", savedColumns, "").Many}

	saveQueued = insertInto("items", savedColumns, overwriting("id", changing)+" WHERE items.status = 'queued'").RequireAll()
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

// bury keeps a failed item in sight until somebody retries or dismisses it.
func (r itemInJob) bury(ctx context.Context, tx Tx, o outcome) error {
	cause := store.Cause{Code: o.err.Code, Kind: o.errorKind, Target: o.target, Status: o.statusCode, Message: o.err.Message}
	return tx.Put(ctx, addDeadLetter, r.ID, r.Job, r.Tenant, r.job.Model, o.err.Code, o.errorKind, cause.Fingerprint(), micros(tx.Now()))
}

// requeue gives a running item back to the queue, in which it stands alone from then on. Past the deadline of
// its job it ends instead: nobody would ever claim it.
func (r itemInJob) requeue(ctx context.Context, tx Tx, t penstock.Transition, notBefore int64) error {
	if !r.job.Deadline.After(tx.Now()) {
		return r.end(ctx, tx, outcome{transition: penstock.TransitionExpire, target: r.Target, err: expiredError()})
	}
	next, err := r.Status.Next(t)
	if err != nil {
		return err
	}
	r.parked = notBefore > micros(tx.Now()) || r.suspect()
	if !r.parked {
		if err := activate(ctx, tx, r.Tenant, r.job.Lane); err != nil {
			return err
		}
	}
	r.released.add(r.itemRow)
	was := r.Status
	r.Status, r.notBefore = next, notBefore
	r.moved.takeBack(r.backlogKey(), r.itemRow)
	if err := r.save(ctx, tx, was, nil); err != nil {
		return err
	}
	return r.admit(ctx, tx)
}

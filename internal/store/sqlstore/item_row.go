package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// itemInJob is a locked item and its locked job. The transaction that moves the item must save the job.
type itemInJob struct {
	*itemstore.Row
	job *penstock.Job
	jobGroup
}

// outcome is how an item ends.
type outcome struct {
	transition   penstock.Transition
	target       string
	statusCode   int
	result       placed
	attempt      *penstock.Attempt // that decided it; nil if none did, or if it has a row already
	err          *penstock.ItemError
	errorKind    string
	priceVersion string
	resultBytes  int64 // of the result before it is sealed
}

// spend adds the known usage and cost of a claim to an item and its job.
func (r itemInJob) spend(u penstock.Usage, cost penstock.NanoUSD) {
	r.Usage, r.job.Usage = r.Usage.Plus(u), r.job.Usage.Plus(u)
	r.Cost = r.Cost.Plus(cost)
	r.job.Cost = r.job.Cost.Plus(cost)
	r.lockedBudgets.move(r.budgets(), 0, cost)
}

// end takes an item to its outcome: status, event number, settlement and dead letter.
func (r itemInJob) end(ctx context.Context, tx sqldb.Tx, o outcome) error {
	next, err := r.Status.Next(o.transition)
	if err != nil {
		return err
	}
	if r.Status == penstock.StatusRunning {
		r.released.add(r.Row)
	}
	r.job.Counts.Move(penstock.StatusQueued, next)
	r.job.Seq++
	was := r.Status
	r.Status, r.Seq, r.Parked, r.FinishedAt = next, r.job.Seq, false, tx.Now()
	r.Target, r.StatusCode, r.Error, r.Sealed, r.PriceVersion = o.target, o.statusCode, o.err, o.result, o.priceVersion
	r.Last = o.attempt
	r.job.StoredBytes += o.resultBytes
	r.results.add(r.jobGroup, r.job, o.resultBytes)
	r.settled.add(r)
	r.lockedBudgets.move(r.budgets(), r.Reserved, 0)
	if err := r.items.End(ctx, tx, itemstore.Ended{Row: r.Row, Was: was, Of: r.job}); err != nil {
		return err
	}
	if next != penstock.StatusFailed {
		return nil
	}
	return r.addDeadLetter(ctx, tx, o)
}

var addDeadLetter = sqldb.InsertInto("dead_letters", `item_id text, job_id text, tenant_id text, model text, error_code text,
	error_kind text, fingerprint text, created_at bigint`, "")

// truth is a bool as the database stores it.
type truth bool

func (t truth) column() int64 {
	if t {
		return 1
	}
	return 0
}

// addDeadLetter writes a dead letter for a failed item, which stays open until a caller retries or dismisses it.
func (r itemInJob) addDeadLetter(ctx context.Context, tx sqldb.Tx, o outcome) error {
	cause := store.Cause{Code: o.err.Code, Kind: o.errorKind, Target: o.target, Status: o.statusCode, Message: o.err.Message}
	return tx.Put(ctx, addDeadLetter, r.ID, r.Job, r.Tenant, r.job.Model, o.err.Code, o.errorKind, cause.Fingerprint(), sqldb.Micros(tx.Now()))
}

// requeue returns a running item to the queue, with a range of its own from then on. Past the deadline of its job the
// item ends instead: no worker would ever claim it.
func (r itemInJob) requeue(ctx context.Context, tx sqldb.Tx, t penstock.Transition, notBefore int64) error {
	if !r.job.Deadline.After(tx.Now()) {
		return r.end(ctx, tx, outcome{transition: penstock.TransitionExpire, target: r.Target, err: expiredError()})
	}
	next, err := r.Status.Next(t)
	if err != nil {
		return err
	}
	r.Parked = notBefore > sqldb.Micros(tx.Now()) || suspect(r.Row)
	if !r.Parked {
		if err := activate(ctx, tx, r.Tenant, r.job.Lane); err != nil {
			return err
		}
	}
	r.released.add(r.Row)
	was := r.Status
	r.Status, r.NotBefore = next, notBefore
	r.moved.takeBack(r.backlogKey(), r.Row)
	if err := r.items.Save(ctx, tx, r.Row, was); err != nil {
		return err
	}
	return r.admit(ctx, tx)
}

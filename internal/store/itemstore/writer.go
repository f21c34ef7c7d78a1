package itemstore

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// Writer writes the items of one transaction and decides the form of each. Items that ended are written by End or, if
// they share a result group, by Flush. The zero value is ready to use.
type Writer struct {
	groups map[penstock.ID]*resultGroup // by job
	ended  map[penstock.ID][]int        // by job, the indexes of items that ended and have rows, in order
}

var (
	addInputGroup = sqldb.InsertInto("input_groups", `job_id text, first_n bigint, facts bytea, inputs bytea`, "")
	addInputBlob  = sqldb.InsertInto("input_blobs", `name text, job_id text`, "")
)

// Accept writes a group of a job's new items.
func (w *Writer) Accept(ctx context.Context, tx sqldb.Tx, job penstock.ID, g *InputGroup) error {
	if err := tx.Put(ctx, addInputGroup, job, g.First, g.encoded, g.sealed); err != nil {
		return err
	}
	for i := range g.Facts {
		if name := g.Facts[i].blob; name != "" {
			if err := tx.Put(ctx, addInputBlob, name, job); err != nil {
				return err
			}
		}
	}
	return nil
}

// Parked is a new item that starts later: it has a row with its input from the beginning.
type Parked struct {
	store.NewItem
	Index     int
	Input     Sealed
	NotBefore int64 // microseconds
}

var addParked = sqldb.InsertInto("items", `id text, job_id text, tenant_id text, n bigint, custom_id text, status text, input bytea, input_blob text,
	estimate_tokens bigint, input_bytes bigint, reserved_nano_usd bigint, not_before bigint, parked bigint`, "")

// Park writes a new item that starts later.
func (w *Writer) Park(ctx context.Context, tx sqldb.Tx, j *penstock.Job, p Parked) error {
	return tx.Put(ctx, addParked, penstock.ItemID(j.ID, p.Index), j.ID, j.Tenant, p.Index, p.CustomID, penstock.StatusQueued, p.Input.Inline, p.Input.Blob,
		p.EstimateTokens, len(p.Body), p.Reserved, p.NotBefore, int64(1))
}

// Ended is an item that ended.
type Ended struct {
	*Row
	Was penstock.Status // before it ended
	Of  *penstock.Job
}

// End writes an item that ended. The item joins the result group of its job, or gets a row. A row that is not how the Row
// says fails the transaction with sqldb.ErrMissed.
func (w *Writer) End(ctx context.Context, tx sqldb.Tx, e Ended) error {
	if e.groupable() {
		return w.group(ctx, tx, e)
	}
	if w.ended == nil {
		w.ended = make(map[penstock.ID][]int)
	}
	w.ended[e.Job] = append(w.ended[e.Job], e.Index)
	return w.Save(ctx, tx, e.Row, e.Was)
}

// Save writes the row of an item that had the given status before and, if it was running, is still under its claim. An
// item without a row gets one. If the item is not how the Row says, the transaction fails with sqldb.ErrMissed.
func (w *Writer) Save(ctx context.Context, tx sqldb.Tx, r *Row, was penstock.Status) error {
	last, err := encodeAttempt(r.Last)
	if err != nil {
		return err
	}
	failure := r.Error
	if failure == nil {
		failure = &penstock.ItemError{}
	}
	statement := saveRunning
	switch {
	case r.Rowless:
		statement = saveRowless
	case was == penstock.StatusQueued:
		statement = saveQueued
	}
	parked := int64(0)
	if r.Parked {
		parked = 1
	}
	return tx.Put(ctx, statement, usagerow.Values(r.Usage, r.ID, r.Job, r.Tenant, r.Index, r.CustomID, r.Estimate, r.InputBytes, r.Reserved, r.Claim,
		r.Status, r.Seq, r.NotBefore, parked, r.Fence, r.Tries, r.Attempts, r.Crashes, r.ChildDeaths, r.Target, r.StatusCode,
		r.Sealed.Inline, r.Sealed.Blob, failure.Code, sqldb.Storable(failure.Message),
		r.Cost, r.PriceVersion, sqldb.Micros(r.FinishedAt), last)...)
}

// savedColumns are the columns of a new row; of a row that is there, changing lists those that change.
const savedColumns = `id text, job_id text, tenant_id text, n bigint, custom_id text, estimate_tokens bigint, input_bytes bigint,
	reserved_nano_usd bigint, claim_id text, ` + changing

const changing = `status text, seq bigint, not_before bigint, parked bigint, fence bigint, tries bigint, attempts bigint, crashes bigint, child_deaths bigint,
	target text, status_code bigint, result bytea, result_blob text, error_code text, error_message text,
	cost_nano_usd bigint, price_version text, finished_at bigint, last_attempt text, ` + usagerow.Columns

var (
	saveRunning = sqldb.InsertInto("items", savedColumns, sqldb.Overwriting("id", changing)+
		" WHERE items.status = 'running' AND items.claim_id = excluded.claim_id AND items.fence = excluded.fence").RequireAll()
	// saveRowless is for items that have no row: a server need not look for one first.
	saveRowless = &sqldb.Bulk{Strict: true, Types: saveRunning.Types, One: saveRunning.One, Many: sqldb.InsertInto("items", savedColumns, "").Many}

	saveQueued = sqldb.InsertInto("items", savedColumns, sqldb.Overwriting("id", changing)+" WHERE items.status = 'queued'").RequireAll()
)

// LargeJob is from how many items on the order in which their rows ended is kept beside them: sorting so many for every
// page of results would take too long, and an index would cost every item of every job.
const LargeJob = 257

var addEndings = sqldb.InsertInto("endings", "job_id text, last_seq bigint, items text", "")

// Flush writes the group of a job's items that ended and, of a large job, the order in which rows ended. It is called
// once for each job, after its last End and before the job takes another event number.
func (w *Writer) Flush(ctx context.Context, tx sqldb.Tx, j *penstock.Job) error {
	if ns := w.ended[j.ID]; len(ns) > 0 && j.Counts.Total >= LargeJob {
		items, err := json.Marshal(ns)
		if err != nil {
			return fmt.Errorf("encoding endings: %w", err)
		}
		if err := tx.Put(ctx, addEndings, j.ID, j.Seq, string(items)); err != nil {
			return err
		}
	}
	if g := w.groups[j.ID]; g != nil {
		return g.insert(ctx, tx)
	}
	return nil
}

// AnyEnded says whether an item ended in the transaction.
func (w *Writer) AnyEnded() bool { return len(w.ended)+len(w.groups) > 0 }

package itemstore

import (
	"context"

	"penstock"
	"penstock/internal/store/sqldb"
)

// Removed is what a removal of items took away.
type Removed struct {
	Items int
	Cost  penstock.NanoUSD
	Blobs []Sealed // that no row names any more
}

func (r *Removed) add(more Removed) {
	r.Items, r.Cost, r.Blobs = r.Items+more.Items, r.Cost+more.Cost, append(r.Blobs, more.Blobs...)
}

// Removal is a step in which items of a deleted job are removed.
type Removal struct {
	Job   penstock.ID
	Total int // items of the job
	Next  int // the first index that was not removed
	Limit int // how many rows the step may remove
}

// RemoveEnded removes result groups of a job and the order in which its rows ended. A group counts as its items and is
// removed as a whole: the last one may exceed the limit. Left is the rest of the limit; if it is 0 there may be more.
func (w *Writer) RemoveEnded(ctx context.Context, tx sqldb.Tx, of Removal) (done Removed, left int, err error) {
	if done, left, err = removeGroups(ctx, tx, of.Job, of.Limit); err != nil || left == 0 || of.Total < LargeJob {
		return done, left, err
	}
	n, err := tx.Exec(ctx, `DELETE FROM endings WHERE job_id = $1 AND last_seq IN
		(SELECT last_seq FROM endings WHERE job_id = $1 LIMIT $2)`, of.Job, left)
	return done, left - int(n), err
}

func removeGroups(ctx context.Context, tx sqldb.Tx, job penstock.ID, limit int) (done Removed, left int, err error) {
	type extent struct {
		last  int64
		items int
	}
	found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT last_seq, items FROM result_groups WHERE job_id = $1 ORDER BY last_seq LIMIT $2`, job, limit),
		func(row sqldb.Row) (e extent, err error) { return e, row.Scan(&e.last, &e.items) })
	if err != nil || len(found) == 0 {
		return done, limit, err
	}
	var last int64
	for _, e := range found {
		if limit == 0 {
			break
		}
		limit, last = max(0, limit-e.items), e.last
	}
	groups, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`DELETE FROM result_groups WHERE job_id = $1 AND last_seq <= $2 RETURNING items, cost_nano_usd`, job, last),
		func(row sqldb.Row) (r Removed, err error) { return r, row.Scan(&r.Items, &r.Cost) })
	for _, g := range groups {
		done.add(g)
	}
	return done, limit, err
}

var removeInputBlob = sqldb.DeleteFrom("input_blobs", "name text")

// RemoveRows removes the rows of the next items of a job, and the input groups that begin there: no reader asks for
// the other items of these groups any more.
func (w *Writer) RemoveRows(ctx context.Context, tx sqldb.Tx, of Removal) (done Removed, err error) {
	end := min(of.Next+of.Limit, of.Total)
	rows, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`DELETE FROM items WHERE id >= $1 AND id <= $2 RETURNING input_blob, result_blob, cost_nano_usd`,
		penstock.ItemID(of.Job, of.Next), penstock.ItemID(of.Job, end-1)), func(row sqldb.Row) (Removed, error) {
		var input, result Sealed
		r := Removed{Items: 1}
		err := row.Scan(&input.Blob, &result.Blob, &r.Cost)
		r.Blobs = []Sealed{input, result}
		return r, err
	})
	if err != nil {
		return done, err
	}
	for _, r := range rows {
		done.add(r)
	}
	groups, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`DELETE FROM input_groups WHERE job_id = $1 AND first_n >= $2 AND first_n < $3 RETURNING facts`,
		of.Job, of.Next, end), func(row sqldb.Row) (facts []Fact, err error) {
		var encoded []byte
		if err := row.Scan(&encoded); err != nil {
			return nil, err
		}
		return decodeInputs(encoded)
	})
	if err != nil {
		return done, err
	}
	for _, facts := range groups {
		for i := range facts {
			if name := facts[i].blob; name != "" {
				done.Blobs = append(done.Blobs, Sealed{Blob: name})
				if err := tx.Put(ctx, removeInputBlob, name); err != nil {
					return done, err
				}
			}
		}
	}
	return done, nil
}

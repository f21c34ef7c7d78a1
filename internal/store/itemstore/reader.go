package itemstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store/sqldb"
)

// Reader finds items of a job by index, in whichever form they are.
type Reader struct {
	// Claims returns who runs the items of a job that have no rows.
	Claims func(ctx context.Context, tx sqldb.Reader, job penstock.ID) (Claims, error)
}

// Claims say under which claim an item without a row runs, and in which place there, from 1; place is 0 if it does not
// run.
type Claims interface {
	Running(n int) (claim penstock.ID, place int)
}

// Rows returns the rows of those of the given items that have one. Running items change only under the lock of their
// job, so they need no locks of their own.
func (r Reader) Rows(ctx context.Context, tx sqldb.Reader, ids []penstock.ID) (map[penstock.ID]*Row, error) {
	rows := make(map[penstock.ID]*Row, len(ids))
	err := tx.QueryIn(ctx, sqldb.IDQuery{SQL: `SELECT ` + rowColumns + ` FROM items WHERE id = /*pg ANY */($1)`, IDs: sqldb.Strings(ids)}, func(row sqldb.Row) error {
		item, err := scanRow(row)
		rows[item.ID] = &item
		return err
	})
	return rows, err
}

// Queued locks queued items of a job that have rows and returns them in input order, at most limit. It skips rows that
// another transaction has locked.
func (r Reader) Queued(ctx context.Context, tx sqldb.Reader, job penstock.ID, limit int) ([]Row, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+rowColumns+` FROM items
		WHERE job_id = $1 AND status = 'queued' ORDER BY n LIMIT $2 /*pg FOR UPDATE SKIP LOCKED */`, job, limit), scanRow)
}

// Find returns items of a job by their indexes. An index that is missing is a line of a file that the job does not have
// as an item yet.
func (r Reader) Find(ctx context.Context, tx sqldb.Reader, j *penstock.Job, ns []int) (map[int]*Row, error) {
	f := finder{tx: tx, job: j, found: make(map[int]*Row, len(ns))}
	ids := make([]penstock.ID, len(ns))
	for i, n := range ns {
		ids[i] = penstock.ItemID(j.ID, n)
	}
	rows, err := r.Rows(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		f.found[row.Index] = row
	}
	return f.found, f.rowless(ctx, r, ns)
}

// finder looks for items of a job, form by form.
type finder struct {
	tx    sqldb.Reader
	job   *penstock.Job
	found map[int]*Row // by index
}

// rowless finds items that have no rows: those that ended are in result groups, the others run or wait.
func (f *finder) rowless(ctx context.Context, r Reader, ns []int) error {
	if err := f.ended(ctx, f.missing(ns)); err != nil {
		return err
	}
	return f.open(ctx, r, f.missing(ns))
}

// missing are the indexes that were not found.
func (f *finder) missing(ns []int) (left []int) {
	for _, n := range ns {
		if f.found[n] == nil {
			left = append(left, n)
		}
	}
	return left
}

// ended finds items in result groups. It looks for as many indexes at a time as a group may span, so that it reads few
// groups that have none of them.
func (f *finder) ended(ctx context.Context, ns []int) error {
	left := slices.Sorted(slices.Values(ns))
	for len(left) > 0 {
		near, _ := slices.BinarySearch(left, left[0]+resultGroupSpan)
		window := left[:near]
		left = left[near:]
		first, last := window[0], window[len(window)-1]
		groups, err := sqldb.QueryAll(ctx, f.tx, sqldb.SQL(`SELECT `+groupColumns+` FROM result_groups g
			WHERE g.job_id = $1 AND g.max_n >= $2 AND g.max_n < $3 AND g.min_n <= $4`, f.job.ID, first, last+resultGroupSpan, last), scanGroup)
		if err != nil {
			return err
		}
		for _, g := range groups {
			for i := range g.items {
				row := &g.items[i]
				if _, wanted := slices.BinarySearch(window, row.Index); wanted {
					f.found[row.Index] = row
				}
			}
		}
	}
	return nil
}

// open finds items that have not ended and have no rows: they are in input groups.
func (f *finder) open(ctx context.Context, r Reader, ns []int) error {
	if len(ns) == 0 {
		return nil
	}
	claims, err := r.Claims(ctx, f.tx, f.job.ID)
	if err != nil {
		return err
	}
	groups, err := findGroups(ctx, f.tx, f.job.ID, ns)
	if err != nil {
		return err
	}
	for n, in := range groups {
		row, err := in.Row(f.job, n)
		if err != nil {
			return err
		}
		if claim, place := claims.Running(n); place > 0 {
			row.Status, row.Claim, row.Place, row.Fence = penstock.StatusRunning, claim, place, 1
		}
		f.found[n] = row
	}
	return nil
}

// Inputs returns the sealed inputs of items of a job. An index that is missing is a line that the job does not have as an
// item yet.
func (r Reader) Inputs(ctx context.Context, tx sqldb.Reader, job penstock.ID, ns []int) (map[int]Sealed, error) {
	groups, err := findGroups(ctx, tx, job, ns)
	if err != nil {
		return nil, err
	}
	found := make(map[int]Sealed, len(ns))
	for n, in := range groups {
		part := *in
		q, needed, err := part.AskInputs(n, n)
		if err == nil && needed && part.Input(n).Blob == "" {
			err = tx.Ask(ctx, q)
		}
		if err != nil {
			return nil, err
		}
		found[n] = part.Input(n)
	}
	if len(found) == len(ns) {
		return found, nil
	}
	var apart []string // items that started later than their job: their rows have the inputs
	for _, n := range ns {
		if _, ok := found[n]; !ok {
			apart = append(apart, string(penstock.ItemID(job, n)))
		}
	}
	return found, tx.QueryIn(ctx, sqldb.IDQuery{SQL: `SELECT n, input, input_blob FROM items WHERE id = /*pg ANY */($1)`, IDs: apart}, func(row sqldb.Row) error {
		var n int
		var input Sealed
		err := row.Scan(&n, &input.Inline, &input.Blob)
		if !input.Empty() {
			found[n] = input
		}
		return err
	})
}

// LastAttempt returns the attempt that decided an item; none if the item has not ended or no attempt decided it.
func (r Reader) LastAttempt(ctx context.Context, tx sqldb.Reader, job penstock.ID, n int) (*penstock.Attempt, error) {
	a, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT last_attempt FROM items WHERE id = $1 AND last_attempt <> ''`, penstock.ItemID(job, n)), scanAttempt)
	if err != nil || ok {
		return &a, err
	}
	f := finder{tx: tx, job: &penstock.Job{ID: job}, found: make(map[int]*Row, 1)}
	if err := f.ended(ctx, []int{n}); err != nil || f.found[n] == nil {
		return nil, err
	}
	return f.found[n].Last, nil
}

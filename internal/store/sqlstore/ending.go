package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/store"
)

// largeJob is from how many items on the order in which they ended is kept beside them: to sort so many
// whenever a page of results is read would take too long, and an index would cost every item of every job.
const largeJob = 257

var addEndings = insertInto("endings", "job_id text, last_seq bigint, items text", "")

// noteEndings keeps the order in which items of a large job ended. The last of them has the job's number.
func (g jobGroup) noteEndings(ctx context.Context, tx Tx, j *penstock.Job) error {
	ns := g.ended[j.ID]
	if len(ns) == 0 || j.Counts.Total < largeJob {
		return nil
	}
	items, err := json.Marshal(ns)
	if err != nil {
		return fmt.Errorf("encoding endings: %w", err)
	}
	return tx.Put(ctx, addEndings, j.ID, j.Seq, string(items))
}

// endings are items that ended in one transaction.
type endings struct {
	last int64
	ns   []int
}

func scanEndings(row Row) (e endings, err error) {
	var ns []byte
	if err := row.Scan(&e.last, &ns); err != nil {
		return e, err
	}
	return e, json.Unmarshal(ns, &e.ns)
}

// endedPage reads the next items of a large job in the order in which they ended. How many ended together is not
// known beforehand: a few groups may fill the page, or many.
func endedPage(ctx context.Context, tx Tx, scan *resultScan, p store.ResultPage) (page []*resultRow, err error) {
	const most = 64
	for groups := 2; len(page) < p.Limit; groups = min(2*groups, most) {
		found, err := queryAll(ctx, tx, sqlf(`SELECT last_seq, items FROM endings WHERE job_id = $1 AND last_seq > $2
			ORDER BY last_seq LIMIT $3`, scan.job.ID, p.After, groups), scanEndings)
		if err != nil || len(found) == 0 {
			return page, err
		}
		var ns []int
		for _, e := range found {
			if len(ns) >= p.Limit {
				break
			}
			first := e.last - int64(len(e.ns)) + 1
			for i, n := range e.ns {
				if first+int64(i) > p.After {
					ns = append(ns, n)
				}
			}
			p.After = e.last
		}
		if p.Status == "" {
			ns = ns[:min(len(ns), p.Limit-len(page))]
		}
		if page, err = appendItems(ctx, tx, page, itemsQuery{scan, ns, p}); err != nil {
			return page, err
		}
	}
	return page, nil
}

// itemsQuery selects items of a job by their places in it, in the order given, as far as the page has room.
type itemsQuery struct {
	scan *resultScan
	ns   []int
	page store.ResultPage
}

func appendItems(ctx context.Context, tx Tx, page []*resultRow, q itemsQuery) ([]*resultRow, error) {
	ids := make([]string, len(q.ns))
	for i, n := range q.ns {
		ids[i] = string(penstock.ItemID(q.scan.job.ID, n))
	}
	rows := make(map[int]*resultRow, len(q.ns))
	err := tx.QueryIn(ctx, IDQuery{
		SQL: `SELECT ` + resultColumns + ` FROM items WHERE id = /*pg ANY */($1) AND ($2 = '' OR status = $2)`,
		IDs: ids, Args: []any{q.page.Status},
	}, func(row Row) error {
		r, err := q.scan.row(row)
		if err == nil {
			rows[r.Index] = r
		}
		return err
	})
	for _, n := range q.ns {
		if r, ok := rows[n]; ok && len(page) < q.page.Limit {
			page = append(page, r)
		}
	}
	return page, err
}

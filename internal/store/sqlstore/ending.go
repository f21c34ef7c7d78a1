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

// endedPage reads the next items of a large job in the order in which they ended.
func endedPage(ctx context.Context, tx Tx, j penstock.Job, p store.ResultPage) (page []itemRow, err error) {
	const groups = 16 // read at a time
	for len(page) < p.Limit {
		found, err := queryAll(ctx, tx, sqlf(`SELECT last_seq, items FROM endings WHERE job_id = $1 AND last_seq > $2
			ORDER BY last_seq LIMIT $3`, j.ID, p.After, groups), scanEndings)
		if err != nil || len(found) == 0 {
			return page, err
		}
		for _, e := range found {
			first := e.last - int64(len(e.ns)) + 1
			ids := make([]penstock.ID, 0, len(e.ns))
			for i, n := range e.ns {
				if first+int64(i) > p.After {
					ids = append(ids, penstock.ItemID(j.ID, n))
				}
			}
			if p.Status == "" {
				ids = ids[:min(len(ids), p.Limit-len(page))]
			}
			if page, err = appendItems(ctx, tx, page, itemsQuery{ids, p}); err != nil || len(page) == p.Limit {
				return page, err
			}
			p.After = e.last
		}
	}
	return page, nil
}

// itemsQuery selects items by their ids, in the order given, as far as the page has room.
type itemsQuery struct {
	ids  []penstock.ID
	page store.ResultPage
}

func appendItems(ctx context.Context, tx Tx, page []itemRow, q itemsQuery) ([]itemRow, error) {
	rows := make(map[penstock.ID]itemRow, len(q.ids))
	err := tx.QueryIn(ctx, IDQuery{
		SQL: `SELECT ` + itemColumnsWithResult + ` FROM items WHERE id = /*pg ANY */($1) AND ($2 = '' OR status = $2)`,
		IDs: plain(q.ids), Args: []any{q.page.Status},
	}, func(row Row) error {
		r, err := scanItemWithResult(row)
		rows[r.ID] = r
		return err
	})
	for _, id := range q.ids {
		if r, ok := rows[id]; ok && len(page) < q.page.Limit {
			page = append(page, r)
		}
	}
	return page, err
}

package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
)

// largeJob is from how many items on the order in which their rows ended is kept beside them: to sort so many
// whenever a page of results is read would take too long, and an index would cost every item of every job.
const largeJob = 257

var addEndings = insertInto("endings", "job_id text, last_seq bigint, items text", "")

// noteEndings keeps the order in which items of a large job ended that have rows.
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

// endings are items that ended in one transaction, none of them with a number above its last.
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

package itemstore

import (
	"bytes"
	"context"

	"penstock"
	"penstock/internal/store/sqldb"
)

// CustomIDQuery selects items of a job by their custom id.
type CustomIDQuery struct {
	Job         penstock.ID
	CustomID    string
	First, Last int // indexes
}

// ByCustomID returns the indexes of the items in input groups that have a custom id, and how many items the groups have in all.
// It reads the facts of groups only that contain the text of the custom id.
func (r Reader) ByCustomID(ctx context.Context, tx sqldb.Reader, q CustomIDQuery) (ns []int, grouped int, err error) {
	wanted := []byte(q.CustomID)
	rows, err := tx.Query(ctx, `SELECT first_n, facts FROM input_groups WHERE job_id = $1 AND first_n > $2 AND first_n <= $3 ORDER BY first_n`,
		q.Job, q.First-MaxInputGroup, q.Last)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var first int
		var encoded []byte
		if err := rows.Scan(&first, &encoded); err != nil {
			return nil, 0, err
		}
		facts, err := decodeInputs(encoded)
		if err != nil {
			return nil, 0, err
		}
		grouped += max(min(first+len(facts)-1, q.Last)-max(first, q.First)+1, 0)
		if !bytes.Contains(encoded, wanted) {
			continue
		}
		for i, f := range facts {
			if n := first + i; f.CustomID == q.CustomID && n >= q.First && n <= q.Last {
				ns = append(ns, n)
			}
		}
	}
	return ns, grouped, rows.Err()
}

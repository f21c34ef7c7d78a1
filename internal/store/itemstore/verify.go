package itemstore

import (
	"context"

	"penstock"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// CheckedGroup is a result group as the audit of the books reads it.
type CheckedGroup struct {
	Job        penstock.ID
	Last       int64 // event number of its last item
	MinN, MaxN int   // its lowest and highest index
	FinishedAt int64 // microseconds
	Total      int   // items of its job; 0 if the job is gone
	// Items are the items of the group, without the values that they share, which are columns. There are none if the facts
	// do not add up to the columns.
	Items []Row
}

// CheckGroups reads the result groups behind another one, in the order of job and event number, at most limit.
func (r Reader) CheckGroups(ctx context.Context, tx sqldb.Reader, after CheckedGroup, limit int) ([]CheckedGroup, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT job_id, last_seq, min_n, max_n, items, reserved_nano_usd, cost_nano_usd, facts, LENGTH(results), finished_at,
			COALESCE((SELECT total FROM jobs j WHERE j.id = result_groups.job_id), 0), `+usagerow.Names+`
		FROM result_groups WHERE (job_id, last_seq) > ($1, $2) ORDER BY job_id, last_seq LIMIT $3`, after.Job, after.Last, limit), scanChecked)
}

func scanChecked(row sqldb.Row) (g CheckedGroup, err error) {
	var items, results int64
	var facts []byte
	var sum sums
	err = row.Scan(usagerow.Dest(&sum.usage, &g.Job, &g.Last, &g.MinN, &g.MaxN, &items, &sum.reserved, &sum.cost, &facts, &results,
		&g.FinishedAt, &g.Total)...)
	if err != nil {
		return g, err
	}
	if rows, err := decodeResults(facts, items); err == nil && rows[len(rows)-1].group.result.to == results && g.agrees(rows, sum) {
		g.Items = rows
	}
	return g, nil
}

// agrees says whether items add up to the columns of their group.
func (g *CheckedGroup) agrees(rows []Row, want sums) bool {
	var sum sums
	lowest, highest := rows[0].Index, rows[0].Index
	for i := range rows {
		lowest, highest = min(lowest, rows[i].Index), max(highest, rows[i].Index)
		sum.add(&rows[i])
	}
	return sum == want && lowest == g.MinN && highest == g.MaxN && highest-lowest < resultGroupSpan
}

// AskSettled is the question for the items in the result groups of the jobs from one id to another. It calls fn for each
// group; its items are nil if the facts are broken.
func (r Reader) AskSettled(first, last penstock.ID, fn func(g CheckedGroup)) sqldb.Question {
	return sqldb.Ask(sqldb.SQL(`SELECT job_id, finished_at, items, facts FROM result_groups WHERE job_id BETWEEN $1 AND $2`, first, last), func(row sqldb.Row) error {
		var g CheckedGroup
		var items int64
		var facts []byte
		if err := row.Scan(&g.Job, &g.FinishedAt, &items, &facts); err != nil {
			return err
		}
		g.Items, _ = decodeResults(facts, items) // broken facts are reported by CheckGroups
		fn(g)
		return nil
	})
}

package itemstore

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/store/sqldb"
)

// readGroup is a result group as it is read, without the results.
type readGroup struct {
	resultGroupKey
	items []Row
}

const groupColumns = `g.job_id, g.last_seq, g.tenant_id, g.items, g.finished_at, g.facts`

func scanGroup(row sqldb.Row) (g readGroup, err error) {
	var tenant penstock.TenantID
	var items, finished int64
	var facts []byte
	if err := row.Scan(&g.job, &g.last, &tenant, &items, &finished, &facts); err != nil {
		return g, err
	}
	if g.items, err = decodeResults(facts, items); err != nil {
		return g, g.broken()
	}
	for i := range g.items {
		r := &g.items[i]
		r.ID, r.Job, r.Tenant, r.Status = penstock.ItemID(g.job, r.Index), g.job, tenant, penstock.StatusSucceeded
		r.Seq, r.Fence, r.Tries, r.FinishedAt = g.last-items+int64(i)+1, 1, 1, sqldb.FromMicros(finished)
		r.Last.Subject, r.group.resultGroupKey = r.ID, g.resultGroupKey
	}
	return g, nil
}

// broken says that a result group cannot be read.
func (k resultGroupKey) broken() error {
	return fmt.Errorf("result group %d of job %s: %w", k.last, k.job, errBrokenFacts)
}

// readResults fills in the results that are in result groups, with one question for each group. It calls found for every
// item whose result is there.
func readResults(ctx context.Context, tx sqldb.Reader, items []*Result, found func(*Result)) error {
	byGroup := make(map[resultGroupKey][]*Result)
	for _, r := range items {
		if r.group.last == 0 {
			found(r)
			continue
		}
		byGroup[r.group.resultGroupKey] = append(byGroup[r.group.resultGroupKey], r)
	}
	var questions []sqldb.Question
	for key, items := range byGroup {
		part := items[0].group.result
		for _, r := range items {
			part = span{min(part.from, r.group.result.from), max(part.to, r.group.result.to)}
		}
		questions = append(questions, sqldb.Ask(sqldb.SQL(`SELECT substr(results, $3, $4) FROM result_groups WHERE job_id = $1 AND last_seq = $2`,
			key.job, key.last, part.from+1, part.len()), func(row sqldb.Row) error {
			var results []byte
			if err := row.Scan(&results); err != nil {
				return err
			}
			if int64(len(results)) != part.len() {
				return key.broken()
			}
			for _, r := range items {
				r.Sealed.Inline = results[r.group.result.from-part.from : r.group.result.to-part.from]
				found(r)
			}
			return nil
		}))
	}
	if len(questions) == 0 {
		return nil
	}
	return tx.Ask(ctx, questions...)
}

package sqlstore

import (
	"context"
	"slices"

	"penstock"
)

// resultGroupOf is the place of a result group.
type resultGroupOf struct {
	job  penstock.ID
	last int64
}

// inResultGroup is where an item lies that has no row because it is in a result group.
type inResultGroup struct {
	resultGroupOf
	result span
}

// readResultGroup is a result group as it is read, without the results.
type readResultGroup struct {
	resultGroupOf
	items []itemRow
}

const resultGroupColumns = `h.job_id, h.last_seq, h.tenant_id, h.items, h.finished_at, h.facts`

func scanResultGroup(row Row) (h readResultGroup, err error) {
	var tenant penstock.TenantID
	var items, finished int64
	var facts []byte
	if err := row.Scan(&h.job, &h.last, &tenant, &items, &finished, &facts); err != nil {
		return h, err
	}
	if h.items, err = decodeResultGroup(facts, items); err != nil {
		return h, brokenResultGroup(h.resultGroupOf, err)
	}
	for i := range h.items {
		r := &h.items[i]
		r.ID, r.Job, r.Tenant, r.Status = penstock.ItemID(h.job, r.Index), h.job, tenant, penstock.StatusSucceeded
		r.Seq, r.Fence, r.tries, r.FinishedAt = h.last-items+int64(i)+1, 1, 1, fromMicros(finished)
		r.last.Subject, r.lies.resultGroupOf = r.ID, h.resultGroupOf
	}
	return h, nil
}

// findGrouped returns those of a job's items that are in result groups. It looks at as many indexes at a time as one
// resultGroup may span, so that it reads few that have none of them.
func findGrouped(ctx context.Context, tx Tx, job penstock.ID, ns []int) (map[int]*itemRow, error) {
	found := make(map[int]*itemRow)
	left := slices.Sorted(slices.Values(ns))
	for len(left) > 0 {
		near, _ := slices.BinarySearch(left, left[0]+resultGroupSpan)
		window := left[:near]
		left = left[near:]
		first, last := window[0], window[len(window)-1]
		resultGroups, err := queryAll(ctx, tx, sqlf(`SELECT `+resultGroupColumns+` FROM result_groups h
			WHERE h.job_id = $1 AND h.max_n >= $2 AND h.max_n < $3 AND h.min_n <= $4`, job, first, last+resultGroupSpan, last), scanResultGroup)
		if err != nil {
			return nil, err
		}
		for _, h := range resultGroups {
			for i, r := range h.items {
				if _, wanted := slices.BinarySearch(window, r.Index); wanted {
					found[r.Index] = &h.items[i]
				}
			}
		}
	}
	return found, nil
}

// readResults fills in the results of those rows that lie in result groups, with one question for each result group. Whose result
// is there is told to found.
func readResults(ctx context.Context, tx Tx, rows []*resultRow, found func(*resultRow)) error {
	byResultGroup := make(map[resultGroupOf][]*resultRow)
	for _, r := range rows {
		if r.lies.last == 0 {
			found(r)
			continue
		}
		byResultGroup[r.lies.resultGroupOf] = append(byResultGroup[r.lies.resultGroupOf], r)
	}
	var questions []Question
	for of, items := range byResultGroup {
		part := items[0].lies.result
		for _, r := range items {
			part = span{min(part.from, r.lies.result.from), max(part.to, r.lies.result.to)}
		}
		questions = append(questions, ask(sqlf(`SELECT substr(results, $3, $4) FROM result_groups WHERE job_id = $1 AND last_seq = $2`,
			of.job, of.last, part.from+1, part.to-part.from), func(row Row) error {
			var results []byte
			if err := row.Scan(&results); err != nil {
				return err
			}
			if int64(len(results)) != part.to-part.from {
				return brokenResultGroup(of, errBrokenResultGroup)
			}
			for _, r := range items {
				r.result.inline = results[r.lies.result.from-part.from : r.lies.result.to-part.from]
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

// allGrouped are all items of a job that are in result groups.
func allGrouped(ctx context.Context, tx Tx, job penstock.ID) (all []itemRow, err error) {
	resultGroups, err := queryAll(ctx, tx, sqlf(`SELECT `+resultGroupColumns+` FROM result_groups h WHERE h.job_id = $1 ORDER BY h.last_seq`, job), scanResultGroup)
	for _, h := range resultGroups {
		all = append(all, h.items...)
	}
	return all, err
}

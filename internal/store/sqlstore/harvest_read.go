package sqlstore

import (
	"context"
	"slices"

	"penstock"
)

// harvestOf is the place of a harvest.
type harvestOf struct {
	job  penstock.ID
	last int64
}

// inHarvest is where an item lies that has no row because it is in a harvest.
type inHarvest struct {
	harvestOf
	result span
}

// readHarvest is a harvest as it is read, without the results.
type readHarvest struct {
	harvestOf
	items []itemRow
}

const harvestColumns = `h.job_id, h.last_seq, h.tenant_id, h.items, h.finished_at, h.facts`

func scanHarvest(row Row) (h readHarvest, err error) {
	var tenant penstock.TenantID
	var items, finished int64
	var facts []byte
	if err := row.Scan(&h.job, &h.last, &tenant, &items, &finished, &facts); err != nil {
		return h, err
	}
	if h.items, err = decodeHarvest(facts, items); err != nil {
		return h, brokenHarvest(h.harvestOf, err)
	}
	for i := range h.items {
		r := &h.items[i]
		r.ID, r.Job, r.Tenant, r.Status = penstock.ItemID(h.job, r.Index), h.job, tenant, penstock.StatusSucceeded
		r.Seq, r.Fence, r.tries, r.FinishedAt = h.last-items+int64(i)+1, 1, 1, fromMicros(finished)
		r.last.Subject, r.lies.harvestOf = r.ID, h.harvestOf
	}
	return h, nil
}

// findReaped returns those of a job's items that are in harvests. It looks at as many indexes at a time as one
// harvest may span, so that it reads few that have none of them.
func findReaped(ctx context.Context, tx Tx, job penstock.ID, ns []int) (map[int]*itemRow, error) {
	found := make(map[int]*itemRow)
	left := slices.Sorted(slices.Values(ns))
	for len(left) > 0 {
		near, _ := slices.BinarySearch(left, left[0]+harvestSpan)
		window := left[:near]
		left = left[near:]
		first, last := window[0], window[len(window)-1]
		harvests, err := queryAll(ctx, tx, sqlf(`SELECT `+harvestColumns+` FROM harvests h
			WHERE h.job_id = $1 AND h.max_n >= $2 AND h.max_n < $3 AND h.min_n <= $4`, job, first, last+harvestSpan, last), scanHarvest)
		if err != nil {
			return nil, err
		}
		for _, h := range harvests {
			for i, r := range h.items {
				if _, wanted := slices.BinarySearch(window, r.Index); wanted {
					found[r.Index] = &h.items[i]
				}
			}
		}
	}
	return found, nil
}

// readResults fills in the results of those rows that lie in harvests, with one question for each harvest. Whose result
// is there is told to found.
func readResults(ctx context.Context, tx Tx, rows []*resultRow, found func(*resultRow)) error {
	byHarvest := make(map[harvestOf][]*resultRow)
	for _, r := range rows {
		if r.lies.last == 0 {
			found(r)
			continue
		}
		byHarvest[r.lies.harvestOf] = append(byHarvest[r.lies.harvestOf], r)
	}
	var questions []Question
	for of, items := range byHarvest {
		part := items[0].lies.result
		for _, r := range items {
			part = span{min(part.from, r.lies.result.from), max(part.to, r.lies.result.to)}
		}
		questions = append(questions, ask(sqlf(`SELECT substr(results, $3, $4) FROM harvests WHERE job_id = $1 AND last_seq = $2`,
			of.job, of.last, part.from+1, part.to-part.from), func(row Row) error {
			var results []byte
			if err := row.Scan(&results); err != nil {
				return err
			}
			if int64(len(results)) != part.to-part.from {
				return brokenHarvest(of, errBrokenHarvest)
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

// allReaped are all items of a job that are in harvests.
func allReaped(ctx context.Context, tx Tx, job penstock.ID) (all []itemRow, err error) {
	harvests, err := queryAll(ctx, tx, sqlf(`SELECT `+harvestColumns+` FROM harvests h WHERE h.job_id = $1 ORDER BY h.last_seq`, job), scanHarvest)
	for _, h := range harvests {
		all = append(all, h.items...)
	}
	return all, err
}

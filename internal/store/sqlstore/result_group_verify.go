package sqlstore

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

const (
	// resultGroupStep is how many result groups the audit reads at a time.
	resultGroupStep = 64
	// maxAudited bounds the memory of the audit, a byte for each item of a job. No job has so many items.
	maxAudited = 1 << 24
)

// auditResultGroups reports result groups whose facts do not add up to their columns, and items that are in a result group
// and in another place. Other audits use only the columns.
func auditResultGroups(ctx context.Context, tx sqldb.Tx) (problems []string, err error) {
	var after itemstore.CheckedGroup
	var places *jobPlaces
	for len(problems) < store.MaxLedgerProblems {
		found, err := itemReader.CheckGroups(ctx, tx, after, resultGroupStep)
		if err != nil || len(found) == 0 {
			return problems, err
		}
		for _, g := range found {
			after = g
			if g.Items == nil {
				problems = append(problems, fmt.Sprintf("result group differs from what it says it is: %s/%d", g.Job, g.Last))
				continue
			}
			wrong, err := wrongForfeits(ctx, tx, g)
			if err != nil {
				return nil, err
			}
			problems = append(problems, wrong...)
			if g.Total <= 1 {
				continue // the job is gone, or has no other item that could be missing instead
			}
			if g.Total > maxAudited {
				problems = append(problems, "job has more items than any can have: "+string(g.Job))
				continue
			}
			if places == nil || places.job != g.Job {
				if places, err = placesOf(ctx, tx, g.Job, g.Total); err != nil {
					return nil, err
				}
			}
			for _, r := range g.Items {
				if !places.take(r.Index) {
					problems = append(problems, "item is in a result group and elsewhere: "+string(penstock.ItemID(g.Job, r.Index)))
				}
			}
		}
	}
	return problems, nil
}

// wrongForfeits reports forfeits of items of a result group whose usage is unknown: the commit that ended such an item
// booked the forfeit, at the item's target and price. Forfeits of other items are of workers that finished too late.
func wrongForfeits(ctx context.Context, tx sqldb.Tx, g itemstore.CheckedGroup) (problems []string, err error) {
	unknown := map[string]itemstore.Row{}
	for _, r := range g.Items {
		if !r.Last.UsageKnown {
			unknown[forfeitKey(penstock.ItemID(g.Job, r.Index), r.Last.Fence)] = r
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	err = tx.Ask(ctx, sqldb.Ask(sqldb.SQL(`SELECT key, target, price_version, created_at FROM ledger WHERE key BETWEEN $1 AND $2`,
		forfeitPrefix+string(penstock.ItemID(g.Job, g.MinN)), forfeitPrefix+string(penstock.ItemID(g.Job, g.MaxN))+";"), func(row sqldb.Row) error {
		var key, target, price string
		var at int64
		err := row.Scan(&key, &target, &price, &at)
		if r, ok := unknown[key]; ok && (target != r.Target || price != r.PriceVersion || at != g.FinishedAt) {
			problems = append(problems, "item's forfeit has another target, price or time than its end: "+key)
		}
		return err
	}))
	return problems, err
}

// jobPlaces are the items of a job that were found in some place.
type jobPlaces struct {
	job   penstock.ID
	taken []bool
}

// take notes that an item was found, and reports whether it was not found before.
func (p *jobPlaces) take(n int) bool {
	if n < 0 || n >= len(p.taken) || p.taken[n] {
		return false
	}
	p.taken[n] = true
	return true
}

// placesOf finds the items of a job that have rows, are ready or run.
func placesOf(ctx context.Context, tx sqldb.Tx, job penstock.ID, total int) (*jobPlaces, error) {
	p := &jobPlaces{job: job, taken: make([]bool, total)}
	span := func(row sqldb.Row) error {
		var first, last int
		err := row.Scan(&first, &last)
		for n := max(0, first); n <= min(last, len(p.taken)-1); n++ {
			p.taken[n] = true
		}
		return err
	}
	return p, tx.Ask(ctx,
		sqldb.Ask(sqldb.SQL(`SELECT n, n FROM items WHERE id >= $1 AND id <= $2`, penstock.ItemID(job, 0), penstock.ItemID(job, total-1)), span),
		sqldb.Ask(sqldb.SQL(`SELECT r.first_n, r.last_n FROM jobs j JOIN ready r ON r.lane = j.lane AND r.tenant_id = j.tenant_id AND r.model = j.model
			AND r.deadline = j.deadline AND r.job_id = j.id WHERE j.id = $1`, job), span),
		sqldb.Ask(sqldb.SQL(`SELECT `+claimColumns+` FROM claims c WHERE c.job_id = $1`, job), func(row sqldb.Row) error {
			c, err := scanClaim(row)
			for _, n := range c.ns {
				if n < len(p.taken) && c.placeOf(n) > 0 {
					p.taken[n] = true
				}
			}
			return err
		}))
}

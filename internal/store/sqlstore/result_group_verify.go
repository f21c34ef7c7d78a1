package sqlstore

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/store"
)

const (
	// resultGroupStep is how many rows an audit reads at a time.
	resultGroupStep = 64
	// maxAudited bounds the items of a job that are looked for, a byte for each: no job has as many.
	maxAudited = 1 << 24
)

// auditResultGroups tells of result groups that do not come to what their rows say, and of items that are in a result group and
// elsewhere as well. Other audits add up the rows alone.
func auditResultGroups(ctx context.Context, tx Tx) (problems []string, err error) {
	var after resultGroupOf
	var places *jobPlaces
	for len(problems) < store.MaxLedgerProblems {
		found, err := queryAll(ctx, tx, sqlf(`SELECT job_id, last_seq, min_n, max_n, items, reserved_nano_usd, cost_nano_usd, facts, LENGTH(results), finished_at,
				COALESCE((SELECT total FROM jobs j WHERE j.id = result_groups.job_id), 0), `+usageNames+`
			FROM result_groups WHERE (job_id, last_seq) > ($1, $2) ORDER BY job_id, last_seq LIMIT $3`, after.job, after.last, resultGroupStep), scanWeighed)
		if err != nil || len(found) == 0 {
			return problems, err
		}
		for _, w := range found {
			after = w.resultGroupOf
			name := fmt.Sprintf("%s/%d", w.job, w.last)
			items, ok := w.agrees()
			if !ok {
				problems = append(problems, "result group differs from what it says it is: "+name)
				continue
			}
			wrong, err := w.wrongForfeits(ctx, tx, items)
			if err != nil {
				return nil, err
			}
			problems = append(problems, wrong...)
			if w.total <= 1 {
				continue // the job is gone, or has no other item that could be missing instead
			}
			if w.total > maxAudited {
				problems = append(problems, "job has more items than any can have: "+string(w.job))
				continue
			}
			if places == nil || places.job != w.job {
				if places, err = placesOf(ctx, tx, w.job, w.total); err != nil {
					return nil, err
				}
			}
			for _, r := range items {
				if !places.take(r.Index) {
					problems = append(problems, "item is in a result group and elsewhere: "+string(penstock.ItemID(w.job, r.Index)))
				}
			}
		}
	}
	return problems, nil
}

// weighed is a result group with what its row says of it.
type weighed struct {
	resultGroupOf
	min, max, items int64
	reserved, cost  penstock.NanoUSD
	usage           penstock.Usage
	facts           []byte
	results         int64 // bytes
	finished        int64
	total           int // items of its job, 0 if that is gone
}

func scanWeighed(row Row) (w weighed, err error) {
	return w, row.Scan(intoUsage(&w.usage, &w.job, &w.last, &w.min, &w.max, &w.items, &w.reserved, &w.cost, &w.facts, &w.results, &w.finished, &w.total)...)
}

// agrees says whether the facts of a result group add up to its row, and returns its items.
func (w weighed) agrees() ([]itemRow, bool) {
	items, err := decodeResultGroup(w.facts, w.items)
	if err != nil {
		return nil, false
	}
	first := int64(items[0].Index)
	sum := weighed{resultGroupOf: w.resultGroupOf, min: first, max: first, items: int64(len(items)), results: items[len(items)-1].lies.result.to}
	for _, r := range items {
		sum.min, sum.max = min(sum.min, int64(r.Index)), max(sum.max, int64(r.Index))
		sum.reserved = sum.reserved.Plus(r.reserved)
		sum.cost = sum.cost.Plus(r.Cost)
		sum.usage = sum.usage.Plus(r.Usage)
	}
	same := sum.min == w.min && sum.max == w.max && sum.items == w.items && sum.reserved == w.reserved && sum.cost == w.cost &&
		sum.usage == w.usage && sum.results == w.results
	return items, same && sum.max-sum.min < resultGroupSpan
}

// wrongForfeits tells of what was forfeited for items of a result group that nobody knows the use of: the commit that ended them
// booked it, at their target and price. What was forfeited for others is of workers that came too late.
func (w weighed) wrongForfeits(ctx context.Context, tx Tx, items []itemRow) (problems []string, err error) {
	unknown := map[string]itemRow{}
	for _, r := range items {
		if !r.last.UsageKnown {
			unknown[forfeitKey(penstock.ItemID(w.job, r.Index), r.last.Fence)] = r
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	err = tx.Ask(ctx, ask(sqlf(`SELECT key, target, price_version, created_at FROM ledger WHERE key BETWEEN $1 AND $2`,
		forfeitPrefix+string(penstock.ItemID(w.job, int(w.min))), forfeitPrefix+string(penstock.ItemID(w.job, int(w.max)))+";"), func(row Row) error {
		var key, target, price string
		var at int64
		err := row.Scan(&key, &target, &price, &at)
		if r, ok := unknown[key]; ok && (target != r.Target || price != r.price || at != w.finished) {
			problems = append(problems, "item's forfeit has another target, price or time than its end: "+key)
		}
		return err
	}))
	return problems, err
}

// jobPlaces are the items of a job that were found somewhere.
type jobPlaces struct {
	job   penstock.ID
	taken []bool
}

// take notes that an item lies in a place that only it may have, and reports whether it was nowhere else.
func (p *jobPlaces) take(n int) bool {
	if n < 0 || n >= len(p.taken) || p.taken[n] {
		return false
	}
	p.taken[n] = true
	return true
}

// placesOf finds the items of a job that have rows, stand in line or run.
func placesOf(ctx context.Context, tx Tx, job penstock.ID, total int) (*jobPlaces, error) {
	p := &jobPlaces{job: job, taken: make([]bool, total)}
	span := func(row Row) error {
		var first, last int
		err := row.Scan(&first, &last)
		for n := max(0, first); n <= min(last, len(p.taken)-1); n++ {
			p.taken[n] = true
		}
		return err
	}
	return p, tx.Ask(ctx,
		ask(sqlf(`SELECT n, n FROM items WHERE id >= $1 AND id <= $2`, penstock.ItemID(job, 0), penstock.ItemID(job, total-1)), span),
		ask(sqlf(`SELECT r.first_n, r.last_n FROM jobs j JOIN ready r ON r.lane = j.lane AND r.tenant_id = j.tenant_id AND r.model = j.model
			AND r.deadline = j.deadline AND r.job_id = j.id WHERE j.id = $1`, job), span),
		ask(sqlf(`SELECT `+claimColumns+` FROM claims c WHERE c.job_id = $1`, job), func(row Row) error {
			c, err := scanClaim(row)
			for _, n := range c.ns {
				if n < len(p.taken) && c.placeOf(n) > 0 {
					p.taken[n] = true
				}
			}
			return err
		}))
}

package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// Items implements store.Jobs. It finds the indexes of the page first, and then the items.
func (s *Store) Items(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p store.ItemPage) (items []penstock.Item, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		var ns []int
		switch p.Status {
		case "":
			for n := p.After + 1; n < j.Counts.Total && len(ns) < p.Limit; n++ {
				ns = append(ns, n)
			}
		case penstock.StatusRunning:
			ns, err = runningIndexes(ctx, tx, j)
		case penstock.StatusQueued:
			ns, err = queuedIndexes(ctx, tx, j, p)
		default:
			items, err = endedItemsOf(ctx, tx, j, p)
			return err
		}
		if err != nil {
			return err
		}
		slices.Sort(ns)
		ns = slices.DeleteFunc(ns, func(n int) bool { return n <= p.After })
		items, err = itemsAt(ctx, tx, j, ns[:min(len(ns), p.Limit)])
		return err
	})
	return items, err
}

// endedItemsOf are the next items of a job that have one terminal status.
func endedItemsOf(ctx context.Context, tx sqldb.Tx, j penstock.Job, p store.ItemPage) ([]penstock.Item, error) {
	return itemReader.Ended(ctx, tx, itemstore.EndedQuery{Job: j, Page: store.ResultPage{
		Order: store.OrderInput, After: int64(p.After), Status: p.Status, Limit: p.Limit,
	}})
}

// runningIndexes are the indexes of the items that claims of a job hold: never more than there are slots.
func runningIndexes(ctx context.Context, tx sqldb.Tx, j penstock.Job) ([]int, error) {
	claims, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+claimColumns+` FROM claims c WHERE c.job_id = $1`, j.ID), scanClaim)
	if err != nil {
		return nil, err
	}
	held, err := itemsOf(ctx, tx, claims)
	ns := make([]int, len(held))
	for i, r := range held {
		ns[i] = r.n
	}
	return ns, err
}

// queuedIndexes are the indexes of the next queued items of a job: ready items, parked items, and lines of its file that
// are no items yet.
func queuedIndexes(ctx context.Context, tx sqldb.Tx, j penstock.Job, p store.ItemPage) ([]int, error) {
	ranges, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT first_n, last_n FROM ready WHERE lane = $1 AND tenant_id = $2 AND model = $3 AND deadline = $4
			AND job_id = $5 AND last_n > $6 ORDER BY last_n LIMIT $7`,
		j.Lane, j.Tenant, j.Model, sqldb.Micros(j.Deadline), j.ID, p.After, p.Limit),
		func(row sqldb.Row) (r [2]int, err error) { return r, row.Scan(&r[0], &r[1]) })
	if err != nil {
		return nil, err
	}
	ns, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT n FROM items WHERE job_id = $1 AND status = 'queued' AND parked = 1 AND n > $2 ORDER BY n LIMIT $3`,
		j.ID, p.After, p.Limit), func(row sqldb.Row) (n int, err error) { return n, row.Scan(&n) })
	if err != nil {
		return nil, err
	}
	split, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT split FROM jobs WHERE id = $1`, j.ID), sqldb.ScanOne[int64])
	ranges = append(ranges, [2]int{int(split), j.Counts.Total - 1})
	slices.SortFunc(ranges, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	taken := 0
	for _, r := range ranges {
		for n := max(r[0], p.After+1); n <= r[1] && taken < p.Limit; n++ {
			ns = append(ns, n)
			taken++
		}
	}
	return ns, err
}

// itemsAt are items of a job by their indexes, in the order given. A line that the job does not have as an item yet is
// queued.
func itemsAt(ctx context.Context, tx sqldb.Tx, j penstock.Job, ns []int) ([]penstock.Item, error) {
	found, err := itemReader.Find(ctx, tx, &j, ns)
	if err != nil {
		return nil, err
	}
	items := make([]penstock.Item, len(ns))
	for i, n := range ns {
		if r := found[n]; r != nil {
			items[i] = r.Item
			continue
		}
		items[i] = penstock.Item{ID: penstock.ItemID(j.ID, n), Job: j.ID, Tenant: j.Tenant, Index: n, Status: penstock.StatusQueued}
	}
	return items, nil
}

package sqlstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// SearchItems implements store.ItemSearches. Custom ids are in the facts of input groups; items that were submitted for later
// have rows only.
func (s *Store) SearchItems(ctx context.Context, tenant penstock.TenantID, job penstock.ID, q store.ItemSearch) (found store.ItemsFound, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		first, last := q.After+1, min(q.After+store.MaxItemScan, j.Counts.Total-1)
		ns, grouped, err := itemReader.ByCustomID(ctx, tx, itemstore.CustomIDQuery{Job: job, CustomID: q.CustomID, First: first, Last: last})
		if err != nil {
			return err
		}
		if found.Next = last; last >= j.Counts.Total-1 {
			found.Next = -1
		}
		if grouped < last-first+1 {
			apart, read, err := customRows(ctx, tx, j, customRange{q.CustomID, first, last})
			if err != nil {
				return err
			}
			if read < last {
				last, found.Next = read, read
			}
			ns = append(ns, apart...)
		}
		slices.Sort(ns)
		ns = slices.DeleteFunc(slices.Compact(ns), func(n int) bool { return n > last })
		if len(ns) > q.Limit {
			ns = ns[:q.Limit]
			found.Next = ns[q.Limit-1]
		}
		found.Items, err = itemsAt(ctx, tx, j, ns)
		return err
	})
	return found, err
}

// customRange is where rows of items are searched.
type customRange struct {
	customID    string
	first, last int
}

// maxCustomRows is how many rows of items one search reads.
const maxCustomRows = 20_000

// customRows searches rows of items. Read is the last index that was looked at.
func customRows(ctx context.Context, tx sqldb.Tx, j penstock.Job, r customRange) (ns []int, read int, err error) {
	if r.first > r.last {
		return nil, r.last, nil
	}
	type numbered struct {
		n    int
		same bool
	}
	// The conditions on the id make it one range of the primary key.
	rows, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT n, custom_id = $3 FROM items WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT $4`,
		penstock.ItemID(j.ID, r.first), penstock.ItemID(j.ID, r.last), sqldb.Storable(r.customID), maxCustomRows),
		func(row sqldb.Row) (x numbered, err error) { return x, row.Scan(&x.n, &x.same) })
	read = r.last
	if len(rows) == maxCustomRows {
		read = rows[len(rows)-1].n
	}
	for _, x := range rows {
		if x.same {
			ns = append(ns, x.n)
		}
	}
	return ns, read, err
}

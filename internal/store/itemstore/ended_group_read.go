package itemstore

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// grouped are the next items of a page that are in result groups.
func (q *EndedQuery) grouped(ctx context.Context, tx sqldb.Reader) ([]Row, error) {
	if q.Page.Order == store.OrderInput {
		return q.groupedByIndex(ctx, tx)
	}
	return q.groupedBySeq(ctx, tx)
}

func (q *EndedQuery) groupedBySeq(ctx context.Context, tx sqldb.Reader) (page []Row, err error) {
	after := q.Page.After
	for groups := 2; len(page) < q.Page.Limit; groups = min(2*groups, maxGroups) {
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+groupColumns+` FROM result_groups g WHERE g.job_id = $1 AND g.last_seq > $2
			ORDER BY g.last_seq LIMIT $3`, q.Job.ID, after, groups), scanGroup)
		if err != nil {
			return nil, err
		}
		for _, g := range found {
			page = append(page, slices.DeleteFunc(g.items, func(r Row) bool { return r.Seq <= q.Page.After })...)
			after = g.last
		}
		if len(found) < groups {
			break
		}
	}
	return page, nil
}

// groupedByIndex first finds how far the page reaches: result groups overlap.
func (q *EndedQuery) groupedByIndex(ctx context.Context, tx sqldb.Reader) (page []Row, err error) {
	reach, err := q.reach(ctx, tx)
	if err != nil || reach < 0 {
		return nil, err
	}
	found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+groupColumns+` FROM result_groups g
		WHERE g.job_id = $1 AND g.max_n > $2 AND g.max_n < $3 AND g.min_n <= $4`,
		q.Job.ID, q.Page.After, reach+resultGroupSpan, reach), scanGroup)
	for _, g := range found {
		page = append(page, slices.DeleteFunc(g.items, func(r Row) bool { return int64(r.Index) <= q.Page.After || int64(r.Index) > reach })...)
	}
	return page, err
}

// reach is an index up to which the result groups have enough items for a page, or the last index that they have; -1 if
// they have none behind the page before.
func (q *EndedQuery) reach(ctx context.Context, tx sqldb.Reader) (int64, error) {
	type extent struct{ min, max, items int64 }
	for most := 2; ; most *= 2 {
		extents, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT min_n, max_n, items FROM result_groups WHERE job_id = $1 AND max_n > $2
			ORDER BY max_n LIMIT $3`, q.Job.ID, q.Page.After, most),
			func(row sqldb.Row) (e extent, err error) { return e, row.Scan(&e.min, &e.max, &e.items) })
		if err != nil || len(extents) == 0 {
			return -1, err
		}
		enough := int64(q.Page.Limit)
		for _, e := range extents {
			if e.min > q.Page.After { // some items of the others may have been on the page before
				enough -= e.items
			}
			if enough <= 0 {
				return e.max, nil
			}
		}
		if len(extents) < most {
			return extents[len(extents)-1].max, nil
		}
	}
}

// AllEnded returns every item of a job that ended.
func (r Reader) AllEnded(ctx context.Context, tx sqldb.Reader, j *penstock.Job) ([]Row, error) {
	first, last := penstock.ItemID(j.ID, 0), penstock.ItemID(j.ID, j.Counts.Total-1)
	all, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+rowColumns+` FROM items WHERE id >= $1 AND id <= $2 AND seq > 0`, first, last), scanRow)
	if err != nil {
		return nil, err
	}
	groups, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+groupColumns+` FROM result_groups g WHERE g.job_id = $1 ORDER BY g.last_seq`, j.ID), scanGroup)
	for _, g := range groups {
		all = append(all, g.items...)
	}
	return all, err
}

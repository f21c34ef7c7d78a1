package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// endedQuery selects the next items of a job that ended, in one of the orders. Some have rows, the others lie in
// resultGroups: this is where the two come together.
type endedQuery struct {
	job     penstock.Job
	page    store.ResultPage
	results bool // with their sealed results

	// unbroken ends the page before the first item that has not ended: it is for readers of a job that runs who come
	// back for what is behind the last index they saw.
	unbroken bool
}

// readEnded reads items without their results.
func readEnded(ctx context.Context, tx Tx, q endedQuery) ([]penstock.Item, error) {
	rows, _, err := q.read(ctx, tx, nil)
	return mapped(rows, func(r *resultRow) penstock.Item { return r.Item }), err
}

// What a page of results holds at the most, beside its limit.
const (
	pageRows  = 256       // rows: how large their results are is known once they are read
	pageBytes = 512 << 10 // sealed results
	blobBytes = 64 << 10  // what a result in a blob is taken for
)

// read reads the page. Of items whose results are wanted, found is told as soon as there is one. More says that there
// may be items behind the page.
func (q *endedQuery) read(ctx context.Context, tx Tx, found func(*resultRow)) (page []*resultRow, more bool, err error) {
	if q.unbroken {
		page, more, err = q.nextUnbroken(ctx, tx)
	} else {
		page, more, err = q.next(ctx, tx)
	}
	if err != nil || !q.results {
		return page, more, err
	}
	size := int64(0)
	for i, r := range page {
		if size += r.size(); size > pageBytes && i > 0 {
			page, more = page[:i], true
			break
		}
	}
	return page, more, readResults(ctx, tx, page, found)
}

// next are the items of the page. Results that lie in result groups are not read yet.
func (q endedQuery) next(ctx context.Context, tx Tx) (page []*resultRow, more bool, err error) {
	limit := q.page.Limit
	rows := q
	if q.results {
		rows.page.Limit = min(limit, pageRows)
	}
	if page, err = rows.rows(ctx, tx); err != nil {
		return nil, false, err
	}
	rowsFull := len(page) >= rows.page.Limit
	if q.page.Status == "" || q.page.Status == penstock.StatusSucceeded {
		grouped, err := q.grouped(ctx, tx)
		if err != nil {
			return nil, false, err
		}
		for i := range grouped {
			page = append(page, &resultRow{Item: grouped[i].Item, lies: grouped[i].lies})
		}
	}
	slices.SortFunc(page, func(a, b *resultRow) int { return cmp.Compare(q.place(a), q.place(b)) })
	if rowsFull {
		// There may be a row behind the last one that comes before what result groups have.
		last := len(page) - 1
		for page[last].lies.last != 0 {
			last--
		}
		page = page[:last+1]
	}
	more = rowsFull || len(page) >= limit
	return page[:min(len(page), limit)], more, nil
}

// nextUnbroken are the items of the page up to the first index that is missing, which has not ended. It moves the
// page behind the last one that it looked at, because a status may leave none of them.
func (q *endedQuery) nextUnbroken(ctx context.Context, tx Tx) (page []*resultRow, more bool, err error) {
	all := *q
	all.page.Status = ""
	if page, more, err = all.next(ctx, tx); err != nil {
		return nil, false, err
	}
	q.page.After = max(q.page.After, -1)
	for i, r := range page {
		if int64(r.Index) != q.page.After+1 {
			page, more = page[:i], false
			break
		}
		q.page.After++
	}
	if q.page.Status != "" {
		page = slices.DeleteFunc(page, func(r *resultRow) bool { return r.Status != q.page.Status })
	}
	return page, more, nil
}

// size is about how many bytes the result of an item has.
func (r *resultRow) size() int64 {
	switch {
	case r.lies.last != 0:
		return r.lies.result.to - r.lies.result.from
	case r.result.blob != "":
		return blobBytes
	default:
		return int64(len(r.result.inline))
	}
}

// place is where an item stands in the order.
func (q endedQuery) place(r *resultRow) int64 {
	if q.page.Order == store.OrderInput {
		return int64(r.Index)
	}
	return r.Seq
}

func (q endedQuery) columns() string {
	if q.results {
		return resultColumns
	}
	return endedColumns + `, NULL, ''`
}

// rows are the next that have rows.
func (q endedQuery) rows(ctx context.Context, tx Tx) ([]*resultRow, error) {
	scan := newResultScan(&q.job).row
	p, total := q.page, q.job.Counts.Total
	first, last := penstock.ItemID(q.job.ID, 0), penstock.ItemID(q.job.ID, total-1)
	switch {
	case p.Order == store.OrderInput:
		// One behind the last item is as far as anyone can be.
		next := min(max(p.After, -1), int64(total)-1) + 1
		return queryAll(ctx, tx, sqlf(`SELECT `+q.columns()+` FROM items
			WHERE id >= $1 AND id <= $2 AND seq > 0 AND ($3 = '' OR status = $3) ORDER BY id LIMIT $4`,
			penstock.ItemID(q.job.ID, int(next)), last, p.Status, p.Limit), scan)
	case total >= largeJob:
		return q.rowsOfLarge(ctx, tx)
	default:
		// The items are sorted by themselves first, so that only the results of this page are read.
		return queryAll(ctx, tx, sqlf(`SELECT `+q.columns()+` FROM items WHERE id IN (SELECT id FROM items
				WHERE id >= $1 AND id <= $2 AND seq > 0 AND seq > $3 AND ($4 = '' OR status = $4) ORDER BY seq LIMIT $5)`,
			first, last, p.After, p.Status, p.Limit), scan)
	}
}

// maxGroups bounds how many groups of items that ended together are read at once.
const maxGroups = 64

// rowsOfLarge are the next rows of a large job in the order in which they ended. How many ended together is not
// known beforehand: a few groups may fill the page, or many.
func (q endedQuery) rowsOfLarge(ctx context.Context, tx Tx) (page []*resultRow, err error) {
	p, scan := q.page, newResultScan(&q.job)
	after := p.After
	for groups := 2; len(page) < p.Limit; groups = min(2*groups, maxGroups) {
		found, err := queryAll(ctx, tx, sqlf(`SELECT last_seq, items FROM endings WHERE job_id = $1 AND last_seq > $2
			ORDER BY last_seq LIMIT $3`, q.job.ID, after, groups), scanEndings)
		if err != nil || len(found) == 0 {
			return page, err
		}
		var ids []string
		for _, e := range found {
			if len(ids) >= p.Limit {
				break
			}
			for _, n := range e.ns {
				ids = append(ids, string(penstock.ItemID(q.job.ID, n)))
			}
			after = e.last
		}
		err = tx.QueryIn(ctx, IDQuery{
			SQL: `SELECT ` + q.columns() + ` FROM items WHERE id = /*pg ANY */($1) AND seq > $2 AND ($3 = '' OR status = $3)`,
			IDs: ids, Args: []any{p.After, p.Status},
		}, func(row Row) error {
			r, err := scan.row(row)
			page = append(page, r)
			return err
		})
		if err != nil {
			return page, err
		}
	}
	return page, nil
}

// grouped are the next that lie in result groups.
func (q endedQuery) grouped(ctx context.Context, tx Tx) ([]itemRow, error) {
	if q.page.Order == store.OrderInput {
		return q.groupedByIndex(ctx, tx)
	}
	return q.groupedBySeq(ctx, tx)
}

func (q endedQuery) groupedBySeq(ctx context.Context, tx Tx) (page []itemRow, err error) {
	after := q.page.After
	for groups := 2; len(page) < q.page.Limit; groups = min(2*groups, maxGroups) {
		found, err := queryAll(ctx, tx, sqlf(`SELECT `+resultGroupColumns+` FROM result_groups h WHERE h.job_id = $1 AND h.last_seq > $2
			ORDER BY h.last_seq LIMIT $3`, q.job.ID, after, groups), scanResultGroup)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			page = append(page, slices.DeleteFunc(h.items, func(r itemRow) bool { return r.Seq <= q.page.After })...)
			after = h.last
		}
		if len(found) < groups {
			break
		}
	}
	return page, nil
}

// groupedByIndex finds first how far the page reaches: result groups lie across each other.
func (q endedQuery) groupedByIndex(ctx context.Context, tx Tx) (page []itemRow, err error) {
	reach, err := q.reach(ctx, tx)
	if err != nil || reach < 0 {
		return nil, err
	}
	found, err := queryAll(ctx, tx, sqlf(`SELECT `+resultGroupColumns+` FROM result_groups h
		WHERE h.job_id = $1 AND h.max_n > $2 AND h.max_n < $3 AND h.min_n <= $4`,
		q.job.ID, q.page.After, reach+resultGroupSpan, reach), scanResultGroup)
	for _, h := range found {
		page = append(page, slices.DeleteFunc(h.items, func(r itemRow) bool { return int64(r.Index) <= q.page.After || int64(r.Index) > reach })...)
	}
	return page, err
}

// reach is an index that the result groups have enough items up to for a page, or the last that they have; -1 if they
// have none behind the page before.
func (q endedQuery) reach(ctx context.Context, tx Tx) (int64, error) {
	type extent struct{ min, max, items int64 }
	for most := 2; ; most *= 2 {
		extents, err := queryAll(ctx, tx, sqlf(`SELECT min_n, max_n, items FROM result_groups WHERE job_id = $1 AND max_n > $2
			ORDER BY max_n LIMIT $3`, q.job.ID, q.page.After, most),
			func(row Row) (e extent, err error) { return e, row.Scan(&e.min, &e.max, &e.items) })
		if err != nil || len(extents) == 0 {
			return -1, err
		}
		enough := int64(q.page.Limit)
		for _, e := range extents {
			if e.min > q.page.After { // of the others some may have been on the page before
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

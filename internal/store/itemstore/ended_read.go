package itemstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// EndedQuery selects the next items of a job that ended, in one of the orders.
type EndedQuery struct {
	Job  penstock.Job
	Page store.ResultPage

	// Unbroken ends the page before the first item that has not ended: it is for readers of a running job who continue
	// behind the last index that they saw.
	Unbroken bool

	results bool // with their sealed results
}

// Result is an item that ended, with its result still sealed.
type Result struct {
	penstock.Item
	Sealed Sealed
	group  groupPlace // if the item has no row
}

// Ended returns the items of a page, without their results.
func (r Reader) Ended(ctx context.Context, tx sqldb.Reader, q EndedQuery) ([]penstock.Item, error) {
	page, _, err := q.next(ctx, tx)
	items := make([]penstock.Item, len(page))
	for i, p := range page {
		items[i] = p.Item
	}
	return items, err
}

// What a page of results holds at most, beside its limit.
const (
	pageRows  = 256       // rows: the size of their results is known once they are read
	pageBytes = 512 << 10 // sealed results
	blobBytes = 64 << 10  // the assumed size of a result in a blob
)

// Results returns the items of a page with their sealed results, and whether items may follow the page. It calls found
// for every item as soon as its result is there. It moves an unbroken page behind the last item that it looked at.
func (r Reader) Results(ctx context.Context, tx sqldb.Reader, q *EndedQuery, found func(*Result)) (page []*Result, more bool, err error) {
	q.results = true
	if q.Unbroken {
		page, more, err = q.nextUnbroken(ctx, tx)
	} else {
		page, more, err = q.next(ctx, tx)
	}
	if err != nil {
		return nil, false, err
	}
	size := int64(0)
	for i, p := range page {
		if size += p.size(); size > pageBytes && i > 0 {
			page, more = page[:i], true
			break
		}
	}
	return page, more, readResults(ctx, tx, page, found)
}

// Result returns one item of a job with its sealed result, if it has one. There is none for a line that the job does not
// have as an item yet.
func (r Reader) Result(ctx context.Context, tx sqldb.Reader, j *penstock.Job, n int) (*Result, error) {
	rows, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+rowColumns+`, result, result_blob FROM items WHERE id = $1`, penstock.ItemID(j.ID, n)),
		func(row sqldb.Row) (r Row, err error) { return r, r.scan(row, &r.Sealed.Inline, &r.Sealed.Blob) })
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		return &Result{Item: rows[0].Item, Sealed: rows[0].Sealed}, nil
	}
	f := finder{tx: tx, job: j, found: make(map[int]*Row, 1)}
	if err := f.rowless(ctx, r, []int{n}); err != nil || f.found[n] == nil {
		return nil, err
	}
	result := &Result{Item: f.found[n].Item, group: f.found[n].group}
	return result, readResults(ctx, tx, []*Result{result}, func(*Result) {})
}

// next are the items of the page. Results in result groups are not read yet.
func (q *EndedQuery) next(ctx context.Context, tx sqldb.Reader) (page []*Result, more bool, err error) {
	limit := q.Page.Limit
	rows := *q
	if q.results {
		rows.Page.Limit = min(limit, pageRows)
	}
	if page, err = rows.rows(ctx, tx); err != nil {
		return nil, false, err
	}
	rowsFull := len(page) >= rows.Page.Limit
	if q.Page.Status == "" || q.Page.Status == penstock.StatusSucceeded {
		grouped, err := q.grouped(ctx, tx)
		if err != nil {
			return nil, false, err
		}
		for i := range grouped {
			page = append(page, &Result{Item: grouped[i].Item, group: grouped[i].group})
		}
	}
	slices.SortFunc(page, func(a, b *Result) int { return cmp.Compare(q.place(a), q.place(b)) })
	if rowsFull {
		// There may be a row behind the last one that comes before items in result groups.
		last := len(page) - 1
		for page[last].group.last != 0 {
			last--
		}
		page = page[:last+1]
	}
	more = rowsFull || len(page) >= limit
	return page[:min(len(page), limit)], more, nil
}

// nextUnbroken are the items of the page up to the first index that is missing, which has not ended. It moves the page
// behind the last item that it looked at, because the status may leave none of them.
func (q *EndedQuery) nextUnbroken(ctx context.Context, tx sqldb.Reader) (page []*Result, more bool, err error) {
	all := *q
	all.Page.Status = ""
	if page, more, err = all.next(ctx, tx); err != nil {
		return nil, false, err
	}
	q.Page.After = max(q.Page.After, -1)
	for i, r := range page {
		if int64(r.Index) != q.Page.After+1 {
			page, more = page[:i], false
			break
		}
		q.Page.After++
	}
	if q.Page.Status != "" {
		page = slices.DeleteFunc(page, func(r *Result) bool { return r.Status != q.Page.Status })
	}
	return page, more, nil
}

// size is about how many bytes the sealed result has.
func (r *Result) size() int64 {
	switch {
	case r.group.last != 0:
		return r.group.result.len()
	case r.Sealed.Blob != "":
		return blobBytes
	default:
		return int64(len(r.Sealed.Inline))
	}
}

// place is the position of an item in the order.
func (q *EndedQuery) place(r *Result) int64 {
	if q.Page.Order == store.OrderInput {
		return int64(r.Index)
	}
	return r.Seq
}

// endedColumns are what readers of results need. Most of a row is of no interest to a reader of a million results, and
// what all items of a job share comes from the job.
const endedColumns = `n, custom_id, status, seq, attempts, fence, target, status_code, error_code, error_message,
	cost_nano_usd, ` + usagerow.Names + `, finished_at`

func (q *EndedQuery) columns() string {
	if q.results {
		return endedColumns + `, result, result_blob`
	}
	return endedColumns + `, NULL, ''`
}

// rows are the next items that have rows.
func (q *EndedQuery) rows(ctx context.Context, tx sqldb.Reader) ([]*Result, error) {
	scan := newResultScan(&q.Job).row
	p, total := q.Page, q.Job.Counts.Total
	first, last := penstock.ItemID(q.Job.ID, 0), penstock.ItemID(q.Job.ID, total-1)
	switch {
	case p.Order == store.OrderInput:
		next := min(max(p.After, -1), int64(total)-1) + 1 // at most the index behind the last item
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+q.columns()+` FROM items
			WHERE id >= $1 AND id <= $2 AND seq > 0 AND ($3 = '' OR status = $3) ORDER BY id LIMIT $4`,
			penstock.ItemID(q.Job.ID, int(next)), last, p.Status, p.Limit), scan)
	case total >= LargeJob:
		return q.rowsOfLarge(ctx, tx)
	default:
		// The inner query sorts without the results, so that only the results of this page are read.
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+q.columns()+` FROM items WHERE id IN (SELECT id FROM items
				WHERE id >= $1 AND id <= $2 AND seq > 0 AND seq > $3 AND ($4 = '' OR status = $4) ORDER BY seq LIMIT $5)`,
			first, last, p.After, p.Status, p.Limit), scan)
	}
}

// maxGroups bounds how many groups of items that ended together are read at once.
const maxGroups = 64

// endings are items with rows that ended in one transaction, none of them with a number above last.
type endings struct {
	last int64
	ns   []int
}

func scanEndings(row sqldb.Row) (e endings, err error) {
	var ns []byte
	if err := row.Scan(&e.last, &ns); err != nil {
		return e, err
	}
	return e, json.Unmarshal(ns, &e.ns)
}

// rowsOfLarge are the next rows of a large job in the order in which they ended. How many ended together is not known
// beforehand: a few groups may fill the page, or many.
func (q *EndedQuery) rowsOfLarge(ctx context.Context, tx sqldb.Reader) (page []*Result, err error) {
	p, scan := q.Page, newResultScan(&q.Job)
	after := p.After
	for groups := 2; len(page) < p.Limit; groups = min(2*groups, maxGroups) {
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT last_seq, items FROM endings WHERE job_id = $1 AND last_seq > $2
			ORDER BY last_seq LIMIT $3`, q.Job.ID, after, groups), scanEndings)
		if err != nil || len(found) == 0 {
			return page, err
		}
		var ids []string
		for _, e := range found {
			if len(ids) >= p.Limit {
				break
			}
			for _, n := range e.ns {
				ids = append(ids, string(penstock.ItemID(q.Job.ID, n)))
			}
			after = e.last
		}
		err = tx.QueryIn(ctx, sqldb.IDQuery{
			SQL: `SELECT ` + q.columns() + ` FROM items WHERE id = /*pg ANY */($1) AND seq > $2 AND ($3 = '' OR status = $3)`,
			IDs: ids, Args: []any{p.After, p.Status},
		}, func(row sqldb.Row) error {
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

// resultScan reads rows of endedColumns and a result. It scans into plain types, which are assigned directly; named
// types and smaller integers go through reflection and text.
type resultScan struct {
	job                                                 *penstock.Job
	n, seq, attempts, fence, statusCode, cost, finished int64
	customID, status, target, code, message             string
	usage                                               penstock.Usage
	sealed                                              Sealed
	dest                                                []any
}

func newResultScan(j *penstock.Job) *resultScan {
	r := &resultScan{job: j}
	r.dest = append(usagerow.Dest(&r.usage, &r.n, &r.customID, &r.status, &r.seq, &r.attempts, &r.fence, &r.target, &r.statusCode, &r.code, &r.message,
		&r.cost), &r.finished, &r.sealed.Inline, &r.sealed.Blob)
	return r
}

func (r *resultScan) row(from sqldb.Row) (*Result, error) {
	if err := from.Scan(r.dest...); err != nil {
		return nil, fmt.Errorf("scanning a result: %w", err)
	}
	result := &Result{Sealed: r.sealed, Item: penstock.Item{
		ID: penstock.ItemID(r.job.ID, int(r.n)), Job: r.job.ID, Tenant: r.job.Tenant, Index: int(r.n), CustomID: r.customID,
		Status: penstock.Status(r.status), Seq: r.seq, Attempts: int(r.attempts), Fence: r.fence,
		Target: r.target, StatusCode: int(r.statusCode), Usage: r.usage, Cost: penstock.NanoUSD(r.cost), FinishedAt: sqldb.FromMicros(r.finished),
	}}
	if r.code != "" {
		result.Error = &penstock.ItemError{Code: penstock.Code(r.code), Message: r.message}
	}
	return result, nil
}

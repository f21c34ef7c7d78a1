package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

const itemColumnsWithResult = itemColumns + `, result, result_blob`

// Item implements store.Jobs.
func (s *Store) Item(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Item, error) {
	var row itemRow
	err := s.read(ctx, func(tx Tx) error {
		found, ok, err := queryOne(ctx, tx, sqlf(`SELECT `+itemColumnsWithResult+` FROM items
			WHERE id = $1 AND tenant_id = $2 AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = items.job_id)`, id, tenant), scanItemWithResult)
		if err == nil && !ok {
			found, err = findUntouched(ctx, tx, tenant, id)
		}
		row = found
		return err
	})
	if err != nil {
		return penstock.Item{}, err
	}
	found := resultRow{row.Item, row.result}
	err = s.openResult(ctx, &found)
	return found.Item, err
}

// findUntouched returns an item that has no row of its own. The job that it is of is the one before it.
func findUntouched(ctx context.Context, tx Tx, tenant penstock.TenantID, id penstock.ID) (itemRow, error) {
	job, ok, err := queryOne(ctx, tx, sqlf(`SELECT `+lockedColumns+` FROM jobs WHERE id < $1 ORDER BY id DESC LIMIT 1`, id), scanJob)
	if err != nil {
		return itemRow{}, err
	}
	n, has := job.IndexOf(id)
	if !ok || !has || job.Tenant != tenant {
		return itemRow{}, notFound(penstock.ViewItem, id)
	}
	rows, err := bundledRows(ctx, tx, &job, []int{n})
	if err == nil && len(rows) == 0 {
		err = notFound(penstock.ViewItem, id)
	}
	if err != nil {
		return itemRow{}, err
	}
	return *rows[0], nil
}

// Results implements store.Jobs.
func (s *Store) Results(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p store.ResultPage) (items []penstock.Item, err error) {
	var rows []*resultRow
	opening := opening{open: func(r *resultRow) error { return s.openResult(ctx, r) }}
	err = s.read(ctx, func(tx Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		scan := newResultScan(j, opening.add)
		if p.Order == store.OrderCompletion && j.Counts.Total >= largeJob {
			rows, err = endedPage(ctx, tx, scan, p)
			return err
		}
		rows, err = queryAll(ctx, tx, resultsQuery(j, p), scan.row)
		return err
	})
	if err = errors.Join(err, opening.wait()); err != nil {
		return nil, err
	}
	return mapped(rows, func(r *resultRow) penstock.Item { return r.Item }), nil
}

// opening opens results on other processors while more rows are read.
type opening struct {
	open  func(*resultRow) error
	group errgroup.Group
	next  []*resultRow
}

// openTogether is how many are worth a goroutine.
const openTogether = 32

func (o *opening) add(r *resultRow) {
	if o.next = append(o.next, r); len(o.next) == openTogether {
		o.start()
	}
}

func (o *opening) start() {
	part := o.next
	o.next = nil
	o.group.Go(func() error {
		for _, r := range part {
			if err := o.open(r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *opening) wait() error {
	o.start()
	return o.group.Wait()
}

func resultsQuery(j penstock.Job, p store.ResultPage) query {
	if p.Order == store.OrderInput {
		// One behind the last item is as far as anyone can be.
		next := min(max(p.After, -1), int64(j.Counts.Total)-1) + 1
		first, last := penstock.ItemID(j.ID, int(next)), penstock.ItemID(j.ID, j.Counts.Total-1)
		return sqlf(`SELECT `+resultColumns+` FROM items
			WHERE id >= $1 AND id <= $2 AND seq > 0 AND ($3 = '' OR status = $3) ORDER BY id LIMIT $4`,
			first, last, p.Status, p.Limit)
	}
	// The items are sorted by themselves first, so that only the results of this page are read.
	first, last := penstock.ItemID(j.ID, 0), penstock.ItemID(j.ID, j.Counts.Total-1)
	return sqlf(`SELECT `+resultColumns+` FROM items WHERE id IN (SELECT id FROM items
			WHERE id >= $1 AND id <= $2 AND seq > 0 AND seq > $3 AND ($4 = '' OR status = $4) ORDER BY seq LIMIT $5)
		ORDER BY seq`,
		first, last, p.After, p.Status, p.Limit)
}

// openResult opens the result of a row.
func (s *Store) openResult(ctx context.Context, row *resultRow) (err error) {
	row.Result, err = s.open(ctx, owner(row.Tenant, row.ID, partResult), row.result)
	return hide(err)
}

// resultRow is an item that ended, with its result still sealed.
type resultRow struct {
	penstock.Item
	result placed
}

// resultColumns are what readers of results want to know. Most of a row is of no interest to somebody who reads a
// million of them, and what all items of a job share is taken from the job.
const resultColumns = `n, custom_id, status, seq, attempts, fence, target, status_code, error_code, error_message,
	cost_nano_usd, ` + usageNames + `, finished_at, result, result_blob`

// resultScan reads rows of resultColumns. It reads into plain types, which are assigned as they are; named ones and
// smaller integers go through reflection and text.
type resultScan struct {
	job                                                 *penstock.Job
	found                                               func(*resultRow) // is told about each
	n, seq, attempts, fence, statusCode, cost, finished int64
	customID, status, target, code, message             string
	usage                                               penstock.Usage
	result                                              placed
	dest                                                []any
}

func newResultScan(j penstock.Job, found func(*resultRow)) *resultScan {
	r := &resultScan{job: &j, found: found}
	r.dest = append(intoUsage(&r.usage, &r.n, &r.customID, &r.status, &r.seq, &r.attempts, &r.fence, &r.target, &r.statusCode, &r.code, &r.message,
		&r.cost), &r.finished, &r.result.inline, &r.result.blob)
	return r
}

func (r *resultScan) row(from Row) (*resultRow, error) {
	if err := from.Scan(r.dest...); err != nil {
		return nil, fmt.Errorf("scanning a result: %w", err)
	}
	row := &resultRow{result: r.result, Item: penstock.Item{
		ID: penstock.ItemID(r.job.ID, int(r.n)), Job: r.job.ID, Tenant: r.job.Tenant, Index: int(r.n), CustomID: r.customID,
		Status: penstock.Status(r.status), Seq: r.seq, Attempts: int(r.attempts), Fence: r.fence,
		Target: r.target, StatusCode: int(r.statusCode), Usage: r.usage, Cost: penstock.NanoUSD(r.cost), FinishedAt: fromMicros(r.finished),
	}}
	if r.code != "" {
		row.Error = &penstock.ItemError{Code: penstock.Code(r.code), Message: r.message}
	}
	r.found(row)
	return row, nil
}

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
	var found resultRow
	err := s.read(ctx, func(tx Tx) error {
		row, ok, err := queryOne(ctx, tx, sqlf(`SELECT `+itemColumnsWithResult+` FROM items
			WHERE id = $1 AND tenant_id = $2 AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = items.job_id)`, id, tenant), scanItemWithResult)
		if err == nil && !ok {
			row, err = findRowless(ctx, tx, tenant, id)
		}
		if err != nil {
			return err
		}
		found = resultRow{row.Item, row.result, row.lies}
		return readResults(ctx, tx, []*resultRow{&found}, func(*resultRow) {})
	})
	if err != nil {
		return penstock.Item{}, err
	}
	err = s.openResult(ctx, &found)
	return found.Item, err
}

// findRowless returns an item that has no row of its own.
func findRowless(ctx context.Context, tx Tx, tenant penstock.TenantID, id penstock.ID) (itemRow, error) {
	job, n, err := jobOfItem(ctx, tx, tenant, id)
	if err != nil {
		return itemRow{}, err
	}
	rows, err := rowless(ctx, tx, &job, []int{n})
	if err == nil && len(rows) == 0 {
		err = notFound(penstock.ViewItem, id)
	}
	if err != nil {
		return itemRow{}, err
	}
	return *rows[0], nil
}

// jobOfItem is the job of an item and its index there. The job is the one before it.
func jobOfItem(ctx context.Context, tx Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Job, int, error) {
	job, ok, err := queryOne(ctx, tx, sqlf(`SELECT `+lockedColumns+` FROM jobs WHERE id < $1 ORDER BY id DESC LIMIT 1`, id), scanJob)
	if err != nil {
		return job, 0, err
	}
	n, has := job.IndexOf(id)
	if !ok || !has || job.Tenant != tenant {
		return job, 0, notFound(penstock.ViewItem, id)
	}
	return job, n, nil
}

// Results implements store.Jobs. Of a job that has not ended a page in input order may have nothing of the wanted
// status though there are finished items behind it: then the next one is read, in a transaction of its own.
func (s *Store) Results(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p store.ResultPage) (items []penstock.Item, more bool, err error) {
	for more = true; more && len(items) == 0; {
		if items, more, err = s.resultPage(ctx, tenant, job, &p); err != nil {
			return nil, false, err
		}
	}
	return items, more, nil
}

// resultPage reads one page, and moves p behind what was looked at.
func (s *Store) resultPage(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p *store.ResultPage) (items []penstock.Item, more bool, err error) {
	var rows []*resultRow
	opening := opening{open: func(r *resultRow) error { return s.openResult(ctx, r) }}
	err = s.read(ctx, func(tx Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		q := endedQuery{job: j, page: *p, results: true}
		q.unbroken = p.Order == store.OrderInput && !j.Status().Terminal()
		rows, more, err = q.read(ctx, tx, opening.add)
		p.After = q.page.After
		return err
	})
	if err = errors.Join(err, opening.wait()); err != nil {
		return nil, false, err
	}
	return mapped(rows, func(r *resultRow) penstock.Item { return r.Item }), more, nil
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

// openResult opens the result of a row.
func (s *Store) openResult(ctx context.Context, row *resultRow) (err error) {
	row.Result, err = s.open(ctx, owner(row.Tenant, row.ID, partResult), row.result)
	return hide(err)
}

// resultRow is an item that ended, with its result still sealed.
type resultRow struct {
	penstock.Item
	result placed
	lies   inResultGroup // where it is, if it has no row
}

// resultColumns are what readers of results want to know. Most of a row is of no interest to somebody who reads a
// million of them, and what all items of a job share is taken from the job.
const (
	resultColumns = endedColumns + `, result, result_blob`
	endedColumns  = `n, custom_id, status, seq, attempts, fence, target, status_code, error_code, error_message,
	cost_nano_usd, ` + usageNames + `, finished_at`
)

// resultScan reads rows of resultColumns. It reads into plain types, which are assigned as they are; named ones and
// smaller integers go through reflection and text.
type resultScan struct {
	job                                                 *penstock.Job
	n, seq, attempts, fence, statusCode, cost, finished int64
	customID, status, target, code, message             string
	usage                                               penstock.Usage
	result                                              placed
	dest                                                []any
}

func newResultScan(j *penstock.Job) *resultScan {
	r := &resultScan{job: j}
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
	return row, nil
}

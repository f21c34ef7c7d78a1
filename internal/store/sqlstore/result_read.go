package sqlstore

import (
	"context"

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
	return s.withResult(ctx, row)
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
func (s *Store) Results(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p store.ResultPage) ([]penstock.Item, error) {
	var rows []itemRow
	err := s.read(ctx, func(tx Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		if p.Order == store.OrderCompletion && j.Counts.Total >= largeJob {
			rows, err = endedPage(ctx, tx, j, p)
			return err
		}
		rows, err = queryAll(ctx, tx, resultsQuery(j, p), scanItemWithResult)
		return err
	})
	if err != nil {
		return nil, err
	}
	items := make([]penstock.Item, len(rows))
	for i, row := range rows {
		if items[i], err = s.withResult(ctx, row); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func resultsQuery(j penstock.Job, p store.ResultPage) query {
	if p.Order == store.OrderInput {
		// One behind the last item is as far as anyone can be.
		next := min(max(p.After, -1), int64(j.Counts.Total)-1) + 1
		first, last := penstock.ItemID(j.ID, int(next)), penstock.ItemID(j.ID, j.Counts.Total-1)
		return sqlf(`SELECT `+itemColumnsWithResult+` FROM items
			WHERE id >= $1 AND id <= $2 AND seq > 0 AND ($3 = '' OR status = $3) ORDER BY id LIMIT $4`,
			first, last, p.Status, p.Limit)
	}
	// The items are sorted by themselves first, so that only the results of this page are read.
	first, last := penstock.ItemID(j.ID, 0), penstock.ItemID(j.ID, j.Counts.Total-1)
	return sqlf(`SELECT `+itemColumnsWithResult+` FROM items WHERE id IN (SELECT id FROM items
			WHERE id >= $1 AND id <= $2 AND seq > 0 AND seq > $3 AND ($4 = '' OR status = $4) ORDER BY seq LIMIT $5)
		ORDER BY seq`,
		first, last, p.After, p.Status, p.Limit)
}

func (s *Store) withResult(ctx context.Context, row itemRow) (penstock.Item, error) {
	result, err := s.open(ctx, owner(row.Tenant, row.ID, partResult), row.result)
	row.Result = result
	return row.Item, hide(err)
}

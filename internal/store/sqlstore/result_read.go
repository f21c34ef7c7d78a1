package sqlstore

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// Item implements store.Jobs.
func (s *Store) Item(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Item, error) {
	var found *itemstore.Result
	err := s.read(ctx, func(tx sqldb.Tx) error {
		job, n, err := jobOfItem(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		found, err = itemReader.Result(ctx, tx, &job, n)
		if err == nil && found == nil {
			err = notFound(penstock.ViewItem, id) // a line that its job does not have as an item yet
		}
		if err == nil {
			found.Files, err = findAttached(ctx, tx, tenant, id)
		}
		if err == nil {
			found.Truncated, err = findTruncation(ctx, tx, tenant, id)
		}
		if err == nil {
			found.Prompt, err = findItemPrompt(ctx, tx, &job, id)
		}
		return err
	})
	if err != nil {
		return penstock.Item{}, err
	}
	err = s.openResult(ctx, found)
	return found.Item, err
}

// jobOfItem returns the job of an item and the index of the item. The id of the job is the greatest below the item's.
// Codes: not_found.
func jobOfItem(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Job, int, error) {
	job, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+lockedColumns+` FROM jobs WHERE id < $1 ORDER BY id DESC LIMIT 1`, id), scanJob)
	if err != nil {
		return job, 0, err
	}
	n, has := job.IndexOf(id)
	if !ok || !has || job.Tenant != tenant {
		return job, 0, notFound(penstock.ViewItem, id)
	}
	return job, n, nil
}

// Results implements store.Jobs. A page of a running job in input order may have no item of the wanted status though
// later pages have some. Then the next page is read, in a transaction of its own.
func (s *Store) Results(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p store.ResultPage) (items []penstock.Item, more bool, err error) {
	for more = true; more && len(items) == 0; {
		if items, more, err = s.resultPage(ctx, tenant, job, &p); err != nil {
			return nil, false, err
		}
	}
	return items, more, nil
}

// resultPage reads one page and moves p behind it.
func (s *Store) resultPage(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p *store.ResultPage) (items []penstock.Item, more bool, err error) {
	var rows []*itemstore.Result
	opening := opening{open: func(r *itemstore.Result) error { return s.openResult(ctx, r) }}
	err = s.read(ctx, func(tx sqldb.Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		q := itemstore.EndedQuery{Job: j, Page: *p, Unbroken: p.Order == store.OrderInput && !j.Status().Terminal()}
		rows, more, err = itemReader.Results(ctx, tx, &q, opening.add)
		p.After = q.Page.After
		return err
	})
	if err = errors.Join(err, opening.wait()); err != nil {
		return nil, false, err
	}
	return mapped(rows, func(r *itemstore.Result) penstock.Item { return r.Item }), more, nil
}

// opening decrypts results on other processors while more of them are read.
type opening struct {
	open  func(*itemstore.Result) error
	group errgroup.Group
	next  []*itemstore.Result
}

// openTogether is how many results one goroutine opens: fewer are not worth a goroutine.
const openTogether = 32

func (o *opening) add(r *itemstore.Result) {
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

// openResult decrypts the result of an item.
func (s *Store) openResult(ctx context.Context, r *itemstore.Result) (err error) {
	r.Result, err = s.open(ctx, owner(r.Tenant, r.ID, partResult), r.Sealed)
	return sqldb.PublicError(err)
}

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

// Job implements store.Jobs.
func (s *Store) Job(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (j penstock.Job, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		j, err = findJob(ctx, tx, tenant, id)
		return err
	})
	return j, err
}

// findJob returns a tenant's job, or not_found.
func findJob(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Job, error) {
	j, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+jobColumns+` FROM jobs WHERE id = $1 AND tenant_id = $2`, id, tenant), scanJob)
	if err == nil && !ok {
		err = notFound(penstock.ViewJob, id)
	}
	return j, err
}

func notFound(view penstock.View, id penstock.ID) error {
	return penstock.Errorf(penstock.CodeNotFound, "There is no %s.", view.Format(id))
}

// Events implements store.Jobs. A terminal item is its own event, so the log is the events of the job's row
// and the finished items, merged by number.
func (s *Store) Events(ctx context.Context, tenant penstock.TenantID, p store.EventPage) (events []penstock.Event, err error) {
	var job penstock.Job
	var items []penstock.Item
	var rows []eventRow
	err = s.read(ctx, func(tx sqldb.Tx) error {
		job, err = findJob(ctx, tx, tenant, p.Job)
		if err == nil {
			err = gone(job, p, tx.Now())
		}
		if err != nil {
			return err
		}
		if items, err = endedItems(ctx, tx, job, p); err != nil {
			return err
		}
		rows, err = eventRows(ctx, tx, job, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	said, err := s.openDeltas(tenant, rows)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(job.Events(), func(e penstock.Event) bool { return e.Seq <= p.After })
	return mergeEvents(p.Limit, own, endEvents(items), said), nil
}

// endedItems are the next items of a job's log.
func endedItems(ctx context.Context, tx sqldb.Tx, job penstock.Job, p store.EventPage) ([]penstock.Item, error) {
	if job.Counts.Total > penstock.MaxItemEvents {
		return nil, nil
	}
	return itemReader.Ended(ctx, tx, itemstore.EndedQuery{Job: job, Page: store.ResultPage{Order: store.OrderCompletion, After: p.After, Limit: p.Limit}})
}

// mapped is what one function makes of each.
func mapped[A, B any](all []A, of func(A) B) []B {
	made := make([]B, len(all))
	for i, a := range all {
		made[i] = of(a)
	}
	return made
}

// endEvents are the events by which items ended.
func endEvents(items []penstock.Item) []penstock.Event {
	return mapped(items, func(item penstock.Item) penstock.Event {
		return penstock.Event{Job: item.Job, Seq: item.Seq, Type: penstock.ItemEvent(item.Status), Item: &item, CreatedAt: item.FinishedAt}
	})
}

// mergeEvents is the first events of several parts of a log, each of which is in order and begins at the same place.
func mergeEvents(limit int, parts ...[]penstock.Event) []penstock.Event {
	merged := slices.Concat(parts...)
	slices.SortFunc(merged, func(a, b penstock.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return merged[:min(limit, len(merged))]
}

package sqlstore

import (
	"context"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store/sqldb"
)

// wakeStep bounds how many items are woken at a time.
const wakeStep = 256

// wakeItems makes items ready whose wait is over. It is a transaction of its own, since it moves the
// backlog before a claim locks anything.
func (s *Store) wakeItems(ctx context.Context) error {
	return s.write(ctx, "wake", func(tx sqldb.Tx) error {
		items, err := overdue(ctx, tx)
		if err != nil {
			return err
		}
		moved := backlog{}
		for _, w := range items {
			moved.add(w.backlogKey, stock{ready: 1, parked: -1})
		}
		for _, key := range slices.SortedFunc(maps.Keys(moved), compareKeys) {
			if err := activate(ctx, tx, key.tenant, key.lane); err != nil {
				return err
			}
		}
		for _, w := range items {
			if err := tx.Put(ctx, leaveParked, w.notBefore, w.item); err != nil {
				return err
			}
			if err := w.admit(ctx, tx); err != nil {
				return err
			}
			if err := tx.Put(ctx, wakeItem, w.item, int64(0)); err != nil {
				return err
			}
		}
		return moved.save(ctx, tx)
	})
}

var wakeItem = sqldb.Update("items", "id text", "parked bigint", "")

// dueItem is a parked item whose wait is over.
type dueItem struct {
	readyRange
	notBefore int64
}

// overdue locks parked items that are due. It skips items that another transaction is ending.
func overdue(ctx context.Context, tx sqldb.Tx) ([]dueItem, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT j.lane, j.tenant_id, j.model, i.job_id, i.n, i.n, i.n, i.id, j.deadline, i.estimate_tokens, i.input_bytes, p.not_before
		FROM parked p JOIN items i ON i.id = p.item_id JOIN jobs j ON j.id = i.job_id
		WHERE p.not_before <= $1 AND i.status = $2 AND i.parked = 1
		ORDER BY p.not_before, p.item_id LIMIT $3 /*pg FOR UPDATE OF i SKIP LOCKED */`, sqldb.Micros(tx.Now()), penstock.StatusQueued, wakeStep),
		func(row sqldb.Row) (w dueItem, err error) {
			return w, row.Scan(append(append([]any{&w.lane, &w.tenant, &w.model}, w.dest()...), &w.notBefore)...)
		})
}

package sqlstore

import (
	"context"
	"maps"
	"slices"
)

// wakeStep bounds how many items are woken at a time.
const wakeStep = 256

// wakeItems makes items ready whose wait is over. It is a transaction of its own, since it moves the
// backlog before a claim locks anything; nearly always there is nothing to write.
func (s *Store) wakeItems(ctx context.Context) error {
	var due bool
	err := s.read(ctx, func(tx Tx) (err error) {
		_, due, err = queryOne(ctx, tx, sqlf(`SELECT 1 FROM items WHERE status = 'queued' AND parked = 1 AND not_before <= $1 LIMIT 1`,
			micros(tx.Now())), scanInt)
		return err
	})
	if err != nil || !due {
		return err
	}
	return s.write(ctx, "wake", func(tx Tx) error {
		woken, err := queryAll(ctx, tx, sqlf(`UPDATE items SET parked = 0 WHERE id IN (SELECT id FROM items
				WHERE status = 'queued' AND parked = 1 AND not_before <= $1 ORDER BY not_before, id LIMIT $2 /*pg FOR UPDATE SKIP LOCKED */)
			RETURNING lane, tenant_id, model`, micros(tx.Now()), wakeStep),
			func(row Row) (k backlogKey, err error) { return k, row.Scan(&k.lane, &k.tenant, &k.model) })
		if err != nil {
			return err
		}
		moved := backlog{}
		for _, key := range woken {
			moved.add(key, stock{ready: 1, parked: -1})
		}
		for _, key := range slices.SortedFunc(maps.Keys(moved), compareKeys) {
			if err := activate(ctx, tx, key.tenant, key.lane); err != nil {
				return err
			}
		}
		return moved.save(ctx, tx)
	})
}

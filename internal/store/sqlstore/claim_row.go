package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// A claim is kept as one row with the ids of its items, not as an index over items: it says what a
// process holds, for as long as any of it runs.

// insertClaim notes what a lease took in one go.
func insertClaim(ctx context.Context, tx Tx, l store.Lease, c heldClaim) error {
	ids, err := json.Marshal(c.items)
	if err != nil {
		return fmt.Errorf("encoding a claim: %w", err)
	}
	return tx.Do(ctx, `INSERT INTO claims (id, process_id, epoch, open, items) VALUES ($1, $2, $3, $4, $5)`,
		c.id, l.Process, l.Epoch, len(c.items), string(ids))
}

// releaseClaims notes that items do not run any more. Claims are gone through in one order by everybody.
func releaseClaims(ctx context.Context, tx Tx, released map[penstock.ID]int64) error {
	ids := slices.Sorted(maps.Keys(released))
	for _, id := range ids {
		if err := tx.Do(ctx, `UPDATE claims SET open = open - $2 WHERE id = $1`, id, released[id]); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.Do(ctx, `DELETE FROM claims WHERE open <= 0 AND id >= $1 AND id <= $2`, ids[0], ids[len(ids)-1])
}

// heldClaim is a claim and the items that it was made of.
type heldClaim struct {
	id    penstock.ID
	items []penstock.ID
}

func scanClaim(row Row) (c heldClaim, err error) {
	var ids []byte
	if err := row.Scan(&c.id, &ids); err != nil {
		return c, err
	}
	return c, json.Unmarshal(ids, &c.items)
}

// itemsOf are the items of claims that still run under them.
func itemsOf(ctx context.Context, tx Tx, claims []heldClaim) ([]*itemRow, error) {
	var ids []penstock.ID
	byItem := make(map[penstock.ID][]penstock.ID)
	for _, c := range claims {
		ids = append(ids, c.items...)
		for _, item := range c.items {
			byItem[item] = append(byItem[item], c.id)
		}
	}
	rows, err := heldItems(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	running := make([]*itemRow, 0, len(rows))
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if r := rows[id]; r.Status == penstock.StatusRunning && slices.Contains(byItem[id], r.claim) {
			running = append(running, r)
		}
	}
	return running, nil
}

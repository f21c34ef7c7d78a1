package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// backlogKey names what is queued for one model by one tenant in one lane.
type backlogKey struct {
	lane   penstock.Lane
	tenant penstock.TenantID
	model  string
}

func compareKeys(x, y backlogKey) int {
	return cmp.Or(cmp.Compare(x.lane, y.lane), cmp.Compare(x.tenant, y.tenant), cmp.Compare(x.model, y.model))
}

// stock is how much is queued and was drained, or by how much that changes.
type stock struct {
	ready, parked, tokens, bytes int64
	drainedItems, drainedTokens  int64
}

// backlog collects the changes of a transaction to the queued amounts. Every transaction writes it last and in the
// same order, so that no two transactions wait for each other.
type backlog map[backlogKey]stock

func (b backlog) add(key backlogKey, by stock) { b[key] = b[key].plus(by) }

func (s stock) plus(by stock) stock {
	return stock{
		s.ready + by.ready, s.parked + by.parked, s.tokens + by.tokens, s.bytes + by.bytes,
		s.drainedItems + by.drainedItems, s.drainedTokens + by.drainedTokens,
	}
}

// claimedStock is the change by a queued item that was given to a worker.
func claimedStock(p *pick) stock {
	by := stock{ready: -1, tokens: -p.estimate, bytes: -p.bytes, drainedItems: 1, drainedTokens: p.estimate}
	if p.from.suspect {
		by.ready, by.parked = 0, -1
	}
	return by
}

// takeBack notes that a claimed item will be queued again: nothing was drained with it after all.
func (b backlog) takeBack(key backlogKey, r *itemstore.Row) {
	b.add(key, stock{drainedItems: -1, drainedTokens: -r.Estimate})
}

// move notes that an item joins the queue, with sign 1, or leaves it, with sign -1.
func (b backlog) move(key backlogKey, r *itemstore.Row, sign int64) {
	by := stock{ready: sign, tokens: sign * r.Estimate, bytes: sign * r.InputBytes}
	if r.Parked {
		by.ready, by.parked = 0, sign
	}
	b.add(key, by)
}

const moveBacklog = `INSERT INTO backlogs (lane, tenant_id, model, ready, parked, tokens, bytes, drained_items, drained_tokens)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
	ON CONFLICT (lane, tenant_id, model) DO UPDATE SET ready = backlogs.ready + excluded.ready,
		parked = backlogs.parked + excluded.parked, tokens = backlogs.tokens + excluded.tokens, bytes = backlogs.bytes + excluded.bytes,
		drained_items = backlogs.drained_items + excluded.drained_items, drained_tokens = backlogs.drained_tokens + excluded.drained_tokens`

// save writes the changes. Tenants that have nothing ready any more are idle from then on.
func (b backlog) save(ctx context.Context, tx sqldb.Tx) error {
	var idle []backlogKey // lanes and tenants that may have nothing ready any more
	for _, key := range slices.SortedFunc(maps.Keys(b), compareKeys) {
		by := b[key]
		if by == (stock{}) {
			continue
		}
		err := tx.Do(ctx, moveBacklog, key.lane, key.tenant, key.model,
			by.ready, by.parked, by.tokens, by.bytes, by.drainedItems, by.drainedTokens)
		if err != nil {
			return err
		}
		if of := (backlogKey{lane: key.lane, tenant: key.tenant}); by.ready < 0 && !slices.Contains(idle, of) {
			idle = append(idle, of)
		}
	}
	return deactivate(ctx, tx, idle)
}

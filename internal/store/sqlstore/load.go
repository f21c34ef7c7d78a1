package sqlstore

import (
	"context"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// Backlogs implements store.Load. The head of a queue is one look into the line of ready items; what
// runs is told by the claims.
func (s *Store) Backlogs(ctx context.Context) (backlogs []store.Backlog, err error) {
	err = s.read(ctx, func(tx Tx) error {
		backlogs, err = queryAll(ctx, tx, sqlf(`SELECT b.lane, b.tenant_id, b.model, b.ready, b.parked, b.tokens, b.bytes,
				b.drained_items, b.drained_tokens, CASE WHEN b.ready = 0 THEN 0 ELSE
				COALESCE((SELECT COALESCE(i.not_before, j.created_at) FROM ready r JOIN jobs j ON j.id = r.job_id
					LEFT JOIN items i ON i.id = r.item_id WHERE r.lane = b.lane
					AND r.tenant_id = b.tenant_id AND r.model = b.model ORDER BY r.deadline, r.job_id, r.last_n LIMIT 1), 0) END
			FROM backlogs b ORDER BY b.ready + b.parked DESC, b.lane, b.tenant_id, b.model LIMIT $1`, store.MaxBacklogs), scanBacklog(tx))
		if err != nil {
			return err
		}
		return addRunning(ctx, tx, backlogs)
	})
	return backlogs, err
}

func scanBacklog(tx Tx) func(Row) (store.Backlog, error) {
	return func(row Row) (store.Backlog, error) {
		var b store.Backlog
		var due int64
		err := row.Scan(&b.Lane, &b.Tenant, &b.Model, &b.Ready, &b.Parked, &b.Tokens, &b.Bytes, &b.DrainedItems, &b.DrainedTokens, &due)
		if err != nil {
			return b, fmt.Errorf("scanning a backlog: %w", err)
		}
		b.Waited = since(tx, due)
		return b, nil
	}
}

// since is how long ago a time of the database was, 0 for none.
func since(tx Tx, at int64) time.Duration {
	if at == 0 {
		return 0
	}
	return max(tx.Now().Sub(fromMicros(at)), 0)
}

// addRunning completes backlogs with what runs of them.
func addRunning(ctx context.Context, tx Tx, backlogs []store.Backlog) error {
	type group struct {
		backlogKey
		items  int64
		oldest int64
	}
	groups, err := queryAll(ctx, tx, sqlf(`SELECT j.lane, j.tenant_id, j.model, SUM(c.open) /*pg ::bigint */, MIN(j.created_at)
		FROM claims c JOIN jobs j ON j.id = c.job_id GROUP BY j.lane, j.tenant_id, j.model`),
		func(row Row) (g group, err error) {
			return g, row.Scan(&g.lane, &g.tenant, &g.model, &g.items, &g.oldest)
		})
	if err != nil {
		return err
	}
	byKey := make(map[backlogKey]group, len(groups))
	for _, g := range groups {
		byKey[g.backlogKey] = g
	}
	for i := range backlogs {
		b := &backlogs[i]
		g := byKey[backlogKey{b.Lane, b.Tenant, b.Model}]
		b.Running, b.RunningFor = g.items, since(tx, g.oldest)
	}
	return nil
}

// Depths implements store.Load.
func (s *Store) Depths(ctx context.Context) ([]store.Depth, error) {
	backlogs, err := s.Backlogs(ctx)
	return store.DepthsOf(backlogs), err
}

// promisedIn is how long a job was said to take, 0 when that can no longer be held against anybody.
func promisedIn(j *penstock.Job) time.Duration {
	if j.PromisedAt.IsZero() || !j.CancelRequestedAt.IsZero() {
		return 0
	}
	return j.PromisedAt.Sub(j.CreatedAt)
}

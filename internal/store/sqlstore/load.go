package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// Backlogs implements store.Load. The head of a queue is one index read of the ready items; the
// running items are read from the claims.
func (s *Store) Backlogs(ctx context.Context) (backlogs []store.Backlog, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		backlogs, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT b.lane, b.tenant_id, b.model, b.ready, b.parked, b.tokens, b.bytes,
				b.drained_items, b.drained_tokens, CASE WHEN b.ready = 0 THEN 0 ELSE
				COALESCE((SELECT COALESCE(i.not_before, j.created_at) FROM ready r JOIN jobs j ON j.id = r.job_id
					LEFT JOIN items i ON i.id = r.item_id WHERE r.lane = b.lane
					AND r.tenant_id = b.tenant_id AND r.model = b.model ORDER BY r.deadline, r.job_id, r.last_n LIMIT 1), 0) END
			FROM backlogs b ORDER BY b.ready + b.parked DESC, b.lane, b.tenant_id, b.model LIMIT $1`, store.MaxBacklogs), scanBacklog(tx))
		if err != nil {
			return err
		}
		if err := addRunning(ctx, tx, backlogs); err != nil {
			return err
		}
		backlogs, err = addUnsplit(ctx, tx, backlogs)
		return err
	})
	return backlogs, err
}

func scanBacklog(tx sqldb.Tx) func(sqldb.Row) (store.Backlog, error) {
	return func(row sqldb.Row) (store.Backlog, error) {
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
func since(tx sqldb.Tx, at int64) time.Duration {
	if at == 0 {
		return 0
	}
	return max(tx.Now().Sub(sqldb.FromMicros(at)), 0)
}

// addRunning adds the running items to backlogs.
func addRunning(ctx context.Context, tx sqldb.Tx, backlogs []store.Backlog) error {
	type group struct {
		backlogKey
		items  int64
		oldest int64
	}
	groups, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT j.lane, j.tenant_id, j.model, SUM(c.open) /*pg ::bigint */, MIN(j.created_at)
		FROM claims c JOIN jobs j ON j.id = c.job_id GROUP BY j.lane, j.tenant_id, j.model`),
		func(row sqldb.Row) (g group, err error) {
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

// addUnsplit completes backlogs with the lines that their jobs do not have yet. Their size is that of the whole
// file, in proportion.
func addUnsplit(ctx context.Context, tx sqldb.Tx, backlogs []store.Backlog) ([]store.Backlog, error) {
	at := make(map[backlogKey]int, len(backlogs))
	for i, b := range backlogs {
		at[backlogKey{b.Lane, b.Tenant, b.Model}] = i
	}
	type rest struct {
		backlogKey
		total, left, tokens, bytes int64
	}
	jobs, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT j.lane, j.tenant_id, j.model, j.total, j.total - j.split, j.queue_tokens, COALESCE(f.bytes, 0)
		FROM jobs j LEFT JOIN files f ON f.id = j.file_id WHERE j.split < j.total AND j.finished_at = 0 ORDER BY j.id LIMIT $1`, store.MaxBacklogs),
		func(row sqldb.Row) (r rest, err error) {
			return r, row.Scan(&r.lane, &r.tenant, &r.model, &r.total, &r.left, &r.tokens, &r.bytes)
		})
	for _, r := range jobs {
		i, known := at[r.backlogKey]
		if !known {
			i = len(backlogs)
			at[r.backlogKey] = i
			backlogs = append(backlogs, store.Backlog{Lane: r.lane, Tenant: r.tenant, Model: r.model})
		}
		part := float64(r.left) / float64(r.total)
		b := &backlogs[i]
		b.Unsplit += r.left
		b.Tokens += int64(part * float64(r.tokens))
		b.Bytes += int64(part * float64(r.bytes))
	}
	return backlogs, err
}

// OpenResolutions implements store.Load. Most jobs share how they were resolved, so few texts are read.
func (s *Store) OpenResolutions(ctx context.Context) (all []store.Resolution, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		rows, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT resolved, COUNT(*), SUM(total - succeeded - failed - cancelled - expired) /*pg ::bigint */
			FROM jobs WHERE finished_at = 0 GROUP BY resolved`), scanResolution)
		byTargets := make(map[string]*store.Resolution)
		for i := range rows {
			key := strings.Join(rows[i].Targets, "\x00")
			if known := byTargets[key]; known != nil {
				known.Jobs, known.Items = known.Jobs+rows[i].Jobs, known.Items+rows[i].Items
				continue
			}
			byTargets[key] = &rows[i]
		}
		all = nil
		for _, key := range slices.Sorted(maps.Keys(byTargets)) {
			all = append(all, *byTargets[key])
		}
		return err
	})
	return all, err
}

func scanResolution(row sqldb.Row) (r store.Resolution, err error) {
	var text string
	if err := row.Scan(&text, &r.Jobs, &r.Items); err != nil {
		return r, fmt.Errorf("scanning a resolution: %w", err)
	}
	var resolved penstock.Resolved
	if err := json.Unmarshal([]byte(text), &resolved); err != nil {
		return r, fmt.Errorf("reading a resolution: %w", err)
	}
	r.Targets = resolved.Targets
	return r, nil
}

// Depths implements store.Load.
func (s *Store) Depths(ctx context.Context) ([]store.Depth, error) {
	backlogs, err := s.Backlogs(ctx)
	return store.DepthsOf(backlogs), err
}

// promisedIn is the duration that a job's caller was given, 0 when it was cancelled or was given none.
func promisedIn(j *penstock.Job) time.Duration {
	if j.PromisedAt.IsZero() || !j.CancelRequestedAt.IsZero() {
		return 0
	}
	return j.PromisedAt.Sub(j.CreatedAt)
}

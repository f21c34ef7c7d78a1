package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// AcquireLease implements store.Queue. An epoch is the time it began, or one more than the one before:
// so it never comes back, even after the row of a process that was gone for long was forgotten.
func (s *Store) AcquireLease(ctx context.Context, process string, ttl time.Duration) (store.Lease, error) {
	l := store.Lease{Process: process}
	err := s.write(ctx, "lease", func(tx sqldb.Tx) error {
		now := tx.Now()
		epoch, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`INSERT INTO leases (process_id, epoch, expires_at, started_at)
			VALUES ($1, $3, $2, $3)
			ON CONFLICT (process_id) DO UPDATE SET expires_at = excluded.expires_at, started_at = excluded.started_at, calls = '', told_at = 0, state = '',
				epoch = CASE WHEN excluded.epoch > leases.epoch THEN excluded.epoch ELSE leases.epoch + 1 END
			RETURNING epoch`, process, sqldb.Micros(now.Add(ttl)), sqldb.Micros(now)),
			func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
		if err != nil {
			return err
		}
		l.Epoch = epoch
		return forgetLeases(ctx, tx)
	})
	return l, err
}

// forgetLeases removes processes that ended long ago and hold nothing.
func forgetLeases(ctx context.Context, tx sqldb.Tx) error {
	const after = 24 * time.Hour
	return tx.Do(ctx, `DELETE FROM leases WHERE expires_at < $1 AND started_at < $1 AND NOT EXISTS
		(SELECT 1 FROM claims c WHERE c.process_id = leases.process_id)`,
		sqldb.Micros(tx.Now().Add(-after)))
}

// RenewLease implements store.Queue.
func (s *Store) RenewLease(ctx context.Context, l store.Lease, r store.Renewal) error {
	calls, err := json.Marshal(r.Calls)
	if err != nil {
		return fmt.Errorf("encoding calls: %w", err)
	}
	state, err := json.Marshal(r.State)
	if err != nil {
		return fmt.Errorf("encoding the state of a process: %w", err)
	}
	return s.write(ctx, "renew", func(tx sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE leases SET expires_at = $3, calls = $4, told_at = $5, state = $6
			WHERE process_id = $1 AND epoch = $2 AND expires_at > 0`,
			l.Process, l.Epoch, sqldb.Micros(tx.Now().Add(r.TTL)), string(calls), sqldb.Micros(tx.Now()), string(state))
		if err == nil && n == 0 {
			err = leaseLost(l)
		}
		return err
	})
}

// Processes implements store.Load.
func (s *Store) Processes(ctx context.Context) (all []store.Process, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT process_id, state FROM leases WHERE expires_at > $1 ORDER BY process_id`, sqldb.Micros(tx.Now())), scanProcess)
		return err
	})
	return all, err
}

func scanProcess(row sqldb.Row) (p store.Process, err error) {
	var state []byte
	if err := row.Scan(&p.Name, &state); err != nil {
		return p, fmt.Errorf("scanning a process: %w", err)
	}
	if p.Works = true; len(state) > 0 {
		p.Works = false
		err = json.Unmarshal(state, &p.ProcessState)
	}
	return p, err
}

// ReleaseLease implements store.Queue.
func (s *Store) ReleaseLease(ctx context.Context, l store.Lease) error {
	return s.write(ctx, "release", func(tx sqldb.Tx) error {
		return tx.Do(ctx, `UPDATE leases SET expires_at = 0 WHERE process_id = $1 AND epoch = $2`, l.Process, l.Epoch)
	})
}

// HeldItems implements store.Queue.
func (s *Store) HeldItems(ctx context.Context, l store.Lease) (held []store.Held, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		claims, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+claimColumns+` FROM claims c WHERE c.process_id = $1 AND c.epoch = $2 ORDER BY c.id`,
			l.Process, l.Epoch), scanClaim)
		if err != nil {
			return err
		}
		items, err := itemsOf(ctx, tx, claims)
		if err != nil {
			return err
		}
		stopping, err := stoppingJobs(ctx, tx, items)
		if err != nil {
			return err
		}
		held = make([]store.Held, len(items))
		for i, r := range items {
			held[i] = store.Held{Item: r.item, Job: r.job, Tenant: r.tenant, Fence: r.fence(), Cancelled: stopping[r.job]}
		}
		return nil
	})
	return held, err
}

// stoppingJobs are the items' jobs that were cancelled.
func stoppingJobs(ctx context.Context, tx sqldb.Tx, items []running) (map[penstock.ID]bool, error) {
	jobs := make(map[penstock.ID]bool)
	for _, r := range items {
		jobs[r.job] = false
	}
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(slices.Sorted(maps.Keys(jobs))),
		SQL: `SELECT id FROM jobs WHERE id = /*pg ANY */($1) AND cancel_requested_at > 0`,
	}, func(row sqldb.Row) error {
		var id penstock.ID
		err := row.Scan(&id)
		jobs[id] = true
		return err
	})
	return jobs, err
}

func leaseLost(l store.Lease) error {
	return penstock.Errorf(penstock.CodeConflict, "Process %s no longer holds the lease of epoch %d.", l.Process, l.Epoch)
}

// Package livesql answers the questions of live streams from the database. It reads the tables of other packages, by their
// primary keys and their indexes, and owns none.
package livesql

import (
	"context"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/live"
	"penstock/internal/store/sqldb"
)

// Store implements live.Source.
type Store struct{ db *sqldb.DB }

// New returns a store over a database with the whole schema.
func New(db *sqldb.DB) *Store { return &Store{db} }

// JobStates implements live.Source.
func (s *Store) JobStates(ctx context.Context, ids []penstock.ID) ([]live.JobState, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var states []live.JobState
	err := s.db.Read(ctx, func(tx sqldb.Tx) error {
		states = nil
		return tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(ids), SQL: `SELECT id, tenant_id, status, total, succeeded, failed, cancelled, expired, seq,
				(SELECT COALESCE(SUM(c.open), 0) /*pg ::bigint */ FROM claims c WHERE c.job_id = jobs.id), file_id <> '' OR total > 1
			FROM jobs WHERE id = /*pg ANY */($1)`}, func(row sqldb.Row) error {
			var j live.JobState
			c := &j.Counts
			if err := row.Scan(&j.ID, &j.Tenant, &j.Status, &c.Total, &c.Succeeded, &c.Failed, &c.Cancelled, &c.Expired, &j.Seq, &c.Running, &j.Batch); err != nil {
				return fmt.Errorf("scanning the state of a job: %w", err)
			}
			c.Queued = c.Total - c.Running - c.Succeeded - c.Failed - c.Cancelled - c.Expired
			states = append(states, j)
			return nil
		})
	})
	return states, err
}

// logs are the queries for the newest rows of each log.
var logs = map[live.Log]string{
	live.LogAudit:      `SELECT id, tenant_id, '' FROM audit WHERE id >= $1 ORDER BY id DESC LIMIT $2`,
	live.LogPrompts:    `SELECT id, tenant_id, '' FROM audit WHERE id >= $1 AND action LIKE 'prompt.%' ORDER BY id DESC LIMIT $2`,
	live.LogRequests:   `SELECT id, tenant_id, '' FROM requests WHERE id >= $1 ORDER BY id DESC LIMIT $2`,
	live.LogDeliveries: `SELECT id, tenant_id, status || ' ' || attempts /*pg ::text */ FROM deliveries WHERE id >= $1 ORDER BY id DESC LIMIT $2`,
}

// Recent implements live.Source.
func (s *Store) Recent(ctx context.Context, log live.Log, since time.Time, limit int) (marks []live.Mark, err error) {
	query, known := logs[log]
	if !known {
		return nil, fmt.Errorf("there is no log %q", log)
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		marks, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(query, penstock.FirstID(since), limit), func(row sqldb.Row) (m live.Mark, err error) {
			return m, row.Scan(&m.ID, &m.Tenant, &m.State)
		})
		return err
	})
	return marks, err
}

// DeadLetters implements live.Source.
func (s *Store) DeadLetters(ctx context.Context, tenant penstock.TenantID, most int) (n int, err error) {
	q := sqldb.SQL(`SELECT COUNT(*) FROM (SELECT 1 FROM dead_letters WHERE resolved_at = 0 LIMIT $1) AS unresolved`, most)
	if tenant != "" {
		q = sqldb.SQL(`SELECT COUNT(*) FROM (SELECT 1 FROM dead_letters WHERE resolved_at = 0 AND tenant_id = $2 LIMIT $1) AS unresolved`, most, tenant)
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		n, _, err = sqldb.QueryOne(ctx, tx, q, sqldb.ScanOne[int])
		return err
	})
	return n, err
}

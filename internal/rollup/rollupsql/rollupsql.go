// Package rollupsql stores the figures of package rollup.
package rollupsql

import (
	"context"
	"embed"
	"fmt"
	"time"

	"penstock/internal/rollup"
	"penstock/internal/store/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's table.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "rollup", Files: files} }

// Store implements rollup.Store.
type Store struct{ db *sqldb.DB }

// New returns a store over a database with the whole schema.
func New(db *sqldb.DB) *Store { return &Store{db} }

const columns = `span, tenant_id, at, lane, target, source, jobs, requests, succeeded, failed, cost_nano_usd, depth, latency`

// MaxRows bounds the rows that a query returns: two days of quarters of an hour, for all lanes, targets and processes.
const MaxRows = 50_000

// Save implements rollup.Store. Nobody was promised the figures, so the commit need not be on stable storage.
func (s *Store) Save(ctx context.Context, rows []rollup.Row, before map[rollup.Span]time.Time) error {
	return s.db.Write(ctx, "rollup", func(tx sqldb.Tx) error {
		tx.Relax()
		for _, r := range rows {
			latency, err := r.Latency.MarshalText()
			if err != nil {
				return fmt.Errorf("encoding a histogram: %w", err)
			}
			err = tx.Do(ctx, `INSERT INTO rollups (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
				ON CONFLICT (span, tenant_id, at, lane, target, source) DO UPDATE SET jobs = excluded.jobs, requests = excluded.requests, succeeded = excluded.succeeded,
					failed = excluded.failed, cost_nano_usd = excluded.cost_nano_usd, depth = excluded.depth, latency = excluded.latency`,
				seconds(r.Span), r.Tenant, r.At.Unix(), r.Lane, r.Target, r.Source, r.Jobs, r.Requests, r.Succeeded, r.Failed, r.Cost, r.Depth, string(latency))
			if err != nil {
				return err
			}
		}
		for span, at := range before {
			if err := tx.Do(ctx, `DELETE FROM rollups WHERE span = $1 AND at < $2`, seconds(span), at.Unix()); err != nil {
				return err
			}
		}
		return nil
	})
}

func seconds(s rollup.Span) int64 { return int64(time.Duration(s) / time.Second) }

// Rows implements rollup.Store.
func (s *Store) Rows(ctx context.Context, q rollup.Query) (rows []rollup.Row, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		rows, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+columns+` FROM rollups WHERE span = $1 AND tenant_id = $2 AND at >= $3
			ORDER BY at DESC LIMIT $4`, seconds(q.Span), q.Tenant, q.From.Unix(), MaxRows), scan)
		return err
	})
	return rows, err
}

func scan(row sqldb.Row) (r rollup.Row, err error) {
	var span, at int64
	var latency string
	err = row.Scan(&span, &r.Tenant, &at, &r.Lane, &r.Target, &r.Source, &r.Jobs, &r.Requests, &r.Succeeded, &r.Failed, &r.Cost, &r.Depth, &latency)
	if err != nil {
		return r, fmt.Errorf("scanning figures: %w", err)
	}
	r.Span, r.At = rollup.Span(time.Duration(span)*time.Second), time.Unix(at, 0).UTC()
	return r, r.Latency.UnmarshalText([]byte(latency))
}

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store/postgres"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storefill"
	"penstock/internal/webhook/webhooksql"
)

// source is the database to measure on.
type source struct {
	engine, database, dir string
	rows                  int
}

// filled is a database with rows.
type filled struct {
	*sqlstore.Store
	db       *sqldb.DB
	webhooks *webhooksql.Store
	until    time.Time // of the newest rows
	jobs     []string  // ids of some jobs, from the oldest to the newest
	segments int
}

// open opens a database, and fills it unless it has rows.
func open(ctx context.Context, src source) (*filled, error) {
	engine, err := src.open(ctx)
	if err != nil {
		return nil, err
	}
	db, err := schema.Open(ctx, engine)
	if err != nil {
		return nil, err
	}
	f := &filled{db: db}
	keys, err := payload.LoadOrCreate(filepath.Join(src.dir, src.engine+"-keyset.json"))
	if err != nil {
		return nil, err
	}
	codec, err := payload.New(keys)
	if err != nil {
		return nil, err
	}
	blobs, err := dir.New(filepath.Join(src.dir, "blobs"))
	if err != nil {
		return nil, err
	}
	if f.Store, err = sqlstore.New(ctx, db, codec, blobs); err != nil {
		return nil, err
	}
	f.webhooks = webhooksql.New(db, codec)
	return f, f.fill(ctx, src)
}

func (src source) open(ctx context.Context) (sqldb.Engine, error) {
	if src.engine == "sqlite" {
		if err := os.MkdirAll(filepath.Dir(src.database), 0o700); err != nil {
			return nil, err
		}
		return sqlite.Open(ctx, sqlite.Config{Path: src.database})
	}
	return postgres.Open(ctx, postgres.Config{URL: src.database})
}

// fill writes the rows, and builds the segments as a server would.
func (f *filled) fill(ctx context.Context, src source) error {
	empty := true
	err := f.db.Read(ctx, func(tx sqldb.Tx) error {
		_, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM jobs LIMIT 1`), sqldb.ScanOne[int64])
		empty = !found
		return err
	})
	if err != nil {
		return err
	}
	if empty {
		if _, err := storefill.Fill(ctx, f.db, storefill.Same(src.rows), time.Now()); err != nil {
			return err
		}
	}
	for more := true; more; f.segments++ {
		if more, err = f.BuildSegment(ctx, storefill.Busy); err != nil {
			return err
		}
	}
	if empty {
		if err := f.analyze(ctx, src); err != nil {
			return err
		}
	}
	return f.look(ctx)
}

// analyze does what autovacuum of PostgreSQL does soon after.
func (f *filled) analyze(ctx context.Context, src source) error {
	if src.engine == "sqlite" {
		return nil
	}
	conn, err := pgx.Connect(ctx, src.database)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return errors.Join(err, conn.Close(ctx))
}

// look finds ids to ask for.
func (f *filled) look(ctx context.Context) error {
	return f.db.Read(ctx, func(tx sqldb.Tx) (err error) {
		var newest int64
		if newest, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT created_at FROM jobs WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1`, storefill.Busy), sqldb.ScanOne[int64]); err != nil {
			return err
		}
		f.until = sqldb.FromMicros(newest)
		f.jobs, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT first_id FROM job_segments WHERE tenant_id = $1 ORDER BY last_id`, storefill.Busy), sqldb.ScanOne[string])
		if err == nil && len(f.jobs) == 0 {
			err = errors.New("no segment was built; use more rows")
		}
		return err
	})
}

// middle is the id of a job in the middle.
func (f *filled) middle() string { return f.jobs[len(f.jobs)/2] }

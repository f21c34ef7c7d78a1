package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"penstock/internal/audit"
	"penstock/internal/blob"
	"penstock/internal/blob/dir"
	"penstock/internal/blob/s3"
	"penstock/internal/config"
	"penstock/internal/conversation/conversationsql"
	"penstock/internal/disk"
	"penstock/internal/identity"
	"penstock/internal/identity/identitysql"
	"penstock/internal/live/livesql"
	"penstock/internal/payload"
	"penstock/internal/playground/playgroundsql"
	"penstock/internal/prompt/promptsql"
	"penstock/internal/rollup/rollupsql"
	"penstock/internal/signal"
	"penstock/internal/store/postgres"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
	"penstock/internal/upload/uploadsql"
	"penstock/internal/webhook/webhooksql"
)

// localProcess is the lease holder's name on SQLite: the data directory belongs to one process at a
// time, so its holder is the successor of the last holder and may take over at once.
const localProcess = "local"

// databaseFile is the embedded database, in the data directory.
const databaseFile = "penstock.db"

// Store is an open store with its hold on the data directory.
type Store struct {
	*sqlstore.Store
	process string      // names this process as the holder of a lease
	wire    signal.Wire // to other processes on the same database; nil when there can be none
	lock    *os.File
	volumes []disk.Volume // where it writes on this machine

	Webhooks *webhooksql.Store
	turns    *conversationsql.Store
	uploads  *uploadsql.Store
	changes  *livesql.Store
	past     *rollupsql.Store
	log      *audit.Reader
	people   *identitysql.Store
	prompts  *promptsql.Store
	runs     *playgroundsql.Store

	keys  *payload.Keyset
	Codec *payload.Codec
	Blobs blob.Store
}

// Members are the grants of roles to people.
func (s *Store) Members() identity.Members { return identitysql.Members{Store: s.people} }

// Close closes the store and unlocks the data directory.
func (s *Store) Close() error {
	err := s.Store.Close()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// OpenStore opens the configured store and brings its schema up to date. On SQLite it locks the data
// directory for this process.
func OpenStore(ctx context.Context, p config.Process) (*Store, error) {
	return OpenStoreAt(ctx, p, nil)
}

// OpenStoreAt is OpenStore with a clock of the database, nil for the machine's. Only SQLite can have another.
func OpenStoreAt(ctx context.Context, p config.Process, clock func() time.Time) (*Store, error) {
	lock, err := lockEmbedded(p)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, p, clock)
	if err != nil {
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
		return nil, err
	}
	s.lock = lock
	return s, nil
}

// Migrate brings the schema of the configured database up to date. It makes no keyset: the first server that starts on a database
// decides on the keys of its payloads, and whoever migrates it may run on another machine.
func Migrate(ctx context.Context, p config.Process) (err error) {
	lock, err := lockEmbedded(p)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	s := &Store{volumes: []disk.Volume{{Name: "data", Path: p.Data}}}
	engine, err := s.engine(ctx, p, nil)
	if err != nil {
		return err
	}
	db, err := schema.Open(ctx, engine)
	if err != nil {
		return errors.Join(explainOld(err, p), engine.Close())
	}
	return db.Close()
}

// lockEmbedded locks the data directory for this process if SQLite is in it, and creates it. Otherwise the lock is nil.
func lockEmbedded(p config.Process) (*os.File, error) {
	if !p.Database.IsZero() {
		return nil, nil
	}
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	return disk.Lock(p.Data)
}

// InspectStore opens an existing store for reading, also while a server runs on it.
func InspectStore(ctx context.Context, p config.Process) (*Store, error) {
	if p.Database.IsZero() {
		if _, err := os.Stat(filepath.Join(p.Data, databaseFile)); err != nil {
			return nil, fmt.Errorf("there is no database in %s; set data or PENSTOCK_DATA to the directory of the server: %w", p.Data, err)
		}
	}
	return open(ctx, p, nil)
}

func open(ctx context.Context, p config.Process, clock func() time.Time) (*Store, error) {
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	keys, err := payload.LoadOrCreate(filepath.Join(p.Data, "keyset.json"))
	if err != nil {
		return nil, fmt.Errorf("opening the keyset: %w", err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		return nil, fmt.Errorf("opening the keyset: %w", err)
	}
	blobPath := filepath.Join(p.Data, "blobs")
	blobs, err := OpenBlobs(p.Blobs.S3, blobPath)
	if err != nil {
		return nil, err
	}
	s := &Store{volumes: []disk.Volume{{Name: "data", Path: p.Data}}, keys: keys, Codec: codec, Blobs: blobs}
	engine, err := s.engine(ctx, p, clock)
	if err != nil {
		return nil, err
	}
	if p.Blobs.S3.IsZero() && !disk.Same(p.Data, blobPath) {
		s.volumes = append(s.volumes, disk.Volume{Name: "blob", Path: blobPath})
	}
	db, err := schema.Open(ctx, engine)
	if err != nil {
		return nil, errors.Join(explainOld(err, p), engine.Close())
	}
	if s.Store, err = sqlstore.New(ctx, db, codec, blobs); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	s.Webhooks = webhooksql.New(db, codec)
	s.turns, s.uploads, s.people = conversationsql.New(db, codec), uploadsql.New(db), identitysql.New(db)
	s.prompts, s.runs = promptsql.New(db, codec), playgroundsql.New(db, codec)
	s.changes, s.past, s.log = livesql.New(db), rollupsql.New(db), audit.NewReader(db)
	return s, nil
}

// explainOld says what to do about a database from before the first release.
func explainOld(err error, p config.Process) error {
	switch {
	case !errors.Is(err, sqldb.ErrOldSchema):
		return err
	case p.Database.IsZero():
		return fmt.Errorf("%w: move the data directory %s away, or set data (PENSTOCK_DATA) to an empty one", err, p.Data)
	}
	return fmt.Errorf("%w: set database (PENSTOCK_DATABASE_URL) to an empty database", err)
}

// OpenBlobs opens the bucket if one is configured, and a directory otherwise.
func OpenBlobs(c config.S3, path string) (blob.Store, error) {
	if c.IsZero() {
		blobs, err := dir.New(path)
		if err != nil {
			return nil, fmt.Errorf("opening the blob directory: %w", err)
		}
		return blobs, nil
	}
	blobs, err := s3.New(s3.Config{
		Endpoint: c.Endpoint, Bucket: c.Bucket, Region: c.Region, Prefix: c.Prefix,
		AccessKey: c.AccessKey.Reveal(), SecretKey: c.SecretKey.Reveal(), PathStyle: c.PathStyle,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the bucket: %w", err)
	}
	return blobs, nil
}

// engine opens PostgreSQL if it is configured, and SQLite in the data directory otherwise.
func (s *Store) engine(ctx context.Context, p config.Process, clock func() time.Time) (sqldb.Engine, error) {
	if !p.Database.IsZero() {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		s.process = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), strings.ToLower(rand.Text()[:8]))
		engine, err := postgres.Open(ctx, postgres.Config{URL: p.Database.Reveal()})
		if err != nil {
			return nil, err
		}
		s.wire = engine.Wire()
		return engine, nil
	}
	s.process = localProcess
	engine, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(p.Data, databaseFile), Clock: clock})
	if err != nil {
		return nil, err
	}
	s.volumes[0].Slack = engine.Slack
	return engine, nil
}

package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"penstock"
	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storetest"
	"penstock/internal/webhook/webhooksql"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

// Whatever rows are in the database, the check of the books ends and reports them, and usage reports are made.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	storetest.RunHostileRows(t, func(t *testing.T) (store.Store, func(sql string) error) {
		engine := openEngine(t, nil)
		s, _ := openOn(t, engine)
		return s, func(sql string) error {
			return engine.Write(t.Context(), func(tx sqldb.Tx) error { return tx.Do(t.Context(), sql) })
		}
	})
}

func open(t *testing.T, clock func() time.Time) (store.Store, storetest.Webhooks) {
	t.Helper()
	return openOn(t, openEngine(t, clock))
}

func openEngine(t *testing.T, clock func() time.Time) *postgres.Engine {
	t.Helper()
	engine, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.Copy(t, migrate), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// migrate makes the schema, which takes longer than most tests.
func migrate(url string) error {
	engine, err := postgres.Open(context.Background(), postgres.Config{URL: url})
	if err != nil {
		return err
	}
	_, err = schema.Open(context.Background(), engine)
	return errors.Join(err, engine.Close())
}

func openOn(t *testing.T, engine *postgres.Engine) (store.Store, storetest.Webhooks) {
	t.Helper()
	home := t.TempDir()
	keys, err := payload.LoadOrCreate(filepath.Join(home, "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.New(filepath.Join(home, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := schema.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.New(t.Context(), db, codec, blobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	other, err := sqlstore.New(t.Context(), db, codec, blobs)
	if err != nil {
		t.Fatal(err)
	}
	return apart{s, other}, webhooksql.New(db, codec)
}

// apart accepts work in another store than the one that runs it, as processes with one role do: the store that runs
// it has none of the accepted inputs in memory.
type apart struct {
	*sqlstore.Store
	accepting *sqlstore.Store
}

func (a apart) SubmitJob(ctx context.Context, tenant penstock.TenantID, s store.Submission) (store.Receipt, error) {
	return a.accepting.SubmitJob(ctx, tenant, s)
}

func (a apart) SplitJob(ctx context.Context, tenant penstock.TenantID, s store.Split) (store.Step, error) {
	return a.accepting.SplitJob(ctx, tenant, s)
}

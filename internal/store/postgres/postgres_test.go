package postgres_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

func open(t *testing.T, clock func() time.Time) store.Store {
	t.Helper()
	home := t.TempDir()
	engine, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
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
	s, err := sqlstore.New(t.Context(), engine, codec, blobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

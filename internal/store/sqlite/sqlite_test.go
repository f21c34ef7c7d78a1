package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storetest"
	"penstock/internal/webhook/webhooksql"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock func() time.Time) (store.Store, storetest.Webhooks) { return open(t, clock) })
}

func open(t testing.TB, clock func() time.Time) (store.Store, storetest.Webhooks) {
	t.Helper()
	home := t.TempDir()
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(home, "penstock.db"), Clock: clock})
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
	return s, webhooksql.New(db, codec)
}

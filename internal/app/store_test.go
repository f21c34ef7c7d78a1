package app

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"penstock/internal/config"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

// A data directory from before the first release is refused, with what to do.
func TestOldDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(home, databaseFile)})
	if err != nil {
		t.Fatal(err)
	}
	err = engine.Write(t.Context(), func(tx sqldb.Tx) error { return tx.Do(t.Context(), `PRAGMA user_version = 24`) })
	if err := errors.Join(err, engine.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first refusal unlocks the directory
		_, err = OpenStore(t.Context(), config.Process{Data: home})
		if !errors.Is(err, sqldb.ErrOldSchema) || !strings.Contains(err.Error(), "move the data directory "+home+" away") {
			t.Errorf("opening an old directory: %v", err)
		}
	}
}

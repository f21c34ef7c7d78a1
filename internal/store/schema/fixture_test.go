package schema_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"penstock/internal/store/sqldb"
)

// A fixture is a database as an earlier version left it: the steps that it had, in testdata/NAME/OWNER/migrations, and
// rows of every table, in testdata/NAME/rows.json, which the keyset beside them opens.
type fixture struct {
	dir    string
	tables map[string][]map[string]any
}

// fixtures are the databases that this version must be able to upgrade: one per baseline.
func fixtures(t *testing.T) []fixture {
	t.Helper()
	dirs, err := filepath.Glob("testdata/*/rows.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("found the fixtures %v, %v", dirs, err)
	}
	var all []fixture
	for _, path := range dirs {
		f := fixture{dir: filepath.Dir(path)}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&f.tables); err != nil {
			t.Fatalf("reading %s: %v", path, err)
		}
		all = append(all, f)
	}
	return all
}

// steps are those that the fixture's database had.
func (f fixture) steps(t *testing.T) []sqldb.Migration {
	t.Helper()
	owners, err := filepath.Glob(filepath.Join(f.dir, "*", "migrations"))
	if err != nil {
		t.Fatal(err)
	}
	var sources []sqldb.Source
	for _, path := range owners {
		owner := filepath.Dir(path)
		sources = append(sources, sqldb.Source{Owner: filepath.Base(owner), Files: os.DirFS(owner)})
	}
	steps, err := sqldb.Plan(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// restore makes a database of the fixture.
func (f fixture) restore(t *testing.T, engine sqldb.Engine) {
	t.Helper()
	if err := sqldb.Migrate(t.Context(), engine, f.steps(t)); err != nil {
		t.Fatal(err)
	}
	err := engine.Write(t.Context(), func(tx sqldb.Tx) error {
		if err := tx.Do(t.Context(), `DELETE FROM directory`); err != nil { // its one row is in the fixture too
			return err
		}
		for table, rows := range f.tables {
			for _, row := range rows {
				if err := insert(t, tx, table, row); err != nil {
					return fmt.Errorf("a row of %s: %w", table, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func insert(t *testing.T, tx sqldb.Tx, table string, row map[string]any) error {
	columns := slices.Sorted(maps.Keys(row))
	var places []string
	var args []any
	for i, column := range columns {
		value, err := parseValue(row[column])
		if err != nil {
			return err
		}
		places, args = append(places, fmt.Sprintf("$%d", i+1)), append(args, value)
	}
	_, err := tx.Exec(t.Context(), fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, table, strings.Join(columns, ", "), strings.Join(places, ", ")), args...)
	return err
}

// parseValue is a value of rows.json as a database takes it; bytes are written as {"hex": "…"}.
func parseValue(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Int64()
	case map[string]any:
		return hex.DecodeString(v["hex"].(string))
	default:
		return v, nil
	}
}

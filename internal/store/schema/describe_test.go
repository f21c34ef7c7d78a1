package schema_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"penstock/internal/store/sqldb"
)

// sqliteCatalog describes every table, column and index of SQLite, one per row.
var sqliteCatalog = []string{
	`SELECT 'table ' || m.name || ' without_rowid=' || l.wr FROM sqlite_master m JOIN pragma_table_list l ON l.name = m.name WHERE m.type = 'table'`,
	`SELECT 'column ' || m.name || '.' || c.name || ' ' || c.type || ' not_null=' || c."notnull" || ' default=' || COALESCE(c.dflt_value, 'none') || ' key=' || c.pk
		FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'`,
	`SELECT 'index ' || name || ' ' || sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`,
	`SELECT 'unique ' || m.name || ' ' || (SELECT group_concat(x.name) FROM pragma_index_info(i.name) x) FROM sqlite_master m, pragma_index_list(m.name) i
		WHERE m.type = 'table' AND i.origin <> 'c'`,
}

// postgresCatalog is the same for PostgreSQL.
var postgresCatalog = []string{
	`SELECT 'table ' || relname || ' ' || COALESCE(array_to_string(reloptions, ','), '') FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
	`SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type || ' null=' || is_nullable || ' default=' || COALESCE(column_default, 'none') ||
		' collation=' || COALESCE(collation_name, '') FROM information_schema.columns WHERE table_schema = current_schema()`,
	`SELECT 'storage ' || c.relname || '.' || a.attname || ' ' || a.attstorage::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped`,
	`SELECT 'index ' || regexp_replace(indexdef, '[a-z_]+_pkey', 'primary') FROM pg_indexes WHERE schemaname = current_schema()`,
	`SELECT 'constraint ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace`,
}

var space = regexp.MustCompile(`\s+`)

// describe is the schema of a database as sorted lines. The order of columns does not count.
func describe(t testing.TB, engine sqldb.Engine, catalog []string) string {
	t.Helper()
	var lines []string
	err := engine.Read(t.Context(), func(tx sqldb.Tx) error {
		for _, query := range catalog {
			found, err := sqldb.QueryAll(t.Context(), tx, sqldb.SQL(query), sqldb.ScanOne[string])
			if err != nil {
				return err
			}
			for _, line := range found {
				lines = append(lines, space.ReplaceAllString(line, " "))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

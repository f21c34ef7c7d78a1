package postgres_test

import (
	"fmt"
	"slices"
	"testing"

	"penstock/internal/store/sqldb"
)

var addSample = sqldb.InsertInto("samples", "n bigint, tenant text, size bigint, body bytea", "")

// Values that all rows of an insert share are sent once. Which columns that are changes from one transaction to the next.
func TestBulkSharedValues(t *testing.T) {
	t.Parallel()
	engine := openEngine(t, nil)
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	write := func(fn func(tx sqldb.Tx) error) {
		t.Helper()
		if err := engine.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx sqldb.Tx) error {
		return tx.Do(t.Context(), `CREATE TABLE samples (n BIGINT, tenant TEXT, size BIGINT, body BYTEA)`)
	})
	var want []string
	for i, rows := range [][]struct {
		tenant string
		size   int
	}{
		{{"a", 1}, {"a", 1}},
		{{"a", 1}},
		{{"a", 2}, {"a", 3}},
		{{"b", 2}, {"b", 2}},
		{{"a", 4}, {"b", 4}, {"a", 4}},
		{{"c", 4}, {"c", 5}},
	} {
		write(func(tx sqldb.Tx) error {
			for j, r := range rows {
				if err := tx.Put(t.Context(), addSample, 10*i+j, r.tenant, r.size, []byte(r.tenant)); err != nil {
					return err
				}
			}
			return nil
		})
		for j, r := range rows {
			want = append(want, fmt.Sprint(10*i+j, r.tenant, r.size, r.tenant))
		}
	}
	var got []string
	err := engine.Read(t.Context(), func(tx sqldb.Tx) (err error) {
		got, err = sqldb.QueryAll(t.Context(), tx, sqldb.SQL(`SELECT n, tenant, size, body FROM samples ORDER BY n`), func(row sqldb.Row) (string, error) {
			var n, size int
			var tenant string
			var body []byte
			err := row.Scan(&n, &tenant, &size, &body)
			return fmt.Sprint(n, tenant, size, string(body)), err
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

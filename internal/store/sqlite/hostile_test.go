package sqlite_test

import (
	"testing"

	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storetest"
)

// Whatever rows are in the database, the check of the books ends and reports them, and usage reports are made.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	storetest.RunHostileRows(t, func(t *testing.T) (store.Store, func(sql string) error) {
		h := newRig(t)
		return h.Store, func(sql string) error {
			return h.engine.Write(t.Context(), func(tx sqldb.Tx) error { return tx.Do(t.Context(), sql) })
		}
	})
}

// Columns of SQLite take any value.
func TestRowsOfOtherTypes(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"'many'", "1e300", "x'00ff'", "0.5"} {
		for _, column := range []string{"cost_nano_usd", "input_tokens", "outcomes", "created_at"} {
			h := newRig(t)
			h.finished(2)
			h.findsDamage(`UPDATE ledger SET `+column+` = `+value+` WHERE kind = 'settle'`, "")
			if _, err := h.Spending(t.Context(), "acme", store.SpendingQuery{Limit: 10}); err != nil {
				t.Errorf("%s = %s: %v", column, value, err)
			}
		}
	}
}

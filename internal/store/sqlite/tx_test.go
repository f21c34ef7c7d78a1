package sqlite

import "testing"

// TestNumbered holds that no statement has a parameter that SQLite's planner looks at: it would be planned anew whenever
// that is bound.
func TestNumbered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`SELECT a FROM t WHERE b = $1 LIMIT $2`:          `SELECT a FROM t WHERE b = +? LIMIT +?`,
		`SELECT a FROM t WHERE b = $1 OR c = $1`:         `SELECT a FROM t WHERE b = +?1 OR c = +?1`,
		`UPDATE t SET a = a - $2 WHERE b = $1`:           `UPDATE t SET a = a - +?2 WHERE b = +?1`,
		`SELECT key FROM t WHERE key <= $1 || ';' OR $2`: `SELECT key FROM t WHERE key <= +? || ';' OR +?`,
		`SELECT 1`: `SELECT 1`,
	} {
		if got := numbered(text); got != want {
			t.Errorf("numbered(%q) = %q, want %q", text, got, want)
		}
	}
}

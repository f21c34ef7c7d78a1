// Package usagerow writes and reads the columns of a usage. Jobs, items, attempts, requests, the ledger and result groups
// all have them, as the last ones in a list of columns, named as [penstock.UsageNames] says and in that order.
//
// A new token class is one more name in the two constants here, and one more column in a migration.
package usagerow

import (
	"context"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/store/sqldb"
)

const (
	// Names are the columns of a usage.
	Names = `input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, ` +
		`cache_write_1h_tokens, audio_input_tokens, audio_output_tokens`
	// Columns are the columns of a usage with their types.
	Columns = `input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint, ` +
		`cache_write_1h_tokens bigint, audio_input_tokens bigint, audio_output_tokens bigint`
)

// usualCounts is how many counts of a usage, the first ones of all, are not zero in nearly every usage.
const usualCounts = 5

// isUsual says that only the usual counts of a usage are not zero.
func isUsual(u *penstock.Usage) bool {
	counts := u.Counts()
	return !slices.ContainsFunc(counts[usualCounts:], func(n *int64) bool { return *n != 0 })
}

// Insert adds rows with a usage. It leaves unusual counts to the defaults of their columns where they are zero: every
// call is recorded in three such rows and should not pay for counts that it does not use.
type Insert struct{ usual, all *sqldb.Bulk }

// InsertInto is a sqldb.InsertInto whose columns, which end in a comma, are followed by those of a usage.
func InsertInto(table, columns, rest string) Insert {
	usual := strings.Join(strings.SplitN(Columns, ", ", usualCounts+1)[:usualCounts], ", ")
	return Insert{sqldb.InsertInto(table, columns+usual, rest), sqldb.InsertInto(table, columns+Columns, rest)}
}

// Put adds a row.
func (i Insert) Put(ctx context.Context, tx sqldb.Tx, u penstock.Usage, before ...any) error {
	if !isUsual(&u) {
		return tx.Put(ctx, i.all, Values(u, before...)...)
	}
	counts := u.Counts()
	values := slices.Grow(before, usualCounts)
	for _, n := range counts[:usualCounts] {
		values = append(values, *n)
	}
	return tx.Put(ctx, i.usual, values...)
}

// Values are the values of a row, the last of which are those of its usage.
func Values(u penstock.Usage, before ...any) []any {
	all := slices.Grow(before, len(penstock.UsageNames))
	for _, n := range u.Counts() {
		all = append(all, *n)
	}
	return all
}

// Dest is where a row is scanned into, the last of it into a usage.
func Dest(u *penstock.Usage, before ...any) []any {
	all := slices.Grow(before, len(penstock.UsageNames))
	for _, n := range u.Counts() {
		all = append(all, n)
	}
	return all
}

// Each is SQL with a piece for every column of a usage, in which the column's name stands for each %s.
func Each(piece, between string) string {
	var all []string
	for _, name := range penstock.UsageNames {
		all = append(all, strings.ReplaceAll(piece, "%s", name))
	}
	return strings.Join(all, between)
}

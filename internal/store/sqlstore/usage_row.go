package sqlstore

import (
	"context"
	"slices"
	"strings"

	"penstock"
)

// The columns of a usage, which jobs, items, attempts, requests, the ledger and result groups all have. They come last in
// a list of columns, so that they can be written and read in one way everywhere. They are called as penstock.UsageNames
// says, and stand in that order.
const (
	usageNames = `input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, ` +
		`cache_write_1h_tokens, audio_input_tokens, audio_output_tokens`
	usageColumns = `input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint, ` +
		`cache_write_1h_tokens bigint, audio_input_tokens bigint, audio_output_tokens bigint`
)

// usualCounts is how many counts of a usage, the first ones of all, are all that there is to tell of nearly every one.
const usualCounts = 5

// isUsual reports whether all counts of a usage but the first n are zero.
func isUsual(u *penstock.Usage, n int) bool {
	counts := u.Counts()
	return !slices.ContainsFunc(counts[n:], func(n *int64) bool { return *n != 0 })
}

// usageInsert adds rows with a usage. Counts that are not usual are left to the defaults of their columns where they
// are zero: every call is recorded in three such rows, and need not pay for what it does not use.
type usageInsert struct{ usual, all *Bulk }

// insertUsage is an insertInto whose columns, which end in a comma, are followed by those of a usage.
func insertUsage(table, columns, rest string) usageInsert {
	usual := strings.Join(strings.SplitN(usageColumns, ", ", usualCounts+1)[:usualCounts], ", ")
	return usageInsert{insertInto(table, columns+usual, rest), insertInto(table, columns+usageColumns, rest)}
}

func (i usageInsert) put(ctx context.Context, tx Tx, u penstock.Usage, before ...any) error {
	if !isUsual(&u, usualCounts) {
		return tx.Put(ctx, i.all, withUsage(u, before...)...)
	}
	counts := u.Counts()
	values := slices.Grow(before, usualCounts)
	for _, n := range counts[:usualCounts] {
		values = append(values, *n)
	}
	return tx.Put(ctx, i.usual, values...)
}

// withUsage is a row's values with those of its usage behind them.
func withUsage(u penstock.Usage, before ...any) []any {
	all := slices.Grow(before, len(penstock.UsageNames))
	for _, n := range u.Counts() {
		all = append(all, *n)
	}
	return all
}

// intoUsage is where a row is read to, with its usage behind the rest.
func intoUsage(u *penstock.Usage, before ...any) []any {
	all := slices.Grow(before, len(penstock.UsageNames))
	for _, n := range u.Counts() {
		all = append(all, n)
	}
	return all
}

// eachUsage is SQL with a piece for every column of a usage, in which the column's name stands for each %s.
func eachUsage(piece, between string) string {
	var all []string
	for _, name := range penstock.UsageNames {
		all = append(all, strings.ReplaceAll(piece, "%s", name))
	}
	return strings.Join(all, between)
}

package sqlstore

import "penstock"

// The columns of a usage, which jobs, items, attempts, requests and the ledger all have. They come last in
// a list of columns, so that they can be written and read in one way everywhere.
const (
	usageNames   = `input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens`
	usageColumns = `input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint`
)

// withUsage is a row's values with those of its usage behind them.
func withUsage(u penstock.Usage, before ...any) []any {
	return append(before, u.InputTokens, u.CachedInputTokens, u.CacheWriteTokens, u.OutputTokens, u.ReasoningTokens)
}

// intoUsage is where a row is read to, with its usage behind the rest.
func intoUsage(u *penstock.Usage, before ...any) []any {
	return append(before, &u.InputTokens, &u.CachedInputTokens, &u.CacheWriteTokens, &u.OutputTokens, &u.ReasoningTokens)
}

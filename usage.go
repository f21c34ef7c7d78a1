package penstock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// NanoUSD is an amount of money in billionths of a dollar. Floating point never touches money.
type NanoUSD int64

const nanoPerUSD = 1_000_000_000

// String renders dollars with all nine decimals, as the API does.
func (m NanoUSD) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -uint64(m)
	}
	return fmt.Sprintf("%s%d.%09d", sign, n/nanoPerUSD, n%nanoPerUSD)
}

// MarshalText renders money as a decimal string in JSON.
func (m NanoUSD) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *NanoUSD) UnmarshalText(b []byte) error {
	n, err := parseDecimal(string(b), 9)
	if err != nil {
		return err
	}
	*m = NanoUSD(n)
	return nil
}

// Rate is what one token costs, in trillionths of a dollar. Providers quote dollars per million
// tokens with up to six decimals, which is exactly this unit.
type Rate int64

// ParseRate reads a provider's quote in dollars per million tokens, such as "0.15".
func ParseRate(s string) (Rate, error) {
	n, err := parseDecimal(s, 6)
	if err == nil && strings.HasPrefix(s, "-") {
		err = errors.New("it must not be negative")
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a price in dollars per million tokens: %w", clip(s, 40), err)
	}
	return Rate(n), nil
}

// String renders the quote that ParseRate reads, without trailing zeros.
func (r Rate) String() string {
	s := fmt.Sprintf("%d.%06d", int64(r)/1_000_000, int64(r)%1_000_000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// ParseNanoUSD reads an amount of dollars, such as "0.002".
func ParseNanoUSD(s string) (NanoUSD, error) {
	n, err := parseDecimal(s, 9)
	if err == nil && strings.HasPrefix(s, "-") {
		err = errors.New("it must not be negative")
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount of dollars: %w", clip(s, 40), err)
	}
	return NanoUSD(n), nil
}

// Short renders dollars without trailing zeros, as ParseNanoUSD reads them.
func (m NanoUSD) Short() string { return strings.TrimSuffix(strings.TrimRight(m.String(), "0"), ".") }

// parseDecimal reads a decimal number as an integer of 10^-places.
func parseDecimal(s string, places int) (int64, error) {
	unsigned, negative := strings.CutPrefix(s, "-")
	whole, frac, _ := strings.Cut(unsigned, ".")
	if len(frac) > places {
		return 0, fmt.Errorf("at most %d decimals can be kept", places)
	}
	digits := whole + frac + strings.Repeat("0", places-len(frac))
	if whole == "" || strings.TrimLeft(digits, "0123456789") != "" {
		return 0, errors.New(`it must look like "0.15"`)
	}
	if negative {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errors.New("it is too large")
	}
	return n, nil
}

// Usage counts the tokens of an inference by class. InputTokens includes CachedInputTokens, which the
// upstream read from its cache, and CacheWriteTokens, which it wrote there; OutputTokens includes
// ReasoningTokens. Each of these parts is priced apart.
type Usage struct {
	InputTokens       int64 `json:"input_tokens"`
	CachedInputTokens int64 `json:"cached_input_tokens"`
	CacheWriteTokens  int64 `json:"cache_write_tokens,omitzero"`
	OutputTokens      int64 `json:"output_tokens"`
	ReasoningTokens   int64 `json:"reasoning_tokens,omitzero"`
}

// Plus adds two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		CacheWriteTokens:  u.CacheWriteTokens + v.CacheWriteTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
	}
}

// Classes are the counts of a usage with no token in two of them.
type Classes struct {
	Input, CachedInput, CacheWrite, Output, Reasoning int64
}

// Classes takes a usage apart. A part that is larger than the whole counts as all of it, and nothing
// counts below zero: what an upstream tells is not to be trusted.
func (u Usage) Classes() Classes {
	input, output := max(0, u.InputTokens), max(0, u.OutputTokens)
	var c Classes
	c.CachedInput = max(0, min(u.CachedInputTokens, input))
	c.CacheWrite = max(0, min(u.CacheWriteTokens, input-c.CachedInput))
	c.Reasoning = max(0, min(u.ReasoningTokens, output))
	c.Input, c.Output = input-c.CachedInput-c.CacheWrite, output-c.Reasoning
	return c
}

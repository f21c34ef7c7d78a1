package penstock

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// NanoUSD is an amount of money in billionths of a dollar. Floating point never touches money.
type NanoUSD int64

const nanoPerUSD = 1_000_000_000

// MaxCost is the largest charge or reservation of one attempt, half a million dollars. No attempt can cost as much, and
// the sum over all items of a job still fits into its column.
const MaxCost = NanoUSD(1) << 49

// Plus adds two amounts. It saturates instead of overflowing: a sum that is too large must not become a debt.
func (m NanoUSD) Plus(o NanoUSD) NanoUSD { return NanoUSD(saturated(int64(m), int64(o))) }

// saturated adds two numbers, and stops at the largest and the smallest int64.
func saturated(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

// String renders dollars with all nine decimals, as the API does.
func (m NanoUSD) String() string {
	n := uint64(m)
	text := make([]byte, 0, len("-9223372036.854775808")) // on the stack: every answer has its cost in a header
	if m < 0 {
		text, n = append(text, '-'), -n
	}
	text = append(strconv.AppendUint(text, n/nanoPerUSD, 10), '.')
	nanos := strconv.AppendUint(nil, nanoPerUSD+n%nanoPerUSD, 10) // the leading 1 keeps its zeros
	return string(append(text, nanos[1:]...))
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

// Rate is the price of one token, in trillionths of a dollar. Providers quote dollars per million tokens with up to six
// decimals, which is exactly this unit.
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

// Usage counts the tokens of an inference. InputTokens and OutputTokens are all of them; the others are parts, which
// have prices of their own:
//   - of the input, CachedInputTokens, which the upstream read from its cache, CacheWriteTokens, which it wrote there,
//     and AudioInputTokens; of those written, CacheWrite1hTokens, which it keeps for an hour;
//   - of the output, ReasoningTokens and AudioOutputTokens.
//
// A count that is added comes last, here, in UsageNames and in Counts: what is stored relies on their order.
type Usage struct {
	InputTokens        int64 `json:"input_tokens"`
	CachedInputTokens  int64 `json:"cached_input_tokens"`
	CacheWriteTokens   int64 `json:"cache_write_tokens,omitzero"`
	OutputTokens       int64 `json:"output_tokens"`
	ReasoningTokens    int64 `json:"reasoning_tokens,omitzero"`
	CacheWrite1hTokens int64 `json:"cache_write_1h_tokens,omitzero"`
	AudioInputTokens   int64 `json:"audio_input_tokens,omitzero"`
	AudioOutputTokens  int64 `json:"audio_output_tokens,omitzero"`
}

// UsageNames are what the counts of a usage are called in the API, in the database and in reports.
var UsageNames = [...]string{
	"input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
	"cache_write_1h_tokens", "audio_input_tokens", "audio_output_tokens",
}

// Counts are the counts of a usage in the order of UsageNames, for code that treats all of them alike.
func (u *Usage) Counts() [len(UsageNames)]*int64 {
	return [...]*int64{
		&u.InputTokens, &u.CachedInputTokens, &u.CacheWriteTokens, &u.OutputTokens, &u.ReasoningTokens,
		&u.CacheWrite1hTokens, &u.AudioInputTokens, &u.AudioOutputTokens,
	}
}

// MaxTokens bounds each count in the usage that an upstream reports for one call, so that sums do not overflow. No call
// uses as many tokens.
const MaxTokens = 1 << 32

// Plus adds two usages. Each count saturates instead of overflowing.
func (u Usage) Plus(v Usage) Usage {
	return Usage{ // every item is added up several times: a loop over Counts takes five times as long
		InputTokens: saturated(u.InputTokens, v.InputTokens), CachedInputTokens: saturated(u.CachedInputTokens, v.CachedInputTokens),
		CacheWriteTokens: saturated(u.CacheWriteTokens, v.CacheWriteTokens), OutputTokens: saturated(u.OutputTokens, v.OutputTokens),
		ReasoningTokens: saturated(u.ReasoningTokens, v.ReasoningTokens), CacheWrite1hTokens: saturated(u.CacheWrite1hTokens, v.CacheWrite1hTokens),
		AudioInputTokens: saturated(u.AudioInputTokens, v.AudioInputTokens), AudioOutputTokens: saturated(u.AudioOutputTokens, v.AudioOutputTokens),
	}
}

// Most has the larger of each count. Repeated usage reports of one call only grow: a lower count in a later report is
// not a refund.
func (u Usage) Most(v Usage) Usage {
	other := v.Counts()
	for i, n := range u.Counts() {
		*n = max(*n, *other[i])
	}
	return u
}

// Class is a kind of token that has a price of its own.
type Class int

// The classes.
const (
	ClassInput Class = iota
	ClassCachedInput
	ClassCacheWrite
	ClassCacheWrite1h
	ClassAudioInput
	ClassOutput
	ClassReasoning
	ClassAudioOutput
	ClassCount
)

// String is the name of a class in prices and metrics.
func (c Class) String() string {
	return [ClassCount]string{
		"input", "cached_input", "cache_write", "cache_write_1h", "audio_input", "output", "reasoning", "audio_output",
	}[c]
}

// Classes are the tokens of a usage by class, with no token in two of them.
type Classes [ClassCount]int64

// Classes divides a usage into classes. An upstream's report is not trusted: a part that is larger than the whole
// counts as the whole, and no count is below zero. If parts overlap, as cached audio may, a token counts as audio,
// which costs more.
func (u Usage) Classes() Classes {
	part := func(n int64, whole *int64) int64 {
		n = max(0, min(n, *whole))
		*whole -= n
		return n
	}
	var c Classes
	input, output := max(0, u.InputTokens), max(0, u.OutputTokens)
	c[ClassAudioInput] = part(u.AudioInputTokens, &input)
	c[ClassCachedInput] = part(u.CachedInputTokens, &input)
	written := part(u.CacheWriteTokens, &input)
	c[ClassCacheWrite1h] = part(u.CacheWrite1hTokens, &written)
	c[ClassAudioOutput] = part(u.AudioOutputTokens, &output)
	c[ClassReasoning] = part(u.ReasoningTokens, &output)
	c[ClassInput], c[ClassCacheWrite], c[ClassOutput] = input, written, output
	return c
}

// InputTokens estimates the tokens of a body of so many bytes: a token is about four bytes of English, and of JSON.
func InputTokens(bodyBytes int64) int64 { return (bodyBytes + 3) / 4 }

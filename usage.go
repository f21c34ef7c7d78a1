package penstock

import (
	"errors"
	"fmt"
	"math/bits"
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

// Price is what a target charges for each class of token.
type Price struct {
	Input       Rate
	CachedInput Rate
	Output      Rate
}

// Zero reports whether the target is free, or has no price at all.
func (p Price) Zero() bool { return p == Price{} }

// Usage counts the tokens of an inference by class. InputTokens includes CachedInputTokens: the
// cached ones are a part of the input that is priced apart.
type Usage struct {
	InputTokens       int64 `json:"input_tokens"`
	CachedInputTokens int64 `json:"cached_input_tokens"`
	OutputTokens      int64 `json:"output_tokens"`
}

// Plus adds two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
	}
}

// Cost is what the usage costs at a price, rounded up to a whole NanoUSD once, at the end, so that
// many small calls are never given away. It saturates instead of overflowing.
func (p Price) Cost(u Usage) NanoUSD {
	var hi, lo uint64
	add := func(tokens int64, rate Rate) {
		if tokens <= 0 || rate <= 0 {
			return
		}
		h, l := bits.Mul64(uint64(tokens), uint64(rate))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	cached := max(0, min(u.CachedInputTokens, u.InputTokens))
	add(u.InputTokens-cached, p.Input)
	add(cached, p.CachedInput)
	add(u.OutputTokens, p.Output)

	const picoPerNano = 1000
	const most = NanoUSD(1<<63 - 1)
	if hi >= picoPerNano {
		return most
	}
	nano, rest := bits.Div64(hi, lo, picoPerNano)
	if rest > 0 {
		nano++
	}
	if nano > uint64(most) {
		return most
	}
	return NanoUSD(nano)
}

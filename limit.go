package penstock

import (
	"fmt"
	"time"
)

// Limits bound the use of a tenant, of a key, or of a tenant's calls for one model, over all processes. Zero fields
// limit nothing.
type Limits struct {
	RequestsPerMinute     int64 `json:"requests_per_minute,omitzero"`
	InputTokensPerMinute  int64 `json:"input_tokens_per_minute,omitzero"`
	OutputTokensPerMinute int64 `json:"output_tokens_per_minute,omitzero"`
	// DailyTokens is input and output together, from midnight to midnight UTC, jobs included.
	DailyTokens int64 `json:"daily_tokens,omitzero"`
	Concurrency int   `json:"concurrency,omitzero"` // synchronous calls that may run at a time
	// Burst is the part of a limit per minute that may be used at once, above 0 and at most a half; the rest
	// of the minute's worth is spread evenly over it. So no minute sees more than the limit.
	Burst float64 `json:"burst,omitzero"`
	// Wait is the longest that a call waits for the limit.
	Wait LimitWait `json:"wait,omitzero"`
}

// LimitWait is how long a call waits for its turn under a limit before it is refused. The zero value stands for the
// default, a negative one for no wait.
type LimitWait time.Duration

const (
	// DefaultLimitWait is the wait of a limit without a configured wait; MaxLimitWait is the longest wait that can be
	// configured.
	DefaultLimitWait = 2 * time.Second
	MaxLimitWait     = 30 * time.Second
	// NoLimitWait refuses at once.
	NoLimitWait LimitWait = -1
)

// WaitFor is the wait of a duration as people write it: 0 for none.
func WaitFor(d time.Duration) LimitWait {
	if d <= 0 {
		return NoLimitWait
	}
	return LimitWait(d)
}

// Duration is how long the wait is, 0 for none.
func (w LimitWait) Duration() time.Duration {
	switch {
	case w < 0:
		return 0
	case w == 0:
		return DefaultLimitWait
	}
	return time.Duration(w)
}

// MarshalText writes the wait as 2s, or 0s for none.
func (w LimitWait) MarshalText() ([]byte, error) { return []byte(w.Duration().String()), nil }

// UnmarshalText reads what MarshalText writes.
func (w *LimitWait) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 || d > MaxLimitWait {
		return fmt.Errorf("wait must be a time from 0s to %v, such as 500ms", MaxLimitWait)
	}
	*w = WaitFor(d)
	return nil
}

// None says that nothing is limited.
func (l Limits) None() bool {
	l.Burst, l.Wait = 0, 0
	return l == Limits{}
}

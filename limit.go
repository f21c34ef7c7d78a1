package penstock

// Limits bound what a tenant, a key, or a tenant's calls for one model may use, over all processes. Zero
// fields limit nothing.
type Limits struct {
	RequestsPerMinute     int64 `json:"requests_per_minute,omitempty"`
	InputTokensPerMinute  int64 `json:"input_tokens_per_minute,omitempty"`
	OutputTokensPerMinute int64 `json:"output_tokens_per_minute,omitempty"`
	// DailyTokens is input and output together, from midnight to midnight UTC, jobs included.
	DailyTokens int64 `json:"daily_tokens,omitempty"`
	Concurrency int   `json:"concurrency,omitempty"` // synchronous calls that may run at a time
	// Burst is the part of a limit per minute that may be used at once, above 0 and at most a half; the rest
	// of the minute's worth is spread evenly over it. So no minute sees more than the limit.
	Burst float64 `json:"burst,omitempty"`
}

// None says that nothing is limited.
func (l Limits) None() bool {
	l.Burst = 0
	return l == Limits{}
}

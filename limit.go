package penstock

// Limits bound what a tenant, a key, or a tenant's calls for one model may use, over all processes. Zero
// fields limit nothing.
type Limits struct {
	RequestsPerMinute     int64
	InputTokensPerMinute  int64
	OutputTokensPerMinute int64
	// DailyTokens is input and output together, from midnight to midnight UTC, jobs included.
	DailyTokens int64
	Concurrency int // synchronous calls that may run at a time
	// Burst is the part of a limit per minute that may be used at once, above 0 and at most a half; the rest
	// of the minute's worth is spread evenly over it. So no minute sees more than the limit.
	Burst float64
}

// None says that nothing is limited.
func (l Limits) None() bool {
	l.Burst = 0
	return l == Limits{}
}

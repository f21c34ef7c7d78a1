package penstock

import "time"

// Target is one upstream model that inferences can run on. Targets are top-level: two models that
// name the same target share its limits.
type Target struct {
	Name          string
	Provider      string // name of the configured provider that reaches it
	UpstreamModel string // the name that the upstream knows it by, or UpstreamModelAsAsked
	Price         Price
	PriceVersion  string // stamped on every ledger entry that used Price
	Region        string

	// Most calls at a time, and most that may be used per minute, by all processes together. 0 for what
	// the target itself lets us know.
	Concurrency           int
	RequestsPerMinute     int64
	InputTokensPerMinute  int64
	OutputTokensPerMinute int64

	// MaxOutputTokens is the most that the upstream generates for one inference; it bounds the
	// reservation of a call that sets no max_tokens itself.
	MaxOutputTokens int64

	ConnectTimeout    time.Duration
	FirstTokenTimeout time.Duration
	IdleTimeout       time.Duration
	TotalTimeout      time.Duration
}

// UpstreamModelAsAsked is the upstream model of a target that passes on the name the caller asked for.
const UpstreamModelAsAsked = "*"

// Policy says how a model chooses among its targets.
type Policy string

// PolicyOrdered tries the targets in the order they are listed.
const PolicyOrdered Policy = "ordered"

// Policies lists every policy.
var Policies = []Policy{PolicyOrdered}

// Model is the public name that a caller asks for: a policy over targets.
type Model struct {
	Name    string
	Policy  Policy
	Targets []string
}

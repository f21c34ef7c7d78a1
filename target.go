package penstock

import (
	"fmt"
	"slices"
	"time"
)

// Target is one upstream model that inferences can run on. Targets are top-level: two models that
// name the same target share its limits.
type Target struct {
	Name          string
	Provider      string // name of the configured provider that reaches it
	Vendor        string // who runs its servers: calls move to another vendor for lack of a capability only if the model allows it
	UpstreamModel string // the name that the upstream knows it by, or UpstreamModelAsAsked
	Price         Price
	PriceVersion  string        // stamped on every ledger entry that used Price
	PriceChanges  []PriceChange // in the order of their time
	PriceSource   string        // where Price comes from, such as "catalogue 2026-08-08"; "" for the configuration
	Unpriced      bool          // it has no price, not even zero
	Region        string
	// Private means that it can reach internal addresses: bodies may not make it fetch URLs, unless an operator allows
	// it.
	Private bool

	// Limits over all processes together: concurrent calls, and use per minute. 0 for the limit that the target
	// reports.
	Concurrency           int
	RequestsPerMinute     int64
	InputTokensPerMinute  int64
	OutputTokensPerMinute int64
	FreeCachedInput       bool // input that it read from its cache does not count

	// MaxShare is the part of it that the synchronous calls of one tenant may hold while others use it, 0
	// for the default.
	MaxShare float64

	// MaxOutputTokens is the largest number of tokens that the upstream generates for one inference. It bounds the
	// reservation of a call without max_tokens.
	MaxOutputTokens int64

	// OneChoice says that a call to its upstream has one answer: for several choices Penstock makes several calls.
	OneChoice bool
	// OnePrompt says that a completion of its upstream takes one prompt: for several prompts Penstock makes several calls.
	OnePrompt bool

	// ContextTokens is how many tokens of input it takes; 0 when that is not stated.
	ContextTokens int64
	Lacks         Capabilities // what it cannot do
	Quality       float64      // how good its answers are, from 0 to 1, by the operator's judgement
	PromptCache   bool         // calls with the same beginning are cheaper on the same target

	// Surcharges are the features that hard budgets pay for on this target, by name, each with what it can cost.
	Surcharges map[string]Surcharge
	// AddedInputTokens are those that the features of a call add to its input: see Surcharged.
	AddedInputTokens int64

	// Batching are the bounds of combined calls for embeddings.
	Batching Batching

	ConnectTimeout    time.Duration
	FirstTokenTimeout time.Duration
	IdleTimeout       time.Duration
	TotalTimeout      time.Duration

	// DrainTimeout is how long Penstock reads a stream after its caller disconnected, to learn its usage; 0 to close it
	// at once.
	DrainTimeout time.Duration
}

// InputLimit is the most tokens of input that the context takes beside an answer of so many tokens, 0 for an answer without a bound.
// At least half of the context is for the input. It is 0 when the context is not stated.
func (t *Target) InputLimit(output int64) int64 {
	return t.ContextTokens - min(output, t.ContextTokens/2)
}

// InputGoal is how many tokens of input a conversation is shortened to. An answer without a bound gets a quarter of the context, or what
// the target generates at most. It is 0 when the context is not stated.
func (t *Target) InputGoal(output int64) int64 {
	if output > 0 {
		return t.InputLimit(output)
	}
	reserve := t.ContextTokens / 4
	if t.MaxOutputTokens > 0 {
		reserve = min(reserve, t.MaxOutputTokens)
	}
	return t.ContextTokens - reserve
}

// Batching bounds how many small calls one call upstream may answer.
type Batching struct {
	MaxInputs int           // in one call; below 2, every call is sent by itself
	MaxTokens int64         // in one call, by estimate
	Wait      time.Duration // how long a call waits for others
}

// UpstreamModelAsAsked is the upstream model of a target that forwards the requested name.
const UpstreamModelAsAsked = "*"

// Capability is something that not every target can do.
type Capability string

// The capabilities.
const (
	CapabilityTools      Capability = "tools"
	CapabilityVision     Capability = "vision"
	CapabilityJSONSchema Capability = "json_schema"
	CapabilityStreaming  Capability = "streaming"
	CapabilityRerank     Capability = "rerank"
)

// AllCapabilities lists every capability.
var AllCapabilities = []Capability{CapabilityTools, CapabilityVision, CapabilityJSONSchema, CapabilityStreaming, CapabilityRerank}

// Capabilities is a set of capabilities. The zero value is empty.
type Capabilities uint8

// NewCapabilities makes a set. Unknown words are left out.
func NewCapabilities(list ...Capability) Capabilities {
	var set Capabilities
	for i, c := range AllCapabilities {
		if slices.Contains(list, c) {
			set |= 1 << i
		}
	}
	return set
}

// List returns the members of a set, in the order of AllCapabilities.
func (s Capabilities) List() []Capability {
	var list []Capability
	for i, c := range AllCapabilities {
		if s&(1<<i) != 0 {
			list = append(list, c)
		}
	}
	return list
}

// Policy is how a model chooses among its targets.
type Policy string

// The policies.
const (
	PolicyOrdered  Policy = "ordered"  // in the order they are listed
	PolicyWeighted Policy = "weighted" // each by its share
	PolicyScored   Policy = "scored"   // the one with the best score
	PolicyCheapest Policy = "cheapest" // scored, by cost alone
	PolicyFastest  Policy = "fastest"  // scored, by latency alone
)

// Policies lists every policy.
var Policies = []Policy{PolicyOrdered, PolicyWeighted, PolicyScored, PolicyCheapest, PolicyFastest}

// OnIncapable is what happens to a call that a target of its model cannot serve.
type OnIncapable string

// The values of [OnIncapable].
const (
	IncapableSameVendor OnIncapable = "same_vendor" // it moves to other targets of the same vendor
	IncapableSkip       OnIncapable = "skip"        // it moves to any other target
	IncapableRefuse     OnIncapable = "refuse"      // it is refused
)

// AllOnIncapable lists every value of [OnIncapable].
var AllOnIncapable = []OnIncapable{IncapableSameVendor, IncapableSkip, IncapableRefuse}

// OnOverflow is what happens to a conversation that is longer than the context of every target of its model.
type OnOverflow string

// The values of [OnOverflow].
const (
	OverflowReject         OnOverflow = "reject"          // it is refused
	OverflowTruncateOldest OnOverflow = "truncate_oldest" // its oldest turns are dropped
	OverflowTruncateMiddle OnOverflow = "truncate_middle" // turns after its first are dropped
)

// AllOnOverflow lists every value of [OnOverflow].
var AllOnOverflow = []OnOverflow{OverflowReject, OverflowTruncateOldest, OverflowTruncateMiddle}

// Truncates reports whether turns are dropped.
func (o OnOverflow) Truncates() bool {
	return o == OverflowTruncateOldest || o == OverflowTruncateMiddle
}

// Truncation is what was dropped of a conversation that was too long.
type Truncation struct {
	Policy        OnOverflow
	Turns         int64 // that were dropped
	TokensBefore  int64 // of the whole input, by estimate where it is much longer than the context
	TokensAfter   int64 // of the input that was sent, by the tokenizer
	ContextTokens int64 // the context that the input was shortened for
}

// TokensDropped is how many tokens of the input were dropped.
func (t *Truncation) TokensDropped() int64 { return t.TokensBefore - t.TokensAfter }

// String is the truncation as the value of a header.
func (t *Truncation) String() string {
	return fmt.Sprintf("%s; turns=%d; tokens=%d", t.Policy, t.Turns, t.TokensDropped())
}

// Model is a public name for a policy over targets.
type Model struct {
	Name    string
	Policy  Policy
	Targets []string
	Weights map[string]int // of PolicyWeighted, by target
	Score   ScoreWeights   // of PolicyScored and its presets
	// OnIncapable is what happens to a call that the target of its turn cannot serve; "" is IncapableSameVendor.
	OnIncapable OnIncapable
	// OnOverflow is what happens to a conversation that is longer than the context of every target; "" is OverflowReject.
	OnOverflow OnOverflow

	// CacheTTL is how long answers are cached; 0 for no cache.
	CacheTTL time.Duration
	// Definition is a hash of the model, its targets, and their providers.
	Definition string
}

// ScoreWeights is how much each part of a score counts. Only their proportions matter.
type ScoreWeights struct {
	Cost     float64
	Latency  float64
	Quality  float64
	Headroom float64
}

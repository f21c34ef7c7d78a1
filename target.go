package penstock

import (
	"slices"
	"time"
)

// Target is one upstream model that inferences can run on. Targets are top-level: two models that
// name the same target share its limits.
type Target struct {
	Name          string
	Provider      string // name of the configured provider that reaches it
	UpstreamModel string // the name that the upstream knows it by, or UpstreamModelAsAsked
	Price         Price
	PriceVersion  string        // stamped on every ledger entry that used Price
	PriceChanges  []PriceChange // in the order of their time
	Unpriced      bool          // it has no price, not even zero
	Region        string
	// Private says that it runs where it can reach internal addresses: bodies may not make it fetch anything, unless an
	// operator allows it.
	Private bool

	// Most calls at a time, and most that may be used per minute, by all processes together. 0 for what
	// the target itself lets us know.
	Concurrency           int
	RequestsPerMinute     int64
	InputTokensPerMinute  int64
	OutputTokensPerMinute int64
	FreeCachedInput       bool // input that it read from its cache does not count

	// MaxShare is the part of it that the synchronous calls of one tenant may hold while others use it, 0
	// for the default.
	MaxShare float64

	// MaxOutputTokens is the most that the upstream generates for one inference; it bounds the
	// reservation of a call that sets no max_tokens itself.
	MaxOutputTokens int64

	// ContextTokens is how many tokens of input it takes; 0 when that is not stated.
	ContextTokens int64
	Lacks         Capabilities // what it cannot do
	Quality       float64      // how good its answers are, from 0 to 1, by the operator's judgement
	PromptCache   bool         // calls that begin alike are cheaper on the same target

	// Surcharges are the features that hard budgets pay for on this target, by name, each with what it can cost.
	Surcharges map[string]Surcharge
	// AddedInputTokens are those that the features of a call add to its input: see Surcharged.
	AddedInputTokens int64

	// Batching is how calls for embeddings are put together before they are sent to it.
	Batching Batching

	ConnectTimeout    time.Duration
	FirstTokenTimeout time.Duration
	IdleTimeout       time.Duration
	TotalTimeout      time.Duration

	// DrainTimeout is how long a stream is read on whose caller left, to learn what it used; 0 to close it at once.
	DrainTimeout time.Duration
}

// Batching bounds how many small calls one call upstream may answer.
type Batching struct {
	MaxInputs int           // in one call; below 2, every call is sent by itself
	MaxTokens int64         // in one call, by estimate
	Wait      time.Duration // how long a call waits for others
}

// UpstreamModelAsAsked is the upstream model of a target that passes on the name the caller asked for.
const UpstreamModelAsAsked = "*"

// Capability is something that not every target can do.
type Capability string

// The capabilities.
const (
	CapabilityTools      Capability = "tools"
	CapabilityVision     Capability = "vision"
	CapabilityJSONSchema Capability = "json_schema"
	CapabilityStreaming  Capability = "streaming"
)

// AllCapabilities lists every capability.
var AllCapabilities = []Capability{CapabilityTools, CapabilityVision, CapabilityJSONSchema, CapabilityStreaming}

// Capabilities is a set of capabilities. The zero value is empty.
type Capabilities uint8

// NewCapabilities makes a set. Words that are no capability are left out.
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

// Policy says how a model chooses among its targets.
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

// Model is the public name that a caller asks for: a policy over targets.
type Model struct {
	Name    string
	Policy  Policy
	Targets []string
	Weights map[string]int // of PolicyWeighted, by target
	Score   ScoreWeights   // of PolicyScored and its presets

	// CacheTTL is how long answers may be given again to the same tenant; 0 for not at all.
	CacheTTL time.Duration
	// Definition is a hash of all that the model means: itself, its targets, and how they are reached.
	Definition string
}

// ScoreWeights is how much each part of a score counts. Only their proportions matter.
type ScoreWeights struct {
	Cost     float64
	Latency  float64
	Quality  float64
	Headroom float64
}

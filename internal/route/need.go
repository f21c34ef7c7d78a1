package route

import (
	"fmt"
	"slices"
	"strings"

	"penstock"
)

// Needs are the requirements of a call on a target.
type Needs struct {
	Capabilities  penstock.Capabilities
	ContextTokens int64 // an estimate of its input, without images
	// Counted says that ContextTokens was counted. The context then also has to hold the answer, of OutputTokens at most; 0 for an
	// answer without a bound.
	Counted      bool
	OutputTokens int64
	// Member is the member of the call's body that asks for a capability; nil if the body is not known.
	Member func(penstock.Capability) string
}

// member is the member of the body that asks for a capability which a target lacks, "" if none is known.
func (n Needs) member(targets []*penstock.Target) string {
	if n.Member == nil {
		return ""
	}
	for _, t := range targets {
		if missing := n.Capabilities & t.Lacks; missing != 0 {
			return n.Member(missing.List()[0])
		}
	}
	return ""
}

// Lacks returns why a target cannot serve the call, "" when it can.
func (n Needs) Lacks(t *penstock.Target) string {
	if missing := n.Capabilities & t.Lacks; missing != 0 {
		return "lacks " + joined(missing.List())
	}
	if limit := n.limit(t); limit > 0 && n.ContextTokens > limit {
		return fmt.Sprintf("takes %d tokens, not about %d", limit, n.ContextTokens)
	}
	return ""
}

// limit is the most tokens of input that a target takes, 0 if that is not stated.
func (n Needs) limit(t *penstock.Target) int64 {
	if n.Counted {
		return t.InputLimit(n.OutputTokens)
	}
	return t.ContextTokens
}

// Picky says whether any target cannot serve every call. If none, the needs of a call need not be computed.
func Picky(targets []*penstock.Target) bool {
	return slices.ContainsFunc(targets, func(t *penstock.Target) bool { return t.Lacks != 0 || t.ContextTokens > 0 })
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// Serves says whether a target can serve the call of a query.
func (q *Query) Serves(t *penstock.Target) bool {
	return q.Needs.Lacks(t) == "" && q.Unable.Find(t.Name) == ""
}

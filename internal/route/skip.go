package route

import (
	"fmt"
	"slices"
	"strings"

	"penstock"
)

// Skip is a target that cannot serve a call, whatever its health and its capacity.
type Skip struct {
	Target string
	Reason string // as it follows the name
	// Order is the place of the target in its model; -1 for a target that was chosen before it turned out to be unable.
	Order int
}

// Skips are the targets that cannot serve one call, in the order of the model.
type Skips []Skip

func isOrdered(m *penstock.Model) bool { return m.Policy == penstock.PolicyOrdered || m.Policy == "" }

// Restrict limits a query to the targets that its model allows, if some of the model's targets cannot serve the call.
// A model that refuses such calls uses no target after the first of them; one without an order uses none, since it
// might have been the turn of any. Codes: invalid_request (no target is left).
func (s Skips) Restrict(q *Query, names []string) error {
	if len(s) == 0 || !q.Model.RefuseIncapable {
		return nil
	}
	end := s[0].Order
	if !isOrdered(&q.Model) {
		end = 0
	}
	q.Candidates = slices.DeleteFunc(q.Candidates, func(t *penstock.Target) bool { return slices.Index(names, t.Name) >= end })
	if len(q.Candidates) > 0 {
		return nil
	}
	return penstock.Errorf(penstock.CodeInvalidRequest,
		"Target %s of this model %s, and the model does not move such calls to other targets (on_incapable: refuse). Ask for another model, or change the call.",
		s[0].Target, s[0].Reason)
}

// maxSkippedBytes bounds the list of skipped targets.
const maxSkippedBytes = 512

// Before lists the targets that a call would have gone to before the one at a place of its model, had they been able:
// as text for a header. Without an order, those are all that are not able.
func (s Skips) Before(m *penstock.Model, place int) string {
	var list []string
	for _, one := range s {
		if one.Order < place || !isOrdered(m) {
			list = append(list, fmt.Sprintf("%s (%s)", one.Target, one.Reason))
		}
	}
	text := strings.Map(headerRune, strings.Join(list, ", "))
	if len(text) > maxSkippedBytes {
		text = text[:maxSkippedBytes] + "..."
	}
	return text
}

// headerRune keeps what a header may carry: names of fields in a reason may be a caller's.
func headerRune(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

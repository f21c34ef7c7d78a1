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
	// Chosen says that the target was chosen before it turned out to be unable.
	Chosen bool
	Err    error // what the caller can do about it; nil if the reason says all
}

// Skips are the targets that cannot serve one call, in the order of the model.
type Skips []Skip

// Ordered reports whether a model tries its targets in the order of its list.
func Ordered(m *penstock.Model) bool { return m.Policy == penstock.PolicyOrdered || m.Policy == "" }

// Find returns the reason why a target cannot serve the call, "" if none is known.
func (s Skips) Find(target string) string {
	for i := range s {
		if s[i].Target == target {
			return s[i].Reason
		}
	}
	return ""
}

// Restrict limits a query to the targets that its model allows, if some of the model's targets cannot serve the call. Listed are all
// targets of the model, in its order. The result depends on the call and the configuration alone, and not on health, capacity or
// chance: a call that is served now is not refused later. Codes: invalid_request (targets could serve the call, and the model allows none).
func (s Skips) Restrict(q *Query, listed []*penstock.Target) error {
	if len(s) == 0 || q.Model.OnIncapable == penstock.IncapableSkip {
		return nil
	}
	place := func(t *penstock.Target) int {
		return slices.IndexFunc(listed, func(other *penstock.Target) bool { return other.Name == t.Name })
	}
	able := func(t *penstock.Target) bool { return s.Find(t.Name) == "" }
	before := slices.ContainsFunc(q.Candidates, able)
	q.Candidates = slices.DeleteFunc(q.Candidates, func(t *penstock.Target) bool { return !s.allows(q, listed, place(t)) })
	if slices.ContainsFunc(q.Candidates, able) {
		return nil
	}
	if !before {
		return s.cause() // of a call that no target can serve
	}
	return s.refusal(q, listed)
}

// cause is the first error with advice for the caller; nil if no skip has an error.
func (s Skips) cause() error {
	for i := range s {
		if s[i].Err != nil {
			return s[i].Err
		}
	}
	return nil
}

// refusal is the error of a call that other targets could serve.
func (s Skips) refusal(q *Query, listed []*penstock.Target) error {
	where := "to another vendor (on_incapable: same_vendor)"
	if q.Model.OnIncapable == penstock.IncapableRefuse {
		where = "to other targets (on_incapable: refuse)"
	}
	e := penstock.Errorf(penstock.CodeInvalidRequest, "Target %s of this model %s, and the model does not move such calls %s. "+
		"Change the call, ask for another model, or let the operator set on_incapable: skip for this model.", s[0].Target, s[0].Reason, where)
	e.Param = q.Needs.member(slices.DeleteFunc(slices.Clone(listed), func(t *penstock.Target) bool { return t.Name != s[0].Target }))
	if cause := s[0].Err; cause != nil {
		said := penstock.AsError(cause)
		e.Param, e.Message = said.Param, said.Message+" "+e.Message
	}
	return e
}

// allows reports whether the target at a place of the model's list may serve the call.
//
// With refuse and policy ordered, the targets after the first unable target may not; with another policy no target may, since the policy might have chosen the unable one. With
// same_vendor, each vendor that the model lists before the target's own must be able to serve the call: otherwise the call would come
// to this vendor because another one lacks a capability. With policy ordered, the able target of that vendor must also be listed before.
func (s Skips) allows(q *Query, listed []*penstock.Target, place int) bool {
	if place < 0 {
		return false
	}
	if q.Model.OnIncapable == penstock.IncapableRefuse {
		return Ordered(&q.Model) && !slices.ContainsFunc(listed[:place], func(t *penstock.Target) bool { return s.Find(t.Name) != "" })
	}
	earlier := listed
	if Ordered(&q.Model) {
		earlier = listed[:place]
	}
	for _, other := range listed[:place] {
		if other.Vendor == listed[place].Vendor {
			return true // the vendor had its turn here
		}
		served := slices.ContainsFunc(earlier, func(t *penstock.Target) bool { return t.Vendor == other.Vendor && s.Find(t.Name) == "" })
		if !served {
			return false
		}
	}
	return true
}

// AddUnable notes a target to which the call cannot be expressed. It reports false for an error that is not about the call: then
// another target may be tried.
func (s *Skips) AddUnable(target string, err error) bool {
	e := penstock.AsError(err)
	if e.Code != penstock.CodeInvalidRequest {
		return false
	}
	reason := "cannot be asked"
	if e.Param != "" {
		reason = "cannot express " + e.Param
	}
	s.Add(Skip{Target: target, Reason: reason, Err: err})
	return true
}

// Add notes a target that cannot serve the call, unless it is noted already.
func (s *Skips) Add(one Skip) {
	if s.Find(one.Target) == "" {
		*s = append(*s, one)
	}
}

// Chose notes that a target was chosen before it turned out to be unable.
func (s Skips) Chose(target string) {
	for i := range s {
		s[i].Chosen = s[i].Chosen || s[i].Target == target
	}
}

// maxListBytes bounds a list in a header.
const maxListBytes = 512

// Before lists the targets that a call would have gone to before the chosen one of a model's names, had they been able: as text
// for a header, "" for none. Without an order, those are all that are not able.
func (s Skips) Before(m *penstock.Model, names []string, chosen string) string {
	if len(s) == 0 {
		return ""
	}
	place := slices.Index(names, chosen)
	var list []string
	for _, one := range s {
		if one.Chosen || slices.Index(names, one.Target) < place || !Ordered(m) {
			list = append(list, fmt.Sprintf("%s (%s)", one.Target, one.Reason))
		}
	}
	return HeaderText(list)
}

// HeaderText is a list as the value of a header, bounded.
func HeaderText(list []string) string {
	text := strings.Map(headerRune, strings.Join(list, ", "))
	if len(text) > maxListBytes {
		text = text[:maxListBytes] + "..."
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

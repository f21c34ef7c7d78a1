package prompt

import (
	"context"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/prompt/content"
)

// Protection makes moves of a label depend on more than the right to change prompts. It is per tenant and label.
type Protection struct {
	Label    string
	Prompts  []string        // names, or folders that end with "/"; empty for all prompts
	Roles    []penstock.Role // a person needs one of them; a key needs the scope admin
	Approval bool            // somebody in one of these roles, who neither wrote the version nor asked for the move, must approve
	Revision int64           // for conditional changes
	By       string
	At       time.Time
}

// Stamp tells the states of a label's protection apart; the zero Stamp is that of a label without one. A revision alone does not: it
// begins again after a removal.
type Stamp struct {
	Revision int64
	At       time.Time
}

// Stamp is the state of the protection.
func (p Protection) Stamp() Stamp { return Stamp{p.Revision, p.At} }

// MovingRoles are the roles that move labels which are not protected, and that a protection can name.
var MovingRoles = []penstock.Role{penstock.RoleDeveloper, penstock.RoleOperator, penstock.RoleAdmin}

// DefaultRoles are the roles of a protection that names none.
var DefaultRoles = []penstock.Role{penstock.RoleOperator}

// covers reports whether a prompt is protected.
func (p Protection) covers(name string) bool {
	return len(p.Prompts) == 0 || slices.ContainsFunc(p.Prompts, func(path string) bool {
		return path == name || strings.HasSuffix(path, "/") && strings.HasPrefix(name, path)
	})
}

// allow refuses a caller without a role. Codes: scope_missing.
func (p Protection) allow(caller *penstock.Principal) error {
	if caller.Person == nil {
		if caller.May(penstock.ScopeAdmin) {
			return nil
		}
		return penstock.Errorf(penstock.CodeScopeMissing, "The label %s is protected: the key %q lacks the scope %s.", p.Label, caller.Key, penstock.ScopeAdmin)
	}
	if caller.Has(p.Roles...) {
		return nil
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "The label %s is protected: moving it needs one of the roles %s, %s.", p.Label, joinRoles(p.Roles), penstock.RoleAdmin)
}

func joinRoles(roles []penstock.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

// Condition is the state that an object must have for a change to be made.
type Condition struct {
	Revision int64 // 0 for any
	Absent   bool  // it must not exist
}

// ProtectionChange sets or removes a protection.
type ProtectionChange struct {
	Protection
	If    Condition
	Actor penstock.Author
}

// Protections is the storage of protections.
type Protections interface {
	// Protections lists the protections of a tenant, in the order of their labels.
	Protections(ctx context.Context, tenant penstock.TenantID) ([]Protection, error)
	// SetProtection adds or replaces a protection. Codes: conflict.
	SetProtection(ctx context.Context, tenant penstock.TenantID, c ProtectionChange) (Protection, error)
	// RemoveProtection removes a protection. Codes: not_found, conflict.
	RemoveProtection(ctx context.Context, tenant penstock.TenantID, c ProtectionChange) error
}

// Gate decides whether a protected label may name a version: evaluations implement it. It is asked before every move of a
// protected label, and before a request is approved.
type Gate interface {
	// Check returns nil if the label may move. Codes: conflict, with the reason and what to do about it.
	Check(ctx context.Context, q GateQuestion) error
}

// GateQuestion is a move that a gate decides about.
type GateQuestion struct {
	Tenant penstock.TenantID
	Prompt string
	Label  string
	To     int64
	Actor  penstock.Author
}

// rule is the protection of a label, zero if there is none, as it applies to one prompt.
type rule struct {
	Protection
	applies bool
}

// ruleOf finds the protection of a label. A change that the protection allowed carries its stamp: the store refuses the change if the
// protection is another by then.
func (s *Service) ruleOf(ctx context.Context, tenant penstock.TenantID, name, label string) (rule, error) {
	all, err := s.Protections.Protections(ctx, tenant)
	i := slices.IndexFunc(all, func(p Protection) bool { return p.Label == label })
	if err != nil || i < 0 {
		return rule{}, err
	}
	return rule{all[i], all[i].covers(name)}, nil
}

// ListProtections lists the protections of a tenant.
func (s *Service) ListProtections(ctx context.Context, tenant penstock.TenantID) ([]Protection, error) {
	return s.Protections.Protections(ctx, tenant)
}

// mayProtect refuses callers that may not change protections. Codes: scope_missing.
func mayProtect(caller *penstock.Principal) error {
	if caller.Person == nil && caller.May(penstock.ScopeAdmin) || caller.Person != nil && caller.Has(penstock.RoleAdmin) {
		return nil
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "Protections of labels are changed by people with the role %s, and by keys with the scope %s.", penstock.RoleAdmin, penstock.ScopeAdmin)
}

// SetProtection adds or replaces the protection of a label. Codes: scope_missing, invalid_request, conflict.
func (s *Service) SetProtection(ctx context.Context, caller penstock.Principal, p Protection, on Condition) (Protection, error) {
	if err := mayProtect(&caller); err != nil {
		return p, err
	}
	if err := checkMovable(p.Label); err != nil {
		return p, err
	}
	if len(p.Roles) == 0 {
		p.Roles = DefaultRoles
	}
	for _, r := range p.Roles {
		if !slices.Contains(MovingRoles, r) {
			return p, penstock.InvalidParam("roles", "The role %s cannot move labels; the roles that can are %s.", clip(string(r)), joinRoles(MovingRoles))
		}
	}
	if len(p.Prompts) > MaxProtectedPaths {
		return p, penstock.InvalidParam("prompts", "prompts must have at most %d names.", MaxProtectedPaths)
	}
	for _, path := range p.Prompts {
		if err := content.CheckName(strings.TrimSuffix(path, "/")); err != nil {
			return p, penstock.InvalidParam("prompts", "prompts: %s", penstock.AsError(err).Message)
		}
	}
	return s.Protections.SetProtection(ctx, caller.Tenant.ID, ProtectionChange{p, on, caller.Author()})
}

// RemoveProtection removes the protection of a label. Codes: scope_missing, not_found, conflict.
func (s *Service) RemoveProtection(ctx context.Context, caller penstock.Principal, label string, on Condition) error {
	if err := mayProtect(&caller); err != nil {
		return err
	}
	return s.Protections.RemoveProtection(ctx, caller.Tenant.ID, ProtectionChange{Protection{Label: label}, on, caller.Author()})
}

// checkMovable refuses labels that nobody moves. Codes: invalid_request.
func checkMovable(label string) error {
	if label == content.LabelLatest {
		return penstock.InvalidParam("label", "The label latest is automatic: it names the newest version. Use another label.")
	}
	return content.CheckLabel(label)
}

// MoveLabel moves a label, or removes it with version 0. Codes: invalid_request, scope_missing, not_found, gone, conflict.
func (s *Service) MoveLabel(ctx context.Context, caller penstock.Principal, m LabelMove) (Label, error) {
	if err := checkMovable(m.Label); err != nil {
		return Label{}, err
	}
	if err := checkReason("reason", m.Reason); err != nil {
		return Label{}, err
	}
	m.Actor = caller.Author()
	rule, err := s.ruleOf(ctx, caller.Tenant.ID, m.Name, m.Label)
	if err != nil {
		return Label{}, err
	}
	if rule.applies {
		if _, err := s.Prompts.Prompt(ctx, caller.Tenant.ID, m.Name); err != nil {
			return Label{}, err // a stranger learns nothing of the protection
		}
		if err := rule.pass(&caller, m); err != nil {
			return Label{}, err
		}
		if err := s.gate(ctx, &caller, m); err != nil {
			return Label{}, err
		}
	}
	m.Asked = rule.Stamp()
	moved, err := s.Labels.MoveLabel(ctx, caller.Tenant.ID, m)
	if err != nil {
		return moved, err
	}
	return moved, s.changed(ctx, caller.Tenant.ID, m.Name)
}

// pass decides about a move without a request. Codes: scope_missing, conflict.
func (p Protection) pass(caller *penstock.Principal, m LabelMove) error {
	if err := p.allow(caller); err != nil {
		return err
	}
	switch {
	case p.Approval && m.Version == 0:
		return penstock.Errorf(penstock.CodeConflict, "The label %s needs an approval and cannot be removed; remove its protection first.", m.Label)
	case p.Approval:
		return penstock.Errorf(penstock.CodeConflict, "The label %s needs an approval: ask for the move with POST /v1/prompts/%s/labels/%s/requests.", m.Label, m.Name, m.Label)
	}
	return nil
}

// gate asks the gate about a move. The removal of a label needs no evaluation. Codes: conflict.
func (s *Service) gate(ctx context.Context, caller *penstock.Principal, m LabelMove) error {
	if s.Gate == nil || m.Version == 0 {
		return nil
	}
	return s.Gate.Check(ctx, GateQuestion{Tenant: caller.Tenant.ID, Prompt: m.Name, Label: m.Label, To: m.Version, Actor: caller.Author()})
}

// History returns moves of labels, newest first. Codes: not_found.
func (s *Service) History(ctx context.Context, tenant penstock.TenantID, p HistoryPage) ([]Move, error) {
	return s.Labels.History(ctx, tenant, p)
}

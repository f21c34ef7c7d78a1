package penstock

import (
	"slices"
	"time"
)

// PrincipalKind is how a principal authenticated. People who sign in will be a third kind.
type PrincipalKind string

// The kinds of principals.
const (
	PrincipalKey      PrincipalKind = "key"      // an API key of a tenant
	PrincipalOperator PrincipalKind = "operator" // the admin key, or an API key with the scope admin, on the admin listener
)

// PrincipalKinds lists every kind.
var PrincipalKinds = []PrincipalKind{PrincipalKey, PrincipalOperator}

// Role is a set of routes that a principal may use, in addition to those of its scopes.
type Role string

// The roles.
const (
	RoleViewer    Role = "viewer"    // metadata: load, pauses
	RoleDeveloper Role = "developer" // prompts, playground, jobs, datasets
	RoleReviewer  Role = "reviewer"  // the safety queue
	RoleOperator  Role = "operator"  // pauses, limits, the configuration
	RoleAuditor   Role = "auditor"   // audit, usage, budgets
	RoleAdmin     Role = "admin"     // everything, tenants and keys included
)

// Roles lists every role.
var Roles = []Role{RoleViewer, RoleDeveloper, RoleReviewer, RoleOperator, RoleAuditor, RoleAdmin}

// Principal is the actor of a call: an authenticated API key, or an operator. A key belongs to a tenant and carries
// scopes. An operator carries roles, and belongs to a tenant only if its key does.
type Principal struct {
	Kind   PrincipalKind
	Tenant Tenant
	Key    string // the key's name, never its secret; "" for the admin key
	Scopes []Scope
	Roles  []Role
	Limits Limits // of the key, beside those of its tenant
	// CacheTTL is the largest age of a cached answer for this key; 0 for the setting of the model.
	CacheTTL time.Duration
}

// May reports whether the principal has a scope.
func (p *Principal) May(scope Scope) bool { return slices.Contains(p.Scopes, scope) }

// Has reports whether the principal has one of the roles. The role admin includes all others.
func (p *Principal) Has(roles ...Role) bool {
	return slices.ContainsFunc(p.Roles, func(r Role) bool { return r == RoleAdmin || slices.Contains(roles, r) })
}

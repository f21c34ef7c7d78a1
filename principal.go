package penstock

import (
	"slices"
	"time"
)

// PrincipalKind is how a principal authenticated.
type PrincipalKind string

// The kinds of principals.
const (
	PrincipalKey      PrincipalKind = "key"      // an API key of a tenant
	PrincipalOperator PrincipalKind = "operator" // the admin key, or an API key with the scope admin, on the admin listener
	PrincipalPerson   PrincipalKind = "person"   // a person who signed in, with a session
)

// PrincipalKinds lists every kind.
var PrincipalKinds = []PrincipalKind{PrincipalKey, PrincipalOperator, PrincipalPerson}

// Role is a set of routes that a principal may use, in addition to those of its scopes.
type Role string

// The roles.
const (
	RoleViewer    Role = "viewer"    // metadata: jobs, requests, load, pauses, usage
	RoleDeveloper Role = "developer" // prompts, playground, jobs, files, webhooks; may reveal payloads
	RoleReviewer  Role = "reviewer"  // the safety queue; may reveal payloads
	RoleOperator  Role = "operator"  // pauses, limits, the configuration; may cancel and retry
	RoleAuditor   Role = "auditor"   // audit, usage, budgets
	RoleAdmin     Role = "admin"     // everything; tenants, keys, members and sessions included
)

// Roles lists every role.
var Roles = []Role{RoleViewer, RoleDeveloper, RoleReviewer, RoleOperator, RoleAuditor, RoleAdmin}

// Principal is the actor of a call: an authenticated API key, an operator, or a person. A key belongs to a tenant and carries
// scopes. An operator carries roles, and belongs to a tenant only if its key does. A person carries the roles in the
// tenant that the call names, and the roles for all tenants.
type Principal struct {
	Kind   PrincipalKind
	Tenant Tenant // of a person: the tenant that the call names; zero for none
	Key    string // the key's name, never its secret; "" for the admin key. Of a person: [Person.Label].
	Scopes []Scope
	Roles  []Role
	Limits Limits // of the key, beside those of its tenant
	// CacheTTL is the largest age of a cached answer for this key; 0 for the setting of the model.
	CacheTTL time.Duration
	Person   *Person // nil unless a person calls
}

// May reports whether the principal has a scope.
func (p *Principal) May(scope Scope) bool { return slices.Contains(p.Scopes, scope) }

// Has reports whether the principal has one of the roles. The role admin includes all others.
func (p *Principal) Has(roles ...Role) bool { return HasRole(p.Roles, roles...) }

// HasRole reports whether a list of roles has one of the wanted roles. The role admin includes all others.
func HasRole(have []Role, wanted ...Role) bool {
	return slices.ContainsFunc(have, func(r Role) bool { return r == RoleAdmin || slices.Contains(wanted, r) })
}

// Actor is the name of the principal in the audit: the name of a key, or the name, e-mail and session of a person.
func (p *Principal) Actor() string {
	if p.Person != nil {
		return p.Person.Actor()
	}
	return p.Key
}

// Author is a principal as the author of objects. The id tells authors apart; the name is for people.
type Author struct {
	ID    string `json:"id"` // of a person: per_…; of a key: key:NAME
	Name  string `json:"name"`
	Audit string `json:"-"` // as the audit names it
}

// Author is the principal as the author of objects.
func (p *Principal) Author() Author {
	if p.Person != nil {
		return Author{ID: ViewPerson.Format(p.Person.ID), Name: p.Person.Label(), Audit: p.Actor()}
	}
	return Author{ID: "key:" + p.Key, Name: p.Key, Audit: p.Actor()}
}

// Person is a person who signed in. It is immutable: the calls of a session share it.
type Person struct {
	ID      ID
	Name    string
	Email   string // "" if the issuer gave none, or one that it did not verify
	Session ID
	// Everywhere are the roles for all tenants, and In those for single tenants. Neither includes the other.
	Everywhere []Role
	In         map[TenantID][]Role
}

// RolesIn returns the roles in a tenant, those for all tenants included.
func (p *Person) RolesIn(tenant TenantID) []Role {
	own := p.In[tenant]
	if len(own) == 0 {
		return p.Everywhere
	}
	all := slices.Clone(p.Everywhere)
	for _, r := range own {
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// Label names the person where the name of a key stands, in jobs, requests and usage. No key can have this name: it has a
// character that the names of keys lack.
func (p *Person) Label() string {
	if p.Email != "" {
		return p.Email
	}
	return "person:" + p.Name
}

// Actor is the name of the person in the audit.
func (p *Person) Actor() string {
	who := p.Name
	if p.Email != "" && p.Email != p.Name {
		who += " <" + p.Email + ">"
	}
	return who + " (session " + ViewSession.Format(p.Session) + ")"
}

package rest

import (
	"context"
	"slices"
	"strings"

	"penstock"
)

// HeaderTenant is the header by which a person names the tenant of a call. For keys it has no effect.
const HeaderTenant = "X-Penstock-Tenant"

// The roles of rows that name none for people.
var (
	// Readers may read metadata.
	Readers = []penstock.Role{penstock.RoleViewer, penstock.RoleDeveloper, penstock.RoleReviewer, penstock.RoleOperator, penstock.RoleAuditor}
	// developers may change the work of a tenant.
	developers = []penstock.Role{penstock.RoleDeveloper}
	// Revealers may read payloads.
	Revealers = []penstock.Role{penstock.RoleDeveloper, penstock.RoleReviewer}
)

// Payload says whether the answers of a route show payloads: inputs, results, bodies of requests, the content of files.
// People may reveal payloads in some roles only, and the audit records each time.
type Payload int

// The values of Payload.
const (
	PayloadNone   Payload = iota // the answers show none
	PayloadAlways                // the answers show payloads
	PayloadAsked                 // the answers show payloads to keys, and to people who send reveal=true: see [Call.Shows]
)

// RevealParam is the parameter of routes with [PayloadAsked].
var RevealParam = Param{Name: "reveal", In: "query", About: "true: show payloads to a person who signed in, in a role that may reveal them; the audit records it. For keys it has no effect."}

// Reveal is a person's reading of payloads, for the audit.
type Reveal struct {
	Actor   string
	Tenant  penstock.TenantID
	Subject string // the object, as callers see it
	Route   string // method and path of the row
}

// Revealing records that a person reads payloads, before the payloads are read.
type Revealing interface {
	Reveal(ctx context.Context, r Reveal) error
}

// ForPeople returns the roles of which a person needs one; nil for every person. Rows of the admin API have one list for
// operators and people. Rows with a scope have a list for people, or else the roles that follow from method and payload.
func (rt *Route) ForPeople() []penstock.Role {
	switch {
	case rt.Open || rt.Scope == "" && len(rt.Roles) == 0:
		return nil
	case len(rt.Roles) > 0:
		return rt.Roles
	case len(rt.People) > 0:
		return rt.People
	case rt.Payload == PayloadAlways:
		return Revealers
	case rt.changes():
		return developers
	}
	return Readers
}

// authorizePerson reports whether a person may make the call, and records a reveal. Codes: scope_missing,
// invalid_request, and those of Revealing.
func (c *Call) authorizePerson() error {
	rt, p := c.route, &c.Principal
	wanted := rt.ForPeople()
	have, where := c.rolesHere()
	if wanted != nil && !penstock.HasRole(have, wanted...) {
		return roleMissing(wanted, have, where)
	}
	if rt.Scope != "" && p.Tenant.ID == "" {
		return penstock.InvalidParam(strings.ToLower(HeaderTenant), "Name the tenant of this call in the header x-penstock-tenant; GET /v1/me lists your tenants.")
	}
	if rt.Payload == PayloadNone || rt.Payload == PayloadAsked && !c.asksToReveal() {
		return nil
	}
	if !penstock.HasRole(have, Revealers...) {
		return roleMissing(Revealers, have, where)
	}
	c.reveals = true
	if c.server.Reveals == nil {
		return nil
	}
	return c.server.Reveals.Reveal(c.R.Context(), Reveal{Actor: p.Actor(), Tenant: p.Tenant.ID, Subject: c.subject(), Route: rt.Method + " " + rt.Path})
}

// rolesHere returns the roles that count for the call, and where the person has them. Rows of the public API need them in
// the tenant of the call. Rows of the admin API need them for all tenants, unless the call is about one tenant.
func (c *Call) rolesHere() (have []penstock.Role, where string) {
	if c.route.Scope != "" || len(c.route.Roles) == 0 {
		return c.Principal.Roles, "in the tenant " + string(c.Principal.Tenant.ID)
	}
	if name := c.route.TenantParam; name != "" {
		if tenant := penstock.TenantID(c.R.URL.Query().Get(name)); tenant != "" {
			return c.Principal.Person.RolesIn(tenant), "in the tenant " + Clip(string(tenant))
		}
	}
	return c.Principal.Person.Everywhere, "for all tenants"
}

func roleMissing(wanted, have []penstock.Role, where string) error {
	if !slices.Contains(wanted, penstock.RoleAdmin) {
		wanted = slices.Concat(wanted, []penstock.Role{penstock.RoleAdmin})
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "This needs one of the roles %s %s; you have %s. Ask an administrator for the role.", join(wanted), where, join(have))
}

// asksToReveal reports whether the call asks for payloads.
func (c *Call) asksToReveal() bool { return c.R.URL.Query().Get(RevealParam.Name) == "true" }

// Shows reports whether the answer may show payloads: always to keys, and to people who asked and may. Handlers of rows with
// [PayloadAsked] leave payloads out otherwise.
func (c *Call) Shows() bool { return c.Principal.Kind != penstock.PrincipalPerson || c.reveals }

// maxSubject bounds the name of an object in the audit, because a caller chose it.
const maxSubject = 128

// subject names the object of the call: the id in its path, or else the path.
func (c *Call) subject() string {
	subject := c.R.URL.Path
	for _, name := range []string{"item", "id"} {
		if id := c.R.PathValue(name); id != "" {
			subject = id
			break
		}
	}
	return subject[:min(len(subject), maxSubject)]
}

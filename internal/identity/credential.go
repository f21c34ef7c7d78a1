package identity

import (
	"net/http"
	"strings"

	"penstock"
	"penstock/internal/rest"
)

var _ rest.Credential = (*Service)(nil)

// Carries reports whether a call is the call of a person: it has the cookie of a session, and no key.
func (s *Service) Carries(r *http.Request, bearer string) bool {
	return bearer == "" && s.tokenOf(r) != ""
}

// Principal implements rest.Credential: it finds the person of a call, and the tenant that the call names. A call that also
// presents a key is the call of the key. Codes: invalid_key, rate_limited, overloaded; scope_missing if another site made
// the call; not_found for a tenant in which the person has no role.
func (s *Service) Principal(r *http.Request, bearer string) (p penstock.Principal, present bool, err error) {
	if bearer != "" {
		return p, false, nil
	}
	token := s.tokenOf(r)
	if token == "" {
		return p, false, nil
	}
	e, err := s.lookUp(r.Context(), token, r.RemoteAddr)
	if err != nil {
		return p, true, err
	}
	if err := s.checkCall(r, token); err != nil {
		return p, true, err
	}
	p, err = s.principal(e, penstock.TenantID(r.Header.Get(rest.HeaderTenant)))
	if err == nil {
		s.note(e)
	}
	return p, true, err
}

// principal returns the person of a session in a tenant; "" for no tenant. Codes: not_found.
func (s *Service) principal(e *entry, tenant penstock.TenantID) (penstock.Principal, error) {
	p := penstock.Principal{Kind: penstock.PrincipalPerson, Key: e.person.Label(), Person: e.person, Roles: e.person.Everywhere}
	if tenant == "" {
		return p, nil
	}
	roles := e.person.RolesIn(tenant)
	known, ok := s.Tenants.Tenant(tenant)
	if len(roles) == 0 || !ok { // the same answer for both: a tenant of others must not be found by trying names
		return penstock.Principal{}, &penstock.Error{Code: penstock.CodeNotFound, Param: strings.ToLower(rest.HeaderTenant), Message: "There is no tenant of this name that you have a role in; GET /v1/me lists your tenants."}
	}
	p.Tenant, p.Roles = known, roles
	return p, nil
}

// Me is a person with a session, as GET /v1/me shows them.
type Me struct {
	Session
	CSRF    string
	Tenants []TenantRoles
	// More is whether there are more tenants than are listed.
	More bool
}

// TenantRoles are the roles in a tenant.
type TenantRoles struct {
	ID    penstock.TenantID
	Roles []penstock.Role
}

// maxTenants is how many tenants Me lists.
const maxTenants = 1000

// Me returns the person of a call, after Principal has accepted it. Codes: invalid_key, overloaded.
func (s *Service) Me(r *http.Request) (Me, error) {
	token := s.tokenOf(r)
	e, err := s.lookUp(r.Context(), token, r.RemoteAddr)
	if err != nil {
		return Me{}, err
	}
	me := Me{Session: e.Session, CSRF: csrfOf(token)}
	for _, id := range s.Tenants.TenantIDs() {
		roles := e.person.RolesIn(id)
		if len(roles) == 0 {
			continue
		}
		if len(me.Tenants) == maxTenants {
			me.More = true
			break
		}
		me.Tenants = append(me.Tenants, TenantRoles{id, roles})
	}
	return me, nil
}

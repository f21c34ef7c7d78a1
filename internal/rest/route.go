package rest

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"penstock"
)

// Route is a row of the table. It describes a route completely.
type Route struct {
	Method  string // "" for any method
	Path    string
	Scope   penstock.Scope  // that a key needs; "" for any key
	Roles   []penstock.Role // an operator or a person needs one of them; admin includes all. Not with Scope.
	People  []penstock.Role // with Scope: a person needs one of them; when empty, see [Route.ForPeople]
	Payload Payload         // whether the answers show payloads
	// TenantParam is the query parameter that names a tenant, on a row with Roles: a person needs the role in that tenant only.
	TenantParam string
	Summary     string
	Params      []Param
	Body        any  // a zero value of the body's type, nil for no body
	Example     any  // of the body, nil for none
	Form        bool // Body is sent as a form
	NoBody      bool // Body may be left out
	Waits       bool // a call may wait because of its caller's limits, and the answer has the time that it waited
	Answers     []Answer
	Audit       Audit
	// Deprecated describes the deprecation of the route; nil for a route that stays.
	Deprecated *Deprecated

	Open bool // needs no key
	// Without reports whether a call needs no key, for example because it came over loopback; nil for never.
	Without func(*Call) bool
	// AnyQuery ignores unknown query parameters, because programs between Penstock and its callers may add some to
	// probes and links.
	AnyQuery bool
	Words    *Wording                     // the format of errors; nil for the usual format
	WordsFor func(*http.Request) *Wording // the same if it depends on the call
	Hidden   bool                         // not in the OpenAPI document
	Serve    func(*Call) error
}

// Param is a parameter in the path, the query or a header.
type Param struct {
	Name, In, About string
	Required        bool
	Type            reflect.Type // if the parameter has another type than on other routes
}

// Answer is a successful answer.
type Answer struct {
	Status int
	About  string
	Type   string // media type, application/json when empty
	Body   any    // a zero value of the answer's type, nil if the answer is not JSON of Penstock
	// Example is an answer as a caller would see it, nil for none.
	Example any
}

// Audit is the action that the audit records for a route that changes something, or the reason why it records none.
type Audit struct {
	Action string // the name in the audit, such as tenant.create
	None   string // why the audit records nothing
}

// The media types of bodies and answers.
const (
	TypeJSON  = "application/json"
	TypeJSONL = "application/x-ndjson"
	TypeSSE   = "text/event-stream"
	TypeBytes = "application/octet-stream"
	TypeForm  = "multipart/form-data"
	TypeText  = "text/plain"
)

// changes reports whether the route changes something.
func (rt *Route) changes() bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, rt.Method)
}

// check refuses an incomplete row.
func (rt *Route) check() error {
	name := rt.Method + " " + rt.Path
	said := rt.Audit.Action != "" || rt.Audit.None != ""
	switch {
	case rt.Serve == nil:
		return fmt.Errorf("%s has no handler", name)
	case rt.changes() && !said:
		return fmt.Errorf("%s may change something: its row must name the action that the audit records, or give the reason why the audit records none", name)
	case !rt.changes() && said || rt.Audit.Action != "" && rt.Audit.None != "":
		return fmt.Errorf("%s: a row names an action of the audit only if its route changes something, and then gives no reason against it", name)
	case rt.Scope != "" && len(rt.Roles) > 0 || rt.Open && (rt.Scope != "" || len(rt.Roles) > 0):
		return fmt.Errorf("%s: a route must be open, need a scope, or need a role", name)
	case len(rt.People) > 0 && rt.Scope == "":
		return fmt.Errorf("%s: a row lists roles for people only beside a scope", name)
	case rt.TenantParam != "" && (len(rt.Roles) == 0 || rt.changes()):
		return fmt.Errorf("%s: a row names a tenant parameter only if it reads and needs a role", name)
	case (rt.Payload == PayloadAsked) != slices.ContainsFunc(rt.Params, func(p Param) bool { return p.Name == RevealParam.Name }):
		return fmt.Errorf("%s: a row that shows payloads when asked has the parameter %s, and no other row has it", name, RevealParam.Name)
	}
	return nil
}

// Authorize reports whether a key or an operator may use the route. Codes: scope_missing.
func (rt *Route) Authorize(p *penstock.Principal) error {
	switch {
	case rt.Open:
		return nil
	case len(rt.Roles) > 0:
		return authorizeRole(rt.Roles, p)
	case rt.Scope == "" || p.May(rt.Scope):
		return nil
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "The key %q lacks the scope %s; it has %s.", p.Key, rt.Scope, join(p.Scopes))
}

func authorizeRole(roles []penstock.Role, p *penstock.Principal) error {
	switch {
	case p.Has(roles...):
		return nil
	case p.Kind == penstock.PrincipalKey:
		return penstock.Errorf(penstock.CodeScopeMissing, "The key %q lacks the scope %s; it has %s.", p.Key, penstock.ScopeAdmin, join(p.Scopes))
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "This endpoint needs the role %s or %s; you have %s.", join(roles), penstock.RoleAdmin, join(p.Roles))
}

func join[T ~string](all []T) string {
	if len(all) == 0 {
		return "none"
	}
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = string(one)
	}
	return strings.Join(words, ", ")
}

// PresentedKey returns the API key of a call, "" if there is none.
func PresentedKey(r *http.Request) string {
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return r.Header.Get("x-api-key")
}

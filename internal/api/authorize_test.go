package api

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/rest"
)

// principals are one of each kind with each single scope and role, and one with none.
func principals() map[string]penstock.Principal {
	all := map[string]penstock.Principal{}
	for _, kind := range penstock.PrincipalKinds {
		all[string(kind)] = penstock.Principal{Kind: kind}
		for _, scope := range penstock.AllScopes {
			all[string(kind)+" with "+string(scope)] = penstock.Principal{Kind: kind, Key: "k", Scopes: []penstock.Scope{scope}}
		}
		for _, role := range penstock.Roles {
			all[string(kind)+" as "+string(role)] = penstock.Principal{Kind: kind, Key: "k", Roles: []penstock.Role{role}}
		}
	}
	return all
}

// TestWhoMayCallWhat walks every route of both listeners with every kind of principal, scope and role. The golden file is the
// table for a reviewer to read: a change that opens a route to more principals changes it.
func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, surface := range surfaces() {
		for i := range surface.Routes {
			rt := &surface.Routes[i]
			fmt.Fprintf(&b, "%s %s:%s\n", rt.Method, rt.Path, admitted(t, rt))
		}
	}
	path := filepath.Join("testdata", "access.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("who may call what has changed; run with -update and review (-want +got):\n%s", diff)
	}
}

// admitted lists who may call a route, by the scopes and roles that are enough by themselves.
func admitted(t *testing.T, rt *rest.Route) string {
	t.Helper()
	if rt.Open {
		return " any caller"
	}
	all, out := principals(), ""
	if p := all["key"]; rt.Authorize(&p) == nil {
		out += " any key"
	} else if penstock.ErrorCode(rt.Authorize(&p)) != penstock.CodeScopeMissing {
		t.Errorf("%s %s refuses with %v", rt.Method, rt.Path, rt.Authorize(&p))
	}
	for _, scope := range penstock.AllScopes {
		p := all["key with "+string(scope)]
		if may := rt.Authorize(&p) == nil; may && rt.Scope != "" {
			out += " scope=" + string(scope)
		} else if may && len(rt.Roles) > 0 {
			t.Errorf("%s %s needs a role, and takes a key with %s", rt.Method, rt.Path, scope)
		}
	}
	for _, role := range penstock.Roles {
		p := all["operator as "+string(role)]
		if may := rt.Authorize(&p) == nil; may && len(rt.Roles) > 0 {
			out += " role=" + string(role)
		} else if may && rt.Scope != "" {
			t.Errorf("%s %s needs a scope, and takes an operator as %s", rt.Method, rt.Path, role)
		}
	}
	if rt.Without != nil {
		out += " (or without a key)"
	}
	return out + "; people:" + rolesOfPeople(rt)
}

// rolesOfPeople lists the roles by which people may call a route.
func rolesOfPeople(rt *rest.Route) string {
	wanted := rt.ForPeople()
	if wanted == nil {
		return " all"
	}
	out := ""
	for _, role := range penstock.Roles {
		if penstock.HasRole([]penstock.Role{role}, wanted...) {
			out += " " + string(role)
		}
	}
	switch rt.Payload {
	case rest.PayloadAlways:
		out += " (reveals payloads)"
	case rest.PayloadAsked:
		out += " (reveals payloads with reveal=true)"
	}
	return out
}

// TestRolesPage compares docs/reference/roles.md with the tables.
func TestRolesPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(rolesHead)
	for _, surface := range surfaces() {
		for i := range surface.Routes {
			if rt := &surface.Routes[i]; !rt.Hidden && !rt.Open {
				b.WriteString(rolesRow(rt))
			}
		}
	}
	const page = "../../docs/reference/roles.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is not that of the tables; run with -update (-want +got):\n%s", page, diff)
	}
}

const rolesHead = `# Roles

Generated from the route tables; do not edit.

People reach these routes on ` + "`listen`" + `, with a session. Routes of the public API need the role in the tenant of the call. Routes below ` + "`/admin/v1`" + ` need the role for all tenants; with *tenant*, a role in the tenant that the call names is enough.
The column *key* has the scope that a key needs on ` + "`listen`" + `; a dash means that no key reaches the route there. *Reveals* means that the answer shows payloads, and that the audit records it; *on request* means only with ` + "`reveal=true`" + `, for developers, reviewers and admins.

| route | key | viewer | developer | reviewer | operator | auditor | admin | payloads |
|---|---|---|---|---|---|---|---|---|
`

// rolesRow is the row of a route.
func rolesRow(rt *rest.Route) string {
	key := string(rt.Scope)
	switch {
	case len(rt.Roles) > 0:
		key = "–"
	case key == "":
		key = "any"
	}
	row := "| " + rt.Method + " " + rt.Path
	if rt.TenantParam != "" {
		row += " (*tenant*)"
	}
	row += " | " + key + " |"
	for _, role := range penstock.Roles {
		mark := " "
		if wanted := rt.ForPeople(); wanted == nil || penstock.HasRole([]penstock.Role{role}, wanted...) {
			mark = " ✓ "
		}
		row += mark + "|"
	}
	return row + map[rest.Payload]string{rest.PayloadNone: " |", rest.PayloadAlways: " reveals |", rest.PayloadAsked: " on request |"}[rt.Payload] + "\n"
}

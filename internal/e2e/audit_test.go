package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"penstock/internal/admin"
	"penstock/internal/identity"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// auditedElsewhere are the changes whose entries other tests look for.
var auditedElsewhere = map[string]string{
	store.ActionReload:           "TestReloadIsAudited",
	identity.ActionRevokeSession: "identitysql.TestSessions",
}

// TestEveryAdminChangeIsAudited makes every change that the table of the admin API has, and finds the action that its row
// names in the audit. A dry run of the same change leaves nothing there.
func TestEveryAdminChangeIsAudited(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	at.makeTenant(t, "base")
	key := at.makeKey(t, "base", "first")
	var member struct{ ID string }
	if a := at.Do(post("/admin/v1/members", `{"email":"ada@example.com","role":"viewer","tenant":"base"}`)); json.Unmarshal([]byte(a.Body), &member) != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	calls := map[string]Call{
		"POST /admin/v1/tenants":                     post("/admin/v1/tenants", `{"id":"audited"}`),
		"PATCH /admin/v1/tenants/{tenant}":           {Method: "PATCH", Path: "/admin/v1/tenants/audited", Body: `{"weight":3}`},
		"POST /admin/v1/keys":                        post("/admin/v1/keys", `{"tenant":"audited","name":"second"}`),
		"PATCH /admin/v1/keys/{key}":                 {Method: "PATCH", Path: "/admin/v1/keys/" + key.ID, Body: `{"limits":{"requests_per_minute":600}}`},
		"POST /admin/v1/keys/{key}/rotate":           post("/admin/v1/keys/"+key.ID+"/rotate", ""),
		"DELETE /admin/v1/keys/{key}":                {Method: "DELETE", Path: "/admin/v1/keys/" + key.ID},
		"PUT /admin/v1/controls/{kind}/{name...}":    {Method: "PUT", Path: "/admin/v1/controls/tenant/base", Body: `{"state":"paused"}`},
		"DELETE /admin/v1/controls/{kind}/{name...}": {Method: "DELETE", Path: "/admin/v1/controls/tenant/base"},
		"DELETE /admin/v1/tenants/{tenant}":          {Method: "DELETE", Path: "/admin/v1/tenants/audited"},
		"POST /admin/v1/members":                     post("/admin/v1/members", `{"email":"new@example.com","role":"viewer","tenant":"audited"}`),
		"PATCH /admin/v1/members/{member}":           {Method: "PATCH", Path: "/admin/v1/members/" + member.ID, Body: `{"role":"auditor"}`},
		"DELETE /admin/v1/members/{member}":          {Method: "DELETE", Path: "/admin/v1/members/" + member.ID},
	}
	order := []string{"POST /admin/v1/tenants", "PATCH /admin/v1/tenants/{tenant}", "POST /admin/v1/keys", "PATCH /admin/v1/keys/{key}", "POST /admin/v1/keys/{key}/rotate",
		"DELETE /admin/v1/keys/{key}", "PUT /admin/v1/controls/{kind}/{name...}", "DELETE /admin/v1/controls/{kind}/{name...}",
		"POST /admin/v1/members", "PATCH /admin/v1/members/{member}", "DELETE /admin/v1/members/{member}", "DELETE /admin/v1/tenants/{tenant}"}
	rows := map[string]rest.Route{}
	for _, rt := range admin.Surface().Routes {
		if rt.Audit.Action == "" || auditedElsewhere[rt.Audit.Action] != "" {
			continue
		}
		name := rt.Method + " " + rt.Path
		if rows[name] = rt; calls[name].Path == "" {
			t.Errorf("%s is not tried: add a call", name)
		}
	}
	for _, name := range order {
		before := entries(t, at)
		dry := calls[name]
		dry.Path += "?dry_run=true"
		if a := at.Do(dry); a.Status != http.StatusOK || entries(t, at) != before {
			t.Errorf("a dry run of %s: %d %s", name, a.Status, a.Body)
		}
		if a := at.Do(calls[name]); a.Status/100 != 2 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		action := `"action":"` + rows[name].Audit.Action + `"`
		if after := entries(t, at); strings.Count(after, action) != strings.Count(before, action)+1 {
			t.Errorf("%s left no entry %s: %s", name, action, after)
		}
	}
}

// entries are the audits of the tenants and of operators together.
func entries(t *testing.T, at operators) (all string) {
	t.Helper()
	for _, tenant := range []string{"audited", "base", "-"} {
		a := at.Do(get("/admin/v1/audit?limit=100&tenant=" + tenant))
		var page struct{ Data []json.RawMessage }
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		all += a.Body
	}
	return all
}

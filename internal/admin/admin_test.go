package admin

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// TestAdminRoutesAreDocumented holds that the page for operators names every call for tenants and keys.
func TestAdminRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/manage-tenants-and-keys.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, rt := range routes {
		if !strings.HasPrefix(rt.Path, "/admin/v1/tenants") && !strings.HasPrefix(rt.Path, "/admin/v1/keys") {
			continue
		}
		n++
		if !strings.Contains(string(page), "| `"+rt.Method+" "+rt.Path+"` |") {
			t.Errorf("docs/how-to/manage-tenants-and-keys.md does not name %s %s", rt.Method, rt.Path)
		}
	}
	if named := strings.Count(string(page), "/admin/v1/") - strings.Count(string(page), "/admin/v1/audit"); named != n {
		t.Errorf("docs/how-to/manage-tenants-and-keys.md names %d calls, there are %d", named, n)
	}
}

// TestCondition reads who makes a change and on what condition.
func TestCondition(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query, match, key string
		want              store.Condition
		bad               string
	}{
		{want: store.Condition{Actor: "admin@192.0.2.1"}},
		{query: "actor=ada&dry_run=true", match: `"v12"`, want: store.Condition{Actor: "ada", DryRun: true, IfVersion: 12}},
		{query: "dry_run=false", match: "*", want: store.Condition{Actor: "admin@192.0.2.1"}},
		{query: "actor=ada", key: "ops/deploy", want: store.Condition{Actor: "ada (key ops/deploy)"}},
		{key: "ops/deploy", want: store.Condition{Actor: "(key ops/deploy)"}},
		{query: "dry_run=perhaps", bad: "dry_run"},
		{query: "actor=" + strings.Repeat("x", maxActorBytes+1), bad: "actor"},
		{match: "12", bad: "If-Match"}, {match: `"v0"`, bad: "If-Match"}, {match: `"v-1"`, bad: "If-Match"}, {match: `W/"v12"`, bad: "If-Match"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/?"+tt.query, nil)
		r.RemoteAddr = "192.0.2.1:4711"
		if tt.match != "" {
			r.Header.Set("If-Match", tt.match)
		}
		c := &call{Call: rest.Call{R: r}}
		if tenant, key, ok := strings.Cut(tt.key, "/"); ok {
			c.Principal.Tenant.ID, c.Principal.Key = penstock.TenantID(tenant), key
		}
		got, err := c.condition()
		if tt.bad != "" {
			if err == nil || penstock.AsError(err).Param != tt.bad {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%+v: got %+v, %v", tt, got, err)
		}
	}
}

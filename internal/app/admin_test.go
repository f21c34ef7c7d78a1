package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// TestAdminRoutesAreDocumented holds that the page for operators tells of every call.
func TestAdminRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/manage-tenants-and-keys.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	see := func(pattern string, _ http.HandlerFunc, _ ...string) {
		n++
		if !strings.Contains(string(page), "| `"+pattern+"` |") {
			t.Errorf("docs/how-to/manage-tenants-and-keys.md does not tell of %s", pattern)
		}
	}
	a := new(app)
	a.tenantRoutes(see)
	a.keyRoutes(see)
	if told := strings.Count(string(page), "/admin/v1/") - strings.Count(string(page), "/admin/v1/audit"); told != n {
		t.Errorf("docs/how-to/manage-tenants-and-keys.md tells of %d calls, there are %d", told, n)
	}
}

// TestAdminKeyIsDrawnOnce lets processes that share a directory draw at the same time.
func TestAdminKeyIsDrawnOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), AdminKeyFile)
	secrets, drawn := make([]string, 16), make([]bool, 16)
	var all sync.WaitGroup
	for n := range secrets {
		all.Go(func() {
			var err error
			if secrets[n], drawn[n], err = keepAdminKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	draws := 0
	for n := range secrets {
		if secrets[n] != secrets[0] || secrets[n] == "" {
			t.Errorf("process %d has another key", n)
		}
		if drawn[n] {
			draws++
		}
	}
	if _, ok := config.Digest(secrets[0]); !ok || draws != 1 {
		t.Errorf("%d keys were drawn", draws)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v", len(entries), err)
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
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), operatorKey{}, operator{tt.key}), http.MethodPatch, "/?"+tt.query, nil)
		r.RemoteAddr = "192.0.2.1:4711"
		if tt.match != "" {
			r.Header.Set("If-Match", tt.match)
		}
		got, err := condition(r)
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

// TestAdminKeyIsShownOnce holds that the greeting shows a key that was drawn, and no other.
func TestAdminKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	var first, second strings.Builder
	greet(&first, greeting{key: "psk_dev", adminKey: "psk_admin", data: "data"})
	greet(&second, greeting{key: "psk_dev", data: "data"})
	if !strings.Contains(first.String(), "PENSTOCK_ADMIN_KEY=psk_admin") || strings.Contains(second.String(), "PENSTOCK_ADMIN_KEY") {
		t.Errorf("%s\n%s", &first, &second)
	}
}

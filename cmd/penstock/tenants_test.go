package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The verbs against a real server, and that a key made by them works at once and no longer than it should.
func TestTenantsAndKeys(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	d.env["USER"] = "ada"
	d.serves(write(t, "penstock.yaml", strings.Replace(goodYAML, "http://127.0.0.1:1", upstream(t), 1)))

	if got := d.ok("tenants", "create", "search", "--dry-run"); !strings.HasPrefix(got, "Dry run") {
		t.Errorf("dry run: %q", got)
	}
	if got := d.run("tenants", "get", "search"); got.code != exitError || !strings.Contains(got.stderr, "not_found") {
		t.Errorf("after a dry run: %+v", got)
	}
	d.ok("tenants", "create", "search", "--tier", "gold", "--weight", "3", "--models", "fast", "--keep-results", "48h")
	var made tenant
	decode(t, d.ok("tenants", "get", "search", "-o", "json"), &made)
	if made.Tier != "gold" || made.Weight != 3 || made.Source != "api" || !made.Enabled || made.Retention.Results != "48h0m0s" {
		t.Errorf("made %+v", made)
	}
	if got := d.ok("tenants", "update", "search", "--weight", "5", "--if-match", made.ETag); !strings.Contains(got, "Weight        5\n") {
		t.Errorf("update: %q", got)
	}
	if got := d.run("tenants", "update", "search", "--weight", "7", "--if-match", made.ETag); got.code != exitError || !strings.Contains(got.stderr, "changed meanwhile") {
		t.Errorf("update of a stale one: %+v", got)
	}
	if got := d.run("tenants", "update", "demo", "--weight", "7"); got.code != exitError || !strings.Contains(got.stderr, "managed_by_file") {
		t.Errorf("update of the file's: %+v", got)
	}
	if got := d.ok("tenants", "list", "--tier", "gold"); !strings.Contains(got, "search  enabled  api     gold  5") || strings.Contains(got, "demo") {
		t.Errorf("list:\n%s", got)
	}
	d.allowances(t)
	for _, wrong := range [][]string{
		{"tenants", "update", "search", "--limits", "requests_per_minute=-1"}, {"tenants", "update", "search", "--limits", "wishes=3"},
		{"tenants", "update", "search", "--budget", "daily=many"}, {"tenants", "update", "search", "--budget", "hard"},
		{"tenants", "create", "Search"}, {"tenants", "create", "x", "--weight", "0"}, {"tenants", "create", "x", "--models", "nope"},
		{"tenants", "create", "x", "--lanes", "fast"}, {"tenants", "create", "x", "--keep-idempotency", "1h"}, {"keys", "create", "app", "--tenant", "search", "--scopes", "all"},
	} {
		if got := d.run(wrong...); got.code != exitError || !strings.Contains(got.stderr, "invalid_request") {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
	d.keysLife(t)
	if got := d.ok("tenants", "delete", "search"); !strings.Contains(got, "disabled") {
		t.Errorf("delete: %q", got)
	}
	if got := d.ok("keys", "list", "--tenant", "demo"); !strings.Contains(got, "file:demo:") {
		t.Errorf("keys of the file: %q", got)
	}
	if got := d.run("keys", "revoke", "file:demo:app"); !strings.Contains(got.stderr, "managed_by_file") {
		t.Errorf("revoke a key of the file: %+v", got)
	}
}

// keysLife makes a key, uses it, rotates it and ends both.
func (d *harness) keysLife(t *testing.T) {
	t.Helper()
	first, second := d.makesKey("create", "app", "--tenant", "search"), apiKeyView{}
	works := func(k apiKeyView) bool {
		other := *d
		other.env = map[string]string{"PENSTOCK_URL": d.env["PENSTOCK_URL"], "PENSTOCK_API_KEY": k.Secret}
		return other.run("models", "list").code == exitOK
	}
	if !works(first) || !strings.HasPrefix(first.Secret, first.Prefix) || len(first.Prefix) >= len(first.Secret)/2 {
		t.Errorf("the key that was made does not work: prefix %q", first.Prefix)
	}
	second = d.makesKey("rotate", first.ID, "--overlap", "1h")
	if !works(first) || !works(second) || second.Name != "app" {
		t.Error("both keys of a rotation should work")
	}
	if got := d.ok("keys", "revoke", first.ID); !strings.Contains(got, "revoked") || works(first) || !works(second) {
		t.Errorf("revoke: %q", got)
	}
	third := d.makesKey("rotate", second.ID, "--overlap", "0s")
	if works(second) || !works(third) {
		t.Error("a key that was rotated without overlap should not work")
	}
	d.ok("tenants", "update", "search", "--enabled=false")
	if works(third) {
		t.Error("a key of a disabled tenant works")
	}
	list := d.ok("keys", "list", "--tenant", "search")
	for _, want := range []string{"revoked", "expired", "active", first.Prefix} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in\n%s", want, list)
		}
	}
	for _, k := range []apiKeyView{first, second, third} {
		if strings.Contains(list, k.Secret) || strings.Contains(d.ok("keys", "list", "-o", "json"), k.Secret) {
			t.Error("a list shows a secret")
		}
	}
}

// makesKey runs a command that shows a secret.
func (d *harness) makesKey(args ...string) (k apiKeyView) {
	d.t.Helper()
	decode(d.t, d.ok(append([]string{"keys", "-o", "json"}, args...)...), &k)
	if k.Secret == "" {
		d.t.Fatalf("keys %v shows no secret", args)
	}
	return k
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// A server without a configured admin key draws one, and the command line on its machine finds it.
func TestDrawnAdminKey(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	delete(d.env, "PENSTOCK_ADMIN_KEY")
	d.serves(write(t, "penstock.yaml", strings.Replace(goodYAML, "http://127.0.0.1:1", upstream(t), 1)))
	path := filepath.Join(d.env["PENSTOCK_DATA"], "admin-key")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	d.ok("tenants", "list")
	for key, want := range map[string]string{"": "No admin key was given", testKey: "scope_missing", "psk_nobodys_7gq2xk9dmw4ztfv8hsb3rnj6cp": "the admin key was not sent"} {
		d.env["PENSTOCK_ADMIN_KEY"] = key
		if key == "" {
			d.env["PENSTOCK_DATA"] = t.TempDir()
		}
		if got := d.run("tenants", "list"); got.code != exitError || !strings.Contains(got.stderr, want) {
			t.Errorf("with %q: %+v", key, got)
		}
	}
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/admin/v1/keys": http.StatusUnauthorized} {
		resp, err := http.Get(d.env["PENSTOCK_ADMIN_URL"] + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s without a key answers %s", path, resp.Status)
		}
	}
}

// allowances gives a tenant and a key limits and budgets, and takes them back.
func (d *harness) allowances(t *testing.T) {
	t.Helper()
	got := d.ok("tenants", "update", "search", "--limits", "requests_per_minute=600,enqueued_tokens=5000,stored_bytes=7000", "--model-limits", "fast:concurrency=2",
		"--budget", "monthly=500,hard", "--model-budget", "fast:daily=2.5",
		"--tag-budget", "team=search:monthly=7,hard", "--tag-budget", "team:ads:total=3")
	for _, want := range []string{"burst:0.05", "enqueued_tokens:5000", "stored_bytes:7000", "models:{fast:{", "requests_per_minute:600", "hard:true,monthly_usd:500", "fast:{daily_usd:2.5}", "team:search:{hard:true,monthly_usd:7}", "team:ads:{total_usd:3}"} {
		if !strings.Contains(got, want) {
			t.Errorf("limits and budgets of a tenant: %q lacks %s", got, want)
		}
	}
	var k apiKeyView
	decode(t, d.ok("keys", "create", "thrifty", "--tenant", "search", "--limits", "requests_per_minute=2", "--budget", "total=1", "-o", "json"), &k)
	if got := d.ok("keys", "update", k.ID, "--limits", "requests_per_minute=4", "--if-match", k.ETag); !strings.Contains(got, "requests_per_minute:4") || !strings.Contains(got, "total_usd:1") {
		t.Errorf("limits of a key: %q", got)
	}
	if got := d.run("keys", "update", k.ID, "--budget", "", "--if-match", k.ETag); got.code != exitError || !strings.Contains(got.stderr, "changed meanwhile") {
		t.Errorf("update of a stale key: %+v", got)
	}
	if got := d.ok("budgets", "list", "--tenant", "search"); strings.Count(got, "$") != 5*4 || !strings.Contains(got, "team:search") || !strings.Contains(got, "thrifty") || !strings.Contains(got, "$500.000000000") {
		t.Errorf("budgets:\n%s", got)
	}
	d.ok("keys", "revoke", k.ID)
	if got := d.ok("tenants", "update", "search", "--limits", "", "--budget", "", "--model-budget", "", "--tag-budget", ""); strings.Contains(got, "requests_per_minute") || strings.Contains(got, "usd") {
		t.Errorf("without limits and budgets: %q", got)
	}
	for _, wrong := range []string{"monthly=5", "team:monthly=5", "team=search", "=x:monthly=5", "team=search:weekly=5"} {
		if got := d.run("tenants", "update", "search", "--tag-budget", wrong); got.code != exitUsage || !strings.Contains(got.stderr, "--tag-budget must look like") {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
	if got := d.run("keys", "update", "file:demo:app", "--limits", "concurrency=1"); !strings.Contains(got.stderr, "managed_by_file") {
		t.Errorf("limits of a key of the file: %+v", got)
	}
	if got := d.run("tenants", "update", "demo", "--budget", "daily=1"); !strings.Contains(got.stderr, "managed_by_file") {
		t.Errorf("a budget of the file's tenant: %+v", got)
	}
}

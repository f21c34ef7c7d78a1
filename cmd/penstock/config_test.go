package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodYAML = `
listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
providers:
  up: {kind: openai, base_url: "http://127.0.0.1:1/v1", api_key: "${UP_KEY}"}
targets:
  mini: {provider: up, upstream_model: m, price: {input: "0.15", output: "0.60"}}
models:
  fast: {targets: [mini]}
tenants:
  demo: {keys: [{name: app, secret: "${APP_KEY}"}]}
`

// goodDesk has the secrets that goodYAML names.
func goodDesk(t *testing.T) *harness {
	d := newHarness(t)
	d.env["UP_KEY"], d.env["APP_KEY"] = "sk-hidden-0123456789", testKey
	return d
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	good := write(t, "good.yaml", goodYAML)
	if got := d.ok("config", "validate", good); !strings.HasPrefix(got, good+" is valid: cfg_") ||
		!strings.HasSuffix(got, ", with 1 provider, 1 target, 1 model and 1 tenant.\n") {
		t.Errorf("it prints %q", got)
	}
	bad := write(t, "bad.yaml", strings.Replace(goodYAML, "targets: [mini]", "targets: [mnii], colour: red", 1))
	got := d.run("config", "validate", bad)
	if got.code != exitError || got.stderr != "penstock: "+bad+" has 2 problems; correct the file and try again\n" {
		t.Errorf("%+v", got)
	}
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if len(lines) != 2 {
		t.Fatalf("it lists %q", lines)
	}
	for i, want := range []string{"models.fast.targets[0]: ", "models.fast.colour: "} {
		if !strings.HasPrefix(lines[i], bad+":9:") || !strings.Contains(lines[i], want) {
			t.Errorf("problem %d is %q, want one at line 9 with %q", i, lines[i], want)
		}
	}
	delete(d.env, "APP_KEY")
	check(t, d.run("config", "validate", filepath.Join(filepath.Dir(good), "none.yaml")), typed{code: exitError,
		stderr: "penstock: read config: open " + filepath.Dir(good) + `/none.yaml: no such file or directory; give the path of your file, ` +
			`or use "penstock dev", which needs none` + "\n"})
	if got := d.run("config", "validate", good); got.code != exitError || !strings.Contains(got.stdout, "APP_KEY") {
		t.Errorf("without a secret: %+v", got)
	}
}

func TestConfigValidateJSON(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	for text, want := range map[string]verdict{goodYAML: {Valid: true}, goodYAML + "colour: red\n": {Problems: []problem{{Path: "colour", Line: 12}}}} {
		path := write(t, "file.yaml", text)
		got := d.run("config", "validate", path, "-o", "json")
		var v verdict
		if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || v.Problems == nil {
			t.Fatalf("%v: %s", err, got.stdout)
		}
		if v.File != path || v.Valid != want.Valid || (got.code == exitOK) != want.Valid || (v.Config != "") != want.Valid || len(v.Problems) != len(want.Problems) {
			t.Errorf("exit code %d, %+v", got.code, v)
		}
		for i, p := range want.Problems {
			if v.Problems[i].Path != p.Path || v.Problems[i].Line != p.Line || v.Problems[i].Message == "" {
				t.Errorf("problem %+v, want %+v", v.Problems[i], p)
			}
		}
	}
}

func TestServeListsEveryProblem(t *testing.T) {
	t.Parallel()
	path := write(t, "bad.yaml", "colour: red\nshape: round\n")
	got := newHarness(t).run("serve", "--config", path)
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	if got.code != exitError || got.stdout != "" || len(lines) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []string{path + ":1:", path + ":2:", "penstock: " + path + " has 2 problems; correct the file and try again"} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
}

func TestConfigShow(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	path := write(t, "good.yaml", goodYAML)
	text := d.ok("config", "show", path)
	for _, want := range []string{"# cfg_", "max_output_tokens: 4096", "[redacted]"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q:\n%s", want, text)
		}
	}
	asJSON := d.ok("config", "show", path, "-o", "json")
	var v struct {
		Listen  string
		Targets map[string]struct {
			MaxOutputTokens int `json:"max_output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(asJSON), &v); err != nil || v.Listen != "127.0.0.1:0" || v.Targets["mini"].MaxOutputTokens != 4096 {
		t.Errorf("%v: %s", err, asJSON)
	}
	for _, shown := range []string{text, asJSON} {
		if strings.Contains(shown, "sk-hidden") || strings.Contains(shown, testKey) {
			t.Errorf("a secret is shown:\n%s", shown)
		}
	}
}

func TestConfigDiff(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	older := write(t, "old.yaml", goodYAML)
	newer := write(t, "new.yaml", strings.NewReplacer(`"0.15"`, `"0.20"`, "admin_listen: 127.0.0.1:0", "admin_listen: 127.0.0.1:9").Replace(goodYAML))
	check(t, d.run("config", "diff", older, older), typed{stderr: "The files have the same effect.\n"})
	check(t, d.run("config", "diff", older, older, "-o", "json"), typed{stdout: "[]\n"})
	check(t, d.run("config", "diff", older, newer), typed{stdout: "" +
		"admin_listen: 127.0.0.1:0 → 127.0.0.1:9 (takes effect at the next start)\n" +
		"targets.mini.price.audio_input: 0.15 → 0.2\n" +
		"targets.mini.price.cache_write: 0.15 → 0.2\n" +
		"targets.mini.price.cache_write_1h: 0.15 → 0.2\n" +
		"targets.mini.price.cached_input: 0.15 → 0.2\n" +
		"targets.mini.price.input: 0.15 → 0.2\n"})
	var changes []change
	if err := json.Unmarshal([]byte(d.ok("config", "diff", older, newer, "-o", "json")), &changes); err != nil || len(changes) != 6 ||
		changes[0] != (change{"admin_listen", "127.0.0.1:0 → 127.0.0.1:9", true}) {
		t.Errorf("%v: %+v", err, changes)
	}
}

// A reload of a real server lists what changed; a file with problems changes nothing, and says which.
func TestConfigReload(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	path := write(t, "penstock.yaml", goodYAML)
	api, admin := d.listeners(path)
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(strings.Replace(goodYAML, "demo: {keys", "demo: {weight: 3, keys", 1))
	if got := d.ok("config", "reload", "--admin-url", admin); !strings.HasPrefix(got, "tenants.demo.weight: 1 → 3\n") || !strings.HasSuffix(got, " is in force, with 1 change.\n") {
		t.Errorf("it says %q", got)
	}
	// A target that an open job was resolved to is not removed without force; a dry run says how many jobs that are.
	two := strings.NewReplacer("models:", "  maxi: {provider: up, upstream_model: x}\nmodels:", "targets: [mini]", "targets: [mini, maxi]").Replace(goodYAML)
	rewrite(two)
	d.ok("config", "reload", "--admin-url", admin)
	d.env["PENSTOCK_URL"] = api
	d.ok("jobs", "submit", "-m", "fast", "wait for the provider")
	reload := func(args ...string) typed {
		return d.run(append([]string{"config", "reload", "--admin-url", admin}, args...)...)
	}
	rewrite(goodYAML)
	dry := reload("--dry-run")
	if dry.code != exitOK || !strings.Contains(dry.stdout, "target maxi: 1 open jobs with 1 items were resolved to it; 0 items have no other target\n") || !strings.Contains(dry.stdout, "would be refused without --force") {
		t.Errorf("a dry run: %+v", dry)
	}
	third := strings.NewReplacer("mini:", "other:", "[mini]", "[other]").Replace(goodYAML)
	rewrite(third)
	if got := reload(); got.code != exitError || !strings.Contains(got.stderr, "conflict: target maxi is removed, but 1 open jobs with 1 items were resolved to it, of which 1 jobs with 1 items would have no target left and fail") {
		t.Errorf("jobs would lose all of their targets: %+v", got)
	}
	if got := d.ok("models", "list"); !strings.Contains(got, "fast") {
		t.Errorf("after the refusal there is %q", got)
	}
	if got := d.run("config", "reload", "--admin-url", admin, "--dry-run", "--force"); got.code != exitOK {
		t.Errorf("a dry run with force: %+v", got)
	}
	if got := reload("--force"); got.code != exitOK || !strings.Contains(got.stdout, "is in force") || !strings.Contains(got.stdout, "target mini: 1 open jobs") {
		t.Errorf("with force: %+v", got)
	}
	rewrite(goodYAML + "nonsense: 1\n")
	got := d.run("config", "reload", "--admin-url", admin)
	if got.code != exitError || !strings.Contains(got.stderr, "nonsense: unknown key") || got.stdout != "" {
		t.Errorf("a file with a problem: %+v", got)
	}
}

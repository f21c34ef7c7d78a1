package penstock_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"penstock/internal/config"
	"penstock/internal/telemetry"
)

// The files under deploy/ name metrics that exist: a dashboard or an alert over a metric that nobody
// exports is worse than none.

var (
	metricName   = regexp.MustCompile(`\b(?:penstock|go|process)_[a-z0-9_]+\b`)
	metricSuffix = regexp.MustCompile(`_(?:bucket|sum|count)$`)
)

// checkMetrics fails the test for every name in a text that is not the name of a metric.
func checkMetrics(t *testing.T, where, text string) int {
	t.Helper()
	known := telemetry.NewMetrics("test", "").Names()
	found := metricName.FindAllString(text, -1)
	for _, name := range found {
		if !slices.Contains(known, name) && !slices.Contains(known, metricSuffix.ReplaceAllString(name, "")) {
			t.Errorf("%s: there is no metric %s", where, name)
		}
	}
	return len(found)
}

func deployed(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("deploy", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file matches deploy/%s: %v", pattern, err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestDeployAlerts(t *testing.T) {
	t.Parallel()
	for path, text := range deployed(t, "prometheus/*.yaml") {
		var file struct {
			Groups []struct {
				Name  string
				Rules []struct {
					Alert, Expr, For    string
					Labels, Annotations map[string]string
				}
			}
		}
		if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		names := map[string]bool{}
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				where := path + ": " + rule.Alert
				if names[rule.Alert] || rule.Alert == "" {
					t.Errorf("%s is there twice, or has no name", where)
				}
				names[rule.Alert] = true
				if checkMetrics(t, where, rule.Expr) == 0 {
					t.Errorf("%s looks at no metric", where)
				}
				if strings.Count(rule.Expr, "(") != strings.Count(rule.Expr, ")") {
					t.Errorf("%s: brackets do not match in %s", where, rule.Expr)
				}
				if severity := rule.Labels["severity"]; !slices.Contains([]string{"page", "warning"}, severity) {
					t.Errorf("%s has the severity %q", where, severity)
				}
				if rule.Annotations["summary"] == "" || rule.Annotations["action"] == "" {
					t.Errorf("%s says not what is wrong, or not what to do", where)
				}
			}
		}
		if len(names) == 0 {
			t.Errorf("%s has no alert", path)
		}
	}
}

func TestDeployDashboards(t *testing.T) {
	t.Parallel()
	for path, text := range deployed(t, "grafana/*.json") {
		var board struct {
			UID, Title string
			Panels     []struct {
				ID          int
				Type, Title string
				Targets     []struct{ Expr string }
			}
			Templating struct {
				List []struct{ Name, Query string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if board.UID == "" || board.Title == "" {
			t.Errorf("%s has no uid or no title", path)
		}
		ids := map[int]bool{}
		for _, p := range board.Panels {
			where := path + ": " + p.Title
			if ids[p.ID] {
				t.Errorf("%s has the id of another panel", where)
			}
			ids[p.ID] = true
			if p.Type != "row" && len(p.Targets) == 0 {
				t.Errorf("%s shows nothing", where)
			}
			for _, target := range p.Targets {
				if checkMetrics(t, where, target.Expr) == 0 {
					t.Errorf("%s looks at no metric", where)
				}
			}
		}
		for _, v := range board.Templating.List {
			checkMetrics(t, path+": "+v.Name, v.Query)
		}
	}
}

func TestDeployKubernetes(t *testing.T) {
	t.Parallel()
	for path, text := range deployed(t, "helm/penstock/templates/*.yaml") {
		checkMetrics(t, path, string(text))
	}
	for path, text := range deployed(t, "kubernetes/*.yaml") {
		var object struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name string }
			Spec       map[string]any
		}
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if object.APIVersion == "" || object.Kind == "" || object.Metadata.Name == "" || len(object.Spec) == 0 {
			t.Errorf("%s is no Kubernetes object: %+v", path, object)
		}
		if checkMetrics(t, path, string(text)) == 0 {
			t.Errorf("%s scales by no metric", path)
		}
	}
}

// The configurations under deploy/ are valid, with the secrets that their scripts create.
func TestDeployConfigurations(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"OPENAI_API_KEY": "sk-test", "S3_ACCESS_KEY": "penstock"}
	for _, name := range []string{"APP_KEY", "PENSTOCK_APP_KEY", "PENSTOCK_METRICS_KEY", "S3_SECRET_KEY"} {
		secrets[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	}
	env := func(name string) (string, bool) { v, ok := secrets[name]; return v, ok }
	for _, path := range []string{"deploy/systemd/penstock.yaml", "deploy/compose/penstock.yaml"} {
		if _, err := config.Load(path, env); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The script writes a secret for every variable that compose.yaml requires, once, readable by its owner alone.
func TestDeployComposeInit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "deploy", "compose")
	script, err := os.ReadFile("deploy/compose/init")
	if err := errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "init"), script, 0o755)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(dir, "init")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(filepath.Join(root, ".env"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file of secrets: %v, %v; want mode 0600", info, err)
	}
	written, err := os.ReadFile(filepath.Join(root, ".env"))
	if err != nil {
		t.Fatal(err)
	}
	compose, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\$\{([A-Z0-9_]+):\?`).FindAllStringSubmatch(string(compose), -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `=[0-9a-f]{48}$`).Match(written) {
			t.Errorf("the script writes no secret %s", m[1])
		}
	}
	if out, err := exec.Command(filepath.Join(dir, "init")).CombinedOutput(); err == nil || !strings.Contains(string(out), "exists already") {
		t.Errorf("a second run: %v, %s; want an error", err, out)
	}
}

// The unit passes systemd's own check, and its score of exposure, where systemd is installed.
func TestDeploySystemdUnit(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("deploy/systemd/penstock.service")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip(err)
	}
	program, err := os.Executable() // any program: the check wants one that exists
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "penstock.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/local/bin/penstock"), []byte(program)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", unit).CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// 0 is not exposed at all, 10 is not protected at all; systemd calls up to 2 "OK". The flag takes tenths.
	if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", unit).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// Operators look for what the pages name.
func TestDocsNameMetrics(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"README.md", "docs/how-to/*.md", "docs/explanation/*.md", "docs/reference/*.md", "bench/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no page matches %s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		named += checkMetrics(t, page, string(text))
	}
	if named < 50 {
		t.Errorf("the pages name metrics in %d places, want many more", named)
	}
}

// A check that cannot fail proves nothing.
func TestDeployCheckFindsUnknownMetrics(t *testing.T) {
	t.Parallel()
	known := telemetry.NewMetrics("test", "").Names()
	for name, want := range map[string]bool{
		"penstock_queue_items": true, "penstock_item_wait_seconds_bucket": true, "penstock_queue_item": false, "penstock_nothing_total": false,
	} {
		got := slices.Contains(known, name) || slices.Contains(known, metricSuffix.ReplaceAllString(name, ""))
		if got != want {
			t.Errorf("%s is known: %v, want %v", name, got, want)
		}
	}
}

// compose.yaml runs the version of PostgreSQL that the tests run on, which the documentation names.
func TestComposeRunsTheTestedPostgreSQL(t *testing.T) {
	t.Parallel()
	find := func(path, pattern string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllSubmatch(text, -1)
		if len(found) != 1 {
			t.Fatalf("%s has %d places like %s, want 1", path, len(found), pattern)
		}
		return string(found[0][1])
	}
	tested := find("docs/how-to/use-postgresql.md", `So far this was version ([0-9]+),`)
	if run := find("compose.yaml", `image: postgres:([0-9]+)\b`); run != tested {
		t.Errorf("compose.yaml runs PostgreSQL %s, but the tests run on %s", run, tested)
	}
}

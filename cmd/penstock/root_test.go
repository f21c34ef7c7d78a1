package main

import (
	"encoding/json"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"penstock"
)

func TestEveryCommandIsExplained(t *testing.T) {
	t.Parallel()
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || c.RunE == nil {
			t.Errorf("%s: it needs a Short and a RunE", c.CommandPath())
		}
		if !c.HasSubCommands() && !strings.Contains(c.Example, "  penstock ") {
			t.Errorf("%s: it needs an example", c.CommandPath())
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(line) > 120 {
				t.Errorf("%s: a line of its help has %d bytes: %s", c.CommandPath(), len(line), line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newHarness(t).shell(nil, nil).command())
}

func TestRootHelpNamesTheEnvironment(t *testing.T) {
	t.Parallel()
	help := newHarness(t).ok("--help")
	for _, name := range []string{
		"PENSTOCK_LISTEN", "PENSTOCK_ADMIN_LISTEN", "PENSTOCK_DATA", "PENSTOCK_DEV_KEY", "PENSTOCK_DATABASE_URL", "PENSTOCK_URL", "PENSTOCK_API_KEY",
		"Exit codes: 0 ok, 1 error, 2 wrong usage, 3 some items failed",
	} {
		if !strings.Contains(help, name) {
			t.Errorf("the help does not tell of %s", name)
		}
	}
	if without := newHarness(t).ok(); without != help {
		t.Errorf("without arguments it prints\n%s", without)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want string }{
		{"job", `there is no command "penstock job"; did you mean "jobs" or "top" or "db"?; see "penstock --help"`},
		{"jobs sbmit", `there is no command "penstock jobs sbmit"; did you mean "submit"?; see "penstock jobs --help"`},
		{"jobs zzz", `there is no command "penstock jobs zzz"; see "penstock jobs --help"`},
		{"jobs get", `the job's id is missing; see "penstock jobs get --help"`},
		{"jobs get a b", `unexpected argument "b"; see "penstock jobs get --help"`},
		{"version -o xml", `invalid argument "xml" for "-o, --output" flag: must be table or json; see "penstock version --help"`},
		{"version --loud", `unknown flag: --loud; see "penstock version --help"`},
		{"chat hi --modle sim", `unknown flag: --modle; did you mean --model?; see "penstock chat --help"`},
		{"jobs list --ulr=http://x", `unknown flag: --ulr; did you mean --url?; see "penstock jobs list --help"`},
		{"jobs list --limit 0", `--limit must be at least 1; see "penstock jobs list --help"`},
		{"jobs list --tag team", `--tag must look like key:value; see "penstock jobs list --help"`},
		{"jobs list --since yesterday", `--since must be a time such as 2026-11-15T06:00:00Z or a duration such as 24h; see "penstock jobs list --help"`},
		{"jobs submit", `nothing to submit: give a prompt, - for standard input, --file or --prompt; see "penstock jobs submit --help"`},
		{"jobs submit a b", `unexpected argument "b"; see "penstock jobs submit --help"`},
		{"jobs submit a --file b", `a prompt and --file were both given; give only one; see "penstock jobs submit --help"`},
		{"jobs submit a", `the model is missing: add --model ("penstock models list" shows them); see "penstock jobs submit --help"`},
		{"jobs submit a --tag =b", `--tag must look like key:value; see "penstock jobs submit --help"`},
		{"jobs submit a --deadline -1h", `--deadline must be a time such as 2026-11-15T06:00:00Z or a duration such as 24h; see "penstock jobs submit --help"`},
		{"dead-letters list --limit -1", `--limit must be at least 1; see "penstock dead-letters list --help"`},
		{"config diff a", `the new file is missing; see "penstock config diff --help"`},
		{"sim --jitter much", `invalid argument "much" for "--jitter" flag: strconv.ParseFloat: parsing "much": invalid syntax; see "penstock sim --help"`},
	} {
		check(t, newHarness(t).run(strings.Fields(tc.line)...), typed{code: exitUsage, stderr: "penstock: " + tc.want + "\n"})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	line := d.ok("version")
	if !strings.HasPrefix(line, "penstock "+penstock.Version+" (") || !strings.Contains(line, runtime.Version()) {
		t.Errorf("it prints %q", line)
	}
	if flag := d.ok("--version"); flag != line {
		t.Errorf("--version prints %q, version %q", flag, line)
	}
	var b build
	if err := json.Unmarshal([]byte(d.ok("version", "-o", "json")), &b); err != nil || b != newBuild() {
		t.Errorf("%+v, %v; want %+v", b, err, newBuild())
	}
}

// echoKey lists the key that it was called with as a model.
func echoKey(w http.ResponseWriter, r *http.Request) {
	text, _ := json.Marshal(map[string]any{"data": []any{map[string]string{"id": r.Header.Get("Authorization")}}})
	_, _ = w.Write(text)
}

func TestKeyOfTheDevelopmentServer(t *testing.T) {
	t.Parallel()
	d := at(t, http.HandlerFunc(echoKey))
	if got := d.ok("models", "list"); !strings.Contains(got, "Bearer "+testKey) {
		t.Errorf("the key of the environment was not used: %s", got)
	}
	delete(d.env, "PENSTOCK_API_KEY")
	keyFile := filepath.Join(d.env["PENSTOCK_DATA"], "dev-key")
	check(t, d.run("models", "list"), typed{code: exitError, stderr: "penstock: PENSTOCK_API_KEY is not set and there is no " +
		keyFile + `; set the key, or start "penstock dev" in this directory` + "\n"})

	if err := os.MkdirAll(d.env["PENSTOCK_DATA"], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, []byte("psk_dev_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.ok("models", "list"); !strings.Contains(got, "Bearer psk_dev_x ") {
		t.Errorf("the key of the development server was not used: %s", got)
	}
	d.env["PENSTOCK_URL"] = "http://penstock.example"
	check(t, d.run("models", "list"), typed{code: exitError,
		stderr: "penstock: PENSTOCK_API_KEY is not set; set it, or --key, to a key of http://penstock.example\n"})
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	answers := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-request-id", "req_1")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":{"code":"` + code + `","message":"No.\u001b[31m"}}`))
		}
	}
	for code, want := range map[string]string{
		"invalid_key":     "invalid_key: No. [31m (req_1); set PENSTOCK_API_KEY to a key of this server",
		"model_not_found": `model_not_found: No. [31m (req_1); "penstock models list" shows the models`,
		"scope_missing":   "scope_missing: No. [31m (req_1); set PENSTOCK_API_KEY to a key that has the scope",
		"not_found":       "not_found: No. [31m (req_1)",
	} {
		check(t, at(t, answers(400, code)).run("jobs", "get", "job_1"), typed{code: exitError, stderr: "penstock: " + want + "\n"})
	}
	d := newHarness(t)
	d.env["PENSTOCK_URL"] = "here"
	check(t, d.run("models", "list"), typed{code: exitError,
		stderr: "penstock: PENSTOCK_URL: the URL of Penstock must look like http://127.0.0.1:8080, not \"here\"\n"})
}

// A connection that fails gets the fix of its own reason, and only a call to a server is explained by the server's URL.
func TestConnectionFix(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	if got := d.run("models", "list", "--key", "k", "--url", strings.Replace(plain.URL, "http:", "https:", 1)); got.code != exitError || !strings.HasSuffix(got.stderr, "the server has no TLS: its URL begins with http://\n") {
		t.Errorf("TLS to a server without it: %+v", got)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for at, want := range map[string]string{
		strings.Replace(secure.URL, "https:", "http:", 1): "the server needs TLS: its URL begins with https://\n",
		secure.URL:                               "name the certificate of its authority with --ca or PENSTOCK_CA\n",
		strings.TrimPrefix(plain.URL, "http://"): "must look like http://127.0.0.1:8080: ",
	} {
		if got := d.run("models", "list", "--key", "k", "--url", at); got.code == exitOK || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %s", at, got, want)
		}
	}
	if got := explain(fmt.Errorf("connecting to PostgreSQL: %w", syscall.ECONNREFUSED)); strings.Contains(got, "PENSTOCK_URL") || !strings.Contains(got, "penstock doctor") {
		t.Errorf("a database that is away: %s", got)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	d.env["PENSTOCK_URL"] = "http://127.0.0.1:1" // needs privileges that nobody gives away
	got := d.run("jobs", "list")
	if got.code != exitError || !strings.HasSuffix(got.stderr, `connection refused; start "penstock dev", or set PENSTOCK_URL to the address of a server`+"\n") {
		t.Errorf("%+v", got)
	}
}

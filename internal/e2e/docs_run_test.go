package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"penstock/internal/store/postgres/pgtest"
)

// The pages whose snippets start a server themselves: "penstock dev", or "penstock serve" with the file penstock.yaml. All
// others find a server that runs.
var (
	devPages   = []string{"README.md", "docs/tutorial/first-hour.md", "docs/how-to/back-up.md"}
	servePages = []string{"docs/how-to/upgrade-and-roll-back.md"}
)

// pageTimeout bounds the snippets of one page together.
const pageTimeout = 2 * time.Minute

// TestDocsRun runs the snippets of every page as a reader would: in order, in one shell, in one directory.
//
// Pages say 127.0.0.1:8080 and 127.0.0.1:9090. Tests run side by side, so these two addresses are replaced. Nothing else is.
func TestDocsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs servers")
	}
	t.Parallel()
	for _, page := range testedPages(t) {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			var run []snippet
			for _, s := range snippets(page, readPage(t, page)) {
				if s.notRun == "" && slices.Contains([]string{"sh", "console", "js", "sql", "json"}, s.lang) {
					run = append(run, s)
				}
			}
			if !slices.ContainsFunc(run, func(s snippet) bool { return s.lang != "json" && s.page != capabilityPage }) {
				return // the snippets of the example capability are compared with its files, by a test of its own
			}
			newReader(t, page).run(run)
		})
	}
}

// reader runs the snippets of one page.
type reader struct {
	*testing.T
	page   string
	dir    string
	env    []string
	listen string // in the place of 127.0.0.1:8080
	admin  string // in the place of 127.0.0.1:9090
}

func newReader(t *testing.T, page string) *reader {
	t.Helper()
	r := &reader{T: t, page: page, dir: t.TempDir(), listen: FreeAddress(t), admin: FreeAddress(t)}
	bin := filepath.Join(r.dir, "bin")
	r.write("bin/.keep", "", 0o600)
	if err := os.Symlink(Binary(t), filepath.Join(bin, "penstock")); err != nil {
		t.Fatal(err)
	}
	// "make build" is run as written, but the compiler's work is not repeated: GO is a script that installs the binary
	// of this suite where the compiler would write it.
	r.write("go", "#!/bin/bash\n[ \"$1\" = build ] || exec go \"$@\"\nwhile [ \"$1\" != -o ]; do shift; done\nmkdir -p \"$(dirname \"$2\")\" && ln -sf '"+Binary(t)+"' \"$2\"\n", 0o755)
	for _, name := range []string{"Makefile", "go.mod", "scripts", "docs", "deploy"} {
		r.link(name)
	}
	r.env = append(cleanEnv(),
		"PATH="+bin+":"+os.Getenv("PATH"), "GO="+filepath.Join(r.dir, "go"), "HOME="+r.dir,
		"PENSTOCK_LISTEN="+r.listen, "PENSTOCK_ADMIN_LISTEN="+r.admin,
		"PENSTOCK_URL=http://"+r.listen, "PENSTOCK_ADMIN_URL=http://"+r.admin,
		"HOOK_URL="+docsHook(t))
	if slices.Contains(devPages, page) {
		r.prepareDatabases()
		return r
	}
	r.configure()
	r.prepareDatabases()
	if !slices.Contains(servePages, page) {
		server := &Server{Process: Start(r, r.env, "serve", "--config", filepath.Join(r.dir, "penstock.yaml")), URL: "http://" + r.listen}
		server.AwaitReady()
	}
	return r
}

// prepareDatabases makes the databases that a page names: one with a schema, an empty one, and a server.
func (r *reader) prepareDatabases() {
	r.Helper()
	text := readPage(r.T, r.page)
	if strings.Contains(text, "$DATABASE_URL") {
		url := pgtest.URL(r)
		r.env = append(r.env, "DATABASE_URL="+url)
		migrate := Start(r, append(slices.Clone(r.env), "PENSTOCK_DATABASE_URL="+url, "PENSTOCK_DATA="+filepath.Join(r.dir, "penstock-data")), "db", "migrate")
		if code := migrate.Exit(); code != 0 {
			r.Fatalf("db migrate: exit code %d: %s", code, migrate.Output())
		}
	}
	if strings.Contains(text, "$RESTORED_URL") {
		r.env = append(r.env, "RESTORED_URL="+pgtest.URL(r))
	}
	if strings.Contains(text, "$DB_HOST") {
		r.env = append(r.env, "DB_HOST="+r.databaseHost(pgtest.URL(r)))
	}
}

// databaseHost is an address of the database server. The server of the tests may listen on a socket in the file system
// alone; connections to the address are then passed on to it.
func (r *reader) databaseHost(at string) string {
	r.Helper()
	cfg, err := pgconn.ParseConfig(at)
	if err != nil {
		r.Fatal(err)
	}
	network, address := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	if network == "tcp" {
		return address
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go forward(from, network, address)
		}
	}()
	return listener.Addr().String()
}

func forward(from net.Conn, network, address string) {
	defer from.Close()
	to, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	_, _ = io.Copy(from, to)
}

func (r *reader) write(name, text string, mode os.FileMode) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		r.Fatal(err)
	}
}

// link makes a file or directory of the repository part of the directory.
func (r *reader) link(name string) {
	r.Helper()
	path, err := filepath.Abs(filepath.Join(repository, name))
	if err == nil {
		err = os.Symlink(path, filepath.Join(r.dir, name))
	}
	if err != nil {
		r.Fatal(err)
	}
}

// docsHook is where webhooks go.
func docsHook(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(server.Close)
	return server.URL
}

// docsConfig is the configuration of the server that the how-to pages talk about.
const docsConfig = `
providers: {sim: {kind: openai, base_url: "SIM/v1"}}
targets:
  openai-mini: {provider: sim, upstream_model: sim-1, price: {input: "0.15", output: "0.60"}}
  own-llama: {provider: sim, upstream_model: sim-2, price: {input: "0", output: "0"}}
  short: {provider: sim, upstream_model: sim-3, context_tokens: 200, price: {input: "0", output: "0"}}
models:
  chatty: {targets: [short], on_overflow: truncate_oldest}
  fast: {targets: [own-llama, openai-mini]}
  smart: {targets: [openai-mini]}
  cheap: {policy: cheapest, targets: [openai-mini, own-llama]}
webhooks: {allow: [127.0.0.0/8]}
tenants: {demo: {keys: [{name: docs, secret: "${PENSTOCK_API_KEY}"}]}}
`

// configure writes the configuration of a how-to page, with a simulated upstream.
func (r *reader) configure() {
	r.Helper()
	sim := FreeAddress(r)
	Start(r, nil, "sim", "--listen", sim, "--tokens-per-second", "200")
	r.env = append(r.env, "PENSTOCK_API_KEY="+Key, "PENSTOCK_ADMIN_KEY="+AdminKey,
		"OPENAI_BASE_URL=http://"+r.listen+"/v1", "OPENAI_API_KEY="+Key)
	r.write("penstock.yaml", strings.ReplaceAll(docsConfig, "SIM", "http://"+sim)+"data: "+filepath.Join(r.dir, "penstock-data")+"\n", 0o600)
}

// run runs the snippets in one shell. A snippet that fails ends it.
func (r *reader) run(all []snippet) {
	r.Helper()
	var script strings.Builder
	script.WriteString("set -eu -o pipefail\n")
	for i, s := range all {
		// Output of a snippet goes to a file of its own; the background processes of a snippet keep theirs.
		fmt.Fprintf(&script, "exec > out%d 2>&1\necho %d > at\n%s\n", i, i, r.program(s))
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir, cmd.Env = r.dir, r.env
	// The shell and all that it started end together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = patience
	err := cmd.Start()
	if err == nil {
		r.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // servers in the background
		err = cmd.Wait()
	}
	if err != nil {
		at, _ := strconv.Atoi(strings.TrimSpace(r.read("at")))
		r.Fatalf("%s:%d: %v\n%s\nprinted:\n%s", r.page, all[at].line, err, all[at].text, r.read("out"+strconv.Itoa(at)))
	}
	for i, s := range all {
		if s.lang == "json" && slices.Contains(s.words, "output") {
			r.compare(s, r.read("out"+strconv.Itoa(i-1)))
		}
	}
}

func (r *reader) read(name string) string {
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

var addresses = regexp.MustCompile(`127\.0\.0\.1:(8080|9090)`)

// program is what the shell runs for a snippet.
func (r *reader) program(s snippet) string {
	text := addresses.ReplaceAllStringFunc(s.text, func(a string) string {
		return map[string]string{"127.0.0.1:8080": r.listen, "127.0.0.1:9090": r.admin}[a]
	})
	switch s.lang {
	case "sh":
		if slices.Contains(s.words, "server") { // it serves until the reader stops it
			return "{\n" + text + "} &\nuntil curl -sf http://" + r.listen + "/readyz; do sleep 0.1; done"
		}
	case "console":
		var commands strings.Builder
		for line := range strings.Lines(text) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands.WriteString(command)
			}
		}
		return commands.String()
	case "js":
		installSDK(r.T)
		modules, err := filepath.Abs(filepath.Join(sdkDir, "node_modules"))
		if err != nil {
			r.Fatal(err)
		}
		r.write("snippet.mjs", text, 0o600)
		return "ln -sfn '" + modules + "' node_modules\nnode snippet.mjs"
	case "sql":
		// Roles belong to the whole server: the roles of an earlier run have to go.
		if strings.Contains(text, "CREATE DATABASE penstock") {
			text = "DROP DATABASE IF EXISTS penstock;\nDROP ROLE IF EXISTS penstock;\nDROP ROLE IF EXISTS gateway;\n" + text
		}
		r.write(fmt.Sprintf("snippet-%d.sql", s.line), text, 0o600)
		return "psql --quiet --set ON_ERROR_STOP=1 '" + pgtest.URL(r) + "' --file " + fmt.Sprintf("snippet-%d.sql", s.line)
	case "json":
		if name := fileName(s); name != "" {
			r.write(name, text, 0o600)
		}
		return "true"
	}
	return text
}

// fileName is the name of the file that a snippet is the content of: ```json file=rows.jsonl
func fileName(s snippet) string {
	for _, w := range s.words {
		if name, ok := strings.CutPrefix(w, "file="); ok {
			return name
		}
	}
	return ""
}

// compare holds that the output in a page has the members of the real one.
func (r *reader) compare(s snippet, real string) {
	r.Helper()
	var want, got map[string]any
	if err := json.Unmarshal([]byte(s.text), &want); err != nil {
		r.Fatal(err)
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(real))).Decode(&got); err != nil {
		r.Fatalf("%s:%d: the command printed %s: %v", s.page, s.line, real, err)
	}
	names := func(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
	if !slices.Equal(names(want), names(got)) {
		r.Errorf("%s:%d: the page shows the members %v, the command printed %v", s.page, s.line, names(want), names(got))
	}
}

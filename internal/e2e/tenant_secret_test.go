package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"penstock/internal/sim"
)

// collector keeps what spans a server exports, as they come over the wire.
type collector struct {
	mu    sync.Mutex
	spans bytes.Buffer
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return
		}
		body = unpacked
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.Copy(&c.spans, body) // what arrived is looked at
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans.String()
}

const secretYAML = `
listen: %s
admin_listen: %s
data: %s
admin: {key: "${E2E_ADMIN}"}
log: {level: debug}
shutdown_grace: 2s
tracing: {otlp_endpoint: "%s"}
providers:
  upstream: {kind: openai, base_url: %s/v1, api_key: "${E2E_UPSTREAM}"}
  broken: {kind: openai, base_url: "http://127.0.0.1:1/v1", api_key: "${E2E_UPSTREAM}"}
targets:
  main: {provider: upstream, upstream_model: sim-1, price: {input: "1.00", output: "2.00"}}
  none: {provider: broken, upstream_model: sim-1, price: {input: "1.00", output: "2.00"}}
models:
  fast: {targets: [main]}
  broken: {targets: [none]}
tenants:
  declared: {keys: [{name: app, secret: "${E2E_KEY}"}]}
`

// TestSecretsStaySecret uses every kind of secret, rightly and wrongly, and then looks for them in all that the
// server and the command line wrote: logs, answers, errors, metrics, traces, profiles, the audit, the effective
// configuration and the data directory.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	upstream, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	calls, spans := httptest.NewServer(upstream), new(collector)
	t.Cleanup(calls.Close)
	traces := httptest.NewServer(spans)
	t.Cleanup(traces.Close)
	dir, endpoint, admin := t.TempDir(), FreeAddress(t), FreeAddress(t)
	path := filepath.Join(dir, "penstock.yaml")
	text := fmt.Sprintf(secretYAML, endpoint, admin, filepath.Join(dir, "data"), traces.URL, calls.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{
		"tenant's key of the file": "psk_declared_8c1f6f0b52aa9d3e47b0c65f18ad2e79", "admin key": AdminKey, "upstream's key": "sk-upstream-90aa71c4d2ee",
		"wrong key": "psk_guess_77ab12ffee0192",
	}
	env := []string{"E2E_KEY=" + secrets["tenant's key of the file"], "E2E_ADMIN=" + AdminKey, "E2E_UPSTREAM=" + secrets["upstream's key"]}
	s := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + endpoint}
	s.AwaitReady()
	said := secretTalk(t, s, operators{&Server{s.Process, "http://" + admin}}, secrets)

	show := exec.CommandContext(t.Context(), Binary(t), "config", "show", path)
	show.Env = append(cleanEnv(), env...)
	shown, err := show.CombinedOutput()
	if err != nil || !strings.Contains(string(shown), "[redacted]") {
		t.Errorf("config show: %v\n%s", err, shown)
	}
	said["config show"] = string(shown)
	if code := s.Stop(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	said["log"], said["traces"] = s.Output(), spans.String()
	again := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + endpoint}
	said["crash dump"] = crashDump(t, again, "http://"+admin, secrets)
	if !strings.Contains(said["traces"], "/v1/chat/completions") || !strings.Contains(said["log"], "key changed") {
		t.Errorf("the log and %d bytes of traces tell nothing of what was done: there is nothing to look through", len(said["traces"]))
	}
	for name, body := range files(t, filepath.Join(dir, "data")) {
		said["file "+name] = body
	}
	for where, body := range said {
		for what, secret := range secrets {
			if strings.Contains(body, secret) {
				t.Errorf("the %s is in the %s", what, where)
			}
		}
	}
	t.Logf("looked for %d secrets in %d places", len(secrets), len(said))
}

// crashDump is what a server prints that is told to show all that it does and to end, in the midst of calls.
func crashDump(t *testing.T, s *Server, admin string, secrets map[string]string) string {
	t.Helper()
	s.AwaitReady()
	var calls sync.WaitGroup
	for _, secret := range secrets {
		calls.Go(func() {
			_, _ = s.Try(t.Context(), post(chatPath, `{"model":"fast",`+ask("[sim:hold=dump] Hi")[1:], "Authorization", "Bearer "+secret)) // it ends with the server
		})
	}
	Await(t, "a call to be under way", func() error {
		if at := (&Server{s.Process, admin}); !strings.Contains(at.Do(get("/debug/pprof/goroutine?debug=2")).Body, "penstock/internal/request.") {
			return errors.New("no call runs")
		}
		return nil
	})
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	s.Exit()
	calls.Wait()
	if !strings.Contains(s.Output(), "goroutine ") {
		t.Error("the server printed no dump")
	}
	return s.Output()
}

// secretTalk makes calls of every kind, adds the secrets that it is given, and returns what was answered.
func secretTalk(t *testing.T, s *Server, at operators, secrets map[string]string) map[string]string {
	t.Helper()
	said := map[string]string{}
	hear := func(s *Server, c Call) {
		t.Helper()
		a := s.Do(c)
		said[c.Method+" "+c.Path+" "+c.Header["Authorization"]+c.Body] = fmt.Sprint(a.Status, a.Header, a.Body)
	}
	at.makeTenant(t, "search")
	first := at.makeKey(t, "search", "app")
	var second madeKey
	if err := json.Unmarshal([]byte(at.Do(post("/admin/v1/keys/"+first.ID+"/rotate", "")).Body), &second); err != nil || second.Secret == "" {
		t.Fatal("rotating a key shows no secret")
	}
	secrets["first key"], secrets["second key"] = first.Secret, second.Secret
	for _, secret := range secrets {
		as := []string{"Authorization", "Bearer " + secret}
		hear(s, post(chatPath, `{"model":"fast",`+ask("Hi")[1:], as...))
		hear(s, post(chatPath, `{"model":"broken",`+ask("Hi")[1:], as...))
		hear(s, post("/v1/jobs", `{"model":"broken","input":"Hi","max_attempts":1}`, append(as, "Prefer", "wait=5")...))
		hear(s, post("/v1/jobs", `{"model":`, as...))
		hear(s, get("/v1/jobs", as...))
		hear(s, get("/nowhere", as...))
		hear(at.Server, get("/admin/v1/keys", as...))
		hear(at.Server, post("/admin/v1/keys", `{"tenant":"search","name":"app"}`, as...))
		hear(at.Server, post("/admin/v1/keys", `{"nonsense":1}`, as...))
		hear(at.Server, post("/admin/v1/tenants", `{"id":"search"}`, as...))
	}
	hear(at.Server, post("/admin/v1/config/reload", ""))
	hear(at.Server, Call{Method: "DELETE", Path: "/admin/v1/keys/" + first.ID})
	for _, path := range []string{"/metrics", "/admin/v1/audit?tenant=search", "/admin/v1/tenants", "/admin/v1/keys?tenant=declared", "/admin/v1/load",
		"/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline", "/debug/pprof/heap?debug=1", "/admin/v1/audit?tenant=-"} {
		hear(at.Server, get(path))
	}
	return said
}

// files reads all that lies in a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[filepath.Base(path)] = string(text)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files in the data directory: %v", len(all), err)
	}
	return all
}

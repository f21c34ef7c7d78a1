package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The attack suite. Each file attack_*_test.go plays one kind of adversary against the real binary: a stranger with a key
// of another tenant, a tenant who chooses URLs, an upstream that misbehaves, a caller who speaks broken HTTP, JSON or
// money. docs/explanation/security.md lists what is promised and which test holds it. PENSTOCK_SOAK_ATTACK=DURATION plays the random
// ones for that long.

// The secrets of an attacked server. None may reach anybody.
const (
	upstreamSecret = "sk-upstream-5a1c0de7f3b9428806d4e2b7c9910f3a"
	strangerKey    = "psk_umbra_b3f0a8d2c47e4196a5b8d07c61f2e93d"
)

// soakAttack is how long random attacks last.
func soakAttack(t testing.TB, usual time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("PENSTOCK_SOAK_ATTACK")
	if text == "" {
		return usual
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("PENSTOCK_SOAK_ATTACK: %v", err)
	}
	return d
}

// attacked is a server under attack. When the test ends, the server must still be well: see [attacked.checkHealth].
type attacked struct {
	*Server
	t      *testing.T
	admin  *Server
	config string
	env    []string
	before vitals

	mu     sync.Mutex
	heard  bytes.Buffer // what callers were answered, to look for secrets in
	memory int64        // bytes of resident memory that the attacks may add
}

// vitals are the signs by which a leak is known.
type vitals struct {
	goroutines int
	resident   int64 // bytes
}

// siege is how an attacked server is set up.
type siege struct {
	engine   scenarioEngine
	settings string // YAML: providers, targets, models and whatever else
	acme     string // YAML: further settings of the tenant, each with a comma behind it
	env      []string
	tls      bool // the API listens with TLS, and so with HTTP/2
}

// besiege starts a server with two tenants: acme, whose key is [Key], and umbra, whose key is strangerKey.
func besiege(t *testing.T, s siege) *attacked {
	t.Helper()
	dir, address, admin := t.TempDir(), FreeAddress(t), FreeAddress(t)
	a := &attacked{t: t, config: filepath.Join(dir, "penstock.yaml"), memory: 192 << 20}
	a.env = append(s.env, "E2E_KEY="+Key, "E2E_STRANGER="+strangerKey, "E2E_UPSTREAM="+upstreamSecret, "PENSTOCK_ADMIN_KEY="+AdminKey)
	database, scheme := "", "http://"
	if s.engine.env != nil {
		for _, setting := range s.engine.env(t) {
			database = `database: "${E2E_DATABASE}"`
			a.env = append(a.env, strings.Replace(setting, "PENSTOCK_DATABASE_URL=", "E2E_DATABASE=", 1))
		}
	}
	if s.tls {
		certificate := hostileCertificate(t)
		database += fmt.Sprintf("\ntls: {cert_file: %s, key_file: %s}", certificate.certFile, certificate.keyFile)
		scheme = "https://"
	}
	text := fmt.Sprintf(`
listen: %s
admin_listen: %s
data: %s
shutdown_grace: 2s
%s
%s
tenants:
  acme: {%s keys: [{name: e2e, secret: "${E2E_KEY}"}]}
  umbra: {keys: [{name: e2e, secret: "${E2E_STRANGER}"}]}
`, address, admin, filepath.Join(dir, "data"), database, s.settings, s.acme)
	if err := os.WriteFile(a.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Server = &Server{Process: Start(t, a.env, "serve", "--config", a.config), URL: scheme + address}
	a.admin = &Server{Process: a.Process, URL: "http://" + admin}
	a.admin.AwaitReady()
	a.awaitListener(address)
	a.before = a.vitals()
	t.Cleanup(a.checkHealth)
	return a
}

// awaitListener waits until the API listens: that the process is ready is said before it does.
func (a *attacked) awaitListener(address string) {
	a.t.Helper()
	Await(a.t, "the API", func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err
	})
}

// ask makes a call, and remembers the answer for [attacked.checkHealth]. It fails the test if no answer comes within the
// bound.
func (a *attacked) ask(c Call, within time.Duration) Answer {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), within)
	defer cancel()
	answer, err := a.Try(ctx, c)
	if err != nil && answer.Status == 0 {
		a.t.Errorf("%s %s is not answered within %v: %v", c.Method, c.Path, within, err)
	}
	a.hear(answer)
	return answer
}

func (a *attacked) hear(answer Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(&a.heard, "%v %s\n", answer.Header, answer.Body[:min(len(answer.Body), 64<<10)])
}

// stranger makes a call the other tenant's.
func stranger(c Call) Call { return madeKey{Secret: strangerKey}.as(c) }

var goroutinesLine = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

func (a *attacked) vitals() (v vitals) {
	a.t.Helper()
	// When a test is cleaned up, its own context has ended.
	page, err := a.admin.Try(context.Background(), get("/metrics"))
	m := goroutinesLine.FindStringSubmatch(page.Body)
	if m == nil {
		a.t.Fatalf("the metrics do not count goroutines: %v\n%s", err, a.Output())
	}
	v.goroutines, _ = strconv.Atoi(m[1]) // digits
	v.resident = a.memoryOf("VmRSS")
	return v
}

// memoryOf is a size from the system's own account of the process.
func (a *attacked) memoryOf(name string) int64 {
	a.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		a.t.Fatalf("the server is gone: %v\n%s", err, a.Output())
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// checkHealth holds what no attack may change: the process lives, gives back what it took, kept its secrets to itself,
// logged no failure of its own, and its ledger is right.
func (a *attacked) checkHealth() {
	if a.t.Failed() && a.cmd.ProcessState != nil {
		a.t.Logf("the server printed:\n%s", a.Output())
		return
	}
	if peak := a.memoryOf("VmHWM"); peak > a.before.resident+a.memory {
		a.t.Errorf("the attacks took %d MiB of memory, %d more than before", peak>>20, (peak-a.before.resident)>>20)
	}
	const slack = 20 // timers and connections that are kept for a while
	Await(a.t, "goroutines to end", func() error {
		if now := a.vitals().goroutines; now > a.before.goroutines+slack {
			return fmt.Errorf("%d goroutines, %d before", now, a.before.goroutines)
		}
		return nil
	})
	a.checkSecrets()
	if code := a.Stop(); code != 0 {
		a.t.Errorf("the server ended with %d:\n%s", code, a.Output())
	}
	a.verifyLedger()
}

func (a *attacked) checkSecrets() {
	log := a.Output()
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
			a.t.Errorf("the server logged %s", line)
		}
	}
	for _, secret := range []string{upstreamSecret, Key, strangerKey, AdminKey} {
		if strings.Contains(log, secret) {
			a.t.Errorf("the log holds the secret %.14s…", secret)
		}
		if strings.Contains(a.heard.String(), secret) {
			a.t.Errorf("a caller was told the secret %.14s…", secret)
		}
	}
}

// verifyLedger runs `ledger verify` over what the server left.
func (a *attacked) verifyLedger() {
	a.t.Helper()
	if verify := Start(a.t, a.env, "ledger", "verify", "--config", a.config); verify.Exit() != 0 {
		a.t.Errorf("ledger verify:\n%s", verify.Output())
	}
}

// typed says that an answer is an error of ours: a JSON envelope with a code.
func (a Answer) typed() bool {
	return a.Status >= 400 && strings.Contains(a.Body, `"error"`) && (strings.Contains(a.Body, `"code"`) || strings.Contains(a.Body, `"type"`))
}

// asOf is the moment that a report describes.
var asOf = regexp.MustCompile(`"as_of":"[^"]*"`)

// unsaid removes from an answer what differs from one to the next though it means the same.
func unsaid(a Answer) string {
	h := a.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Request-Id", "Content-Length"} {
		h.Del(name)
	}
	for name := range h {
		if strings.HasPrefix(strings.ToLower(name), "x-ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			h.Del(name)
		}
	}
	lines := []string{fmt.Sprint(a.Status)}
	for name, values := range h {
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(lines)
	body := asOf.ReplaceAllString(requestIDs.ReplaceAllString(a.Body, "req_"), `"as_of":`)
	return strings.Join(lines, "\n") + "\n\n" + body
}

var requestIDs = regexp.MustCompile(`req_[0-9A-Za-z]+`)

// victim calls a healthy model again and again while attacks go on; each of its calls must succeed.
func (a *attacked) victim(ctx context.Context, c Call) (stop func() (calls int)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			answer, err := a.Try(ctx, c)
			if ctx.Err() != nil {
				break
			}
			if n++; err != nil || answer.Status != http.StatusOK {
				a.t.Errorf("a victim's call: %d %.300s %v", answer.Status, answer.Body, err)
			}
		}
		done <- n
	}()
	return func() int {
		cancel()
		return <-done
	}
}

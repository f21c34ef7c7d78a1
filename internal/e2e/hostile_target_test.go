package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hostileKey is the key of a second tenant that shares targets with the first.
const hostileKey = "psk_e2e_hostile_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// withHostile adds that tenant to a configuration.
func withHostile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	tenants := fmt.Sprintf("tenants: {hostile: {keys: [{name: e2e, secret: %q}]}, acme: ", secretFile(path, hostileKey))
	return os.WriteFile(path, []byte(strings.Replace(string(text), "tenants: {acme: ", tenants, 1)), 0o600)
}

// secretFile keeps a secret beside a configuration, and returns how that names it.
func secretFile(config, secret string) string {
	path := filepath.Join(filepath.Dir(config), secret)
	if os.WriteFile(path, []byte(secret), 0o600) != nil {
		return ""
	}
	return "file:" + path
}

// besides has a hostile tenant make a call in a loop, four at a time, while victims do something. It counts the hostile calls
// by status.
func besides(t *testing.T, s *Server, hostile Call, victims func()) map[int]int {
	t.Helper()
	hostile.Header = map[string]string{"Authorization": "Bearer " + hostileKey}
	var mu sync.Mutex
	var loops sync.WaitGroup
	var over atomic.Bool
	statuses := map[int]int{}
	began := make(chan struct{}, 4)
	for range cap(began) {
		loops.Go(func() {
			for first := true; !over.Load(); first = false {
				a := s.Do(hostile)
				mu.Lock()
				statuses[a.Status]++
				mu.Unlock()
				if first {
					began <- struct{}{}
				}
			}
		})
	}
	for range cap(began) {
		<-began
	}
	victims()
	over.Store(true)
	loops.Wait()
	return statuses
}

// A tenant that sends requests which are too large for the limits of a shared target, in a loop, gets 413 each time, and the calls of others
// go on as if nothing were: none fails, none waits for a rest.
func TestTooLargeRequestsRestNobody(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
providers: {chats: {kind: openai, base_url: %[1]s/v1}, claude: {kind: anthropic, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}}
targets: {chats: {provider: chats, upstream_model: sim-1}, messages: {provider: claude, upstream_model: sim-2}}
models: {chats: {targets: [chats]}, claude: {targets: [messages]}}
`, startSim(t)), withHostile)
	body := func(model, prompt string) string {
		return fmt.Sprintf(`{"model":%q,"max_tokens":3,"messages":[{"role":"user","content":%q}]}`, model, prompt)
	}
	for _, tt := range []struct{ name, path, model, fault string }{
		{"OpenAI", "/v1/chat/completions", "chats", "too_large"},
		{"Anthropic", "/v1/messages", "claude", "too_large"},
		{"Anthropic, translated", "/v1/chat/completions", "claude", "too_large"},
		{"413", "/v1/chat/completions", "chats", "body_too_large"},
	} {
		const calls = 30
		began := time.Now()
		statuses := besides(t, s, post(tt.path, body(tt.model, "[sim:fault="+tt.fault+"]")), func() {
			for n := range calls {
				if a := s.Do(post(tt.path, body(tt.model, "Hi"))); a.Status != http.StatusOK {
					t.Fatalf("%s: call %d of the victim: %d %s", tt.name, n, a.Status, a.Body)
				}
			}
		})
		if took := time.Since(began); took > patience {
			t.Errorf("%s: %d calls took %v", tt.name, calls, took)
		}
		if len(statuses) != 1 || statuses[http.StatusRequestEntityTooLarge] < 4 {
			t.Errorf("%s: the hostile calls were answered with %v", tt.name, statuses)
		}
	}
	a := s.Do(post("/v1/chat/completions", body("chats", "[sim:fault=too_large]")))
	for _, want := range []string{`"code":"too_large"`, `"retryable":false`, "needs 45000 tokens, and the upstream's limit is 30000"} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("%s lacks %s", a.Body, want)
		}
	}
	if strings.Contains(a.Body, "org-sim") || a.Header.Get("x-should-retry") != "false" {
		t.Errorf("%v %s", a.Header, a.Body)
	}
	job := s.Do(post("/v1/jobs", `{"model":"chats","input":"[sim:fault=too_large]"}`, "Prefer", "wait=30"))
	if !strings.Contains(job.Body, `"status":"failed"`) {
		t.Errorf("a job: %d %s", job.Status, job.Body)
	}
	if items := s.Do(get(job.Header.Get("Location") + "/results")); strings.Count(items.Body, "too_large") == 0 && job.Header.Get("Location") != "" {
		t.Errorf("its result: %s", items.Body)
	}
}

// firewalled is an upstream with a firewall that dislikes some bodies, and one key that was revoked.
type firewalled struct {
	*httptest.Server
	revoked atomic.Pointer[string]
	mu      sync.Mutex
	shown   map[string]int
}

func newFirewalled(t *testing.T) *firewalled {
	t.Helper()
	u := &firewalled{shown: map[string]int{}}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		u.mu.Lock()
		u.shown[key]++
		u.mu.Unlock()
		revoked := u.revoked.Load()
		switch {
		case strings.Contains(string(body), "DROP TABLE"):
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<html><h1>Sorry, you have been blocked</h1></html>")
		case strings.Contains(string(body), "odd proxy"), revoked != nil && key == *revoked:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
				`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// reset forgets which keys were shown, and returns how often each was.
func (u *firewalled) reset() map[string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	shown := u.shown
	u.shown = map[string]int{}
	return shown
}

// One tenant's bodies that a firewall answers with its page, or that some proxy answers with 401 whatever the key is, take no key of a provider
// away: calls of others all succeed, with every key. A key that was revoked is found all the same.
func TestForbiddenBodiesTakeNoKey(t *testing.T) {
	t.Parallel()
	u := newFirewalled(t)
	dir := filepath.Join(t.TempDir(), "penstock.yaml")
	one, two, three := secretFile(dir, "key-one"), secretFile(dir, "key-two"), secretFile(dir, "key-three")
	s := serveOne(t, fmt.Sprintf(`
providers: {chats: {kind: openai, base_url: %s/v1, api_keys: [%q, %q, %q]}}
targets: {chats: {provider: chats, upstream_model: m}}
models: {chats: {targets: [chats]}}
`, u.URL, one, two, three), withHostile)
	ask := func(prompt string) Call {
		return post("/v1/chat/completions", fmt.Sprintf(`{"model":"chats","messages":[{"role":"user","content":%q}]}`, prompt))
	}
	victims := func(calls int) {
		t.Helper()
		for n := range calls {
			if a := s.Do(ask("Hi")); a.Status != http.StatusOK {
				t.Fatalf("call %d of the victim: %d %s", n, a.Status, a.Body)
			}
		}
	}
	for _, prompt := range []string{"'; DROP TABLE users", "what an odd proxy dislikes"} {
		statuses := besides(t, s, ask(prompt), func() { victims(60) })
		// Without a success in between, all keys are doubted at last, and the error is theirs: 502.
		if statuses[http.StatusBadRequest]+statuses[http.StatusBadGateway] < 4 || statuses[http.StatusOK] > 0 {
			t.Errorf("%s: the hostile calls were answered with %v", prompt, statuses)
		}
	}
	if log := s.Output(); strings.Contains(log, "DROP") {
		t.Error("the log tells what the tenant wrote")
	}
	victims(1) // clears what is left of a doubt
	u.reset()
	victims(30)
	if shown := u.reset(); shown["key-one"] != 10 || shown["key-two"] != 10 || shown["key-three"] != 10 {
		t.Errorf("keys were shown %v times", shown)
	}
	a := s.Do(ask("'; DROP TABLE users"))
	if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"code":"upstream_rejected"`) || !strings.Contains(a.Body, `"retryable":false`) || !strings.Contains(a.Body, "refuses this request, with 403") {
		t.Errorf("a body that the firewall dislikes: %d %s", a.Status, a.Body)
	}
	revoked := "key-two"
	u.revoked.Store(&revoked)
	u.reset()
	victims(30)
	if shown := u.reset(); shown["key-two"] != 1 {
		t.Errorf("a revoked key was shown %d times", shown["key-two"])
	}
	if !strings.Contains(s.Output(), "key") {
		t.Error("the log does not tell of the key")
	}
}

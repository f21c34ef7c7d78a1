package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"penstock/internal/sim"
)

// A second identical call is answered without the upstream, recorded at no cost, and explained from the database.
func TestCacheOverHTTP(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}}
models: {fast: {targets: [sim], cache: {ttl: 10m}}}
`, upstream))
	for _, body := range []string{hiBody, `{"model":"fast","stream":true,"messages":[{"role":"user","content":"Hi"}]}`} {
		first := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: body})
		second := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: body})
		if first.Header.Get("x-penstock-cache") != "miss" || second.Header.Get("x-penstock-cache") != "hit" || first.Body != second.Body {
			t.Fatalf("%s, then %s: %s", first.Header.Get("x-penstock-cache"), second.Header.Get("x-penstock-cache"), second.Body)
		}
		var v struct {
			Cache  string
			Target string
			Usage  struct {
				Cost string `json:"cost_usd"`
			}
			Saved struct {
				OutputTokens int `json:"output_tokens"`
			}
			History []struct{ Reason string }
		}
		a := s.Do(get("/v1/requests/" + second.Header.Get("x-request-id")))
		if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
			t.Fatal(err)
		}
		if v.Cache != "hit" || v.Target != "sim" || v.Usage.Cost != "0.000000000" || v.Saved.OutputTokens != tokensPerCall ||
			len(v.History) != 1 || !strings.Contains(v.History[0].Reason, first.Header.Get("x-request-id")) {
			t.Errorf("explained as %s", a.Body)
		}
	}
	resp, err := http.Get(upstream + "/sim/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats sim.Stats
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil || stats.ByEndpoint["/v1/chat/completions"] != 2 {
		t.Errorf("the upstream was called %v, %v", stats.ByEndpoint, err)
	}
}

// A key that is refused costs no caller an answer, is said on the attempt, and is read again with the configuration.
func TestKeysOverHTTP(t *testing.T) {
	t.Parallel()
	address := FreeAddress(t)
	Start(t, nil, "sim", "--listen", address, "--api-key", "sk-right-0123456789")
	secrets := t.TempDir()
	write := func(name, secret string) string {
		path := filepath.Join(secrets, name)
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := write("first", "sk-wrong-0123456789")
	second := write("second", "sk-right-0123456789")
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: "http://%s/v1", api_keys: ["file:%s", "file:%s"]}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
`, address, first, second))
	call := func() (reason string) {
		a := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: hiBody})
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		var v struct{ History []struct{ Reason string } }
		if err := json.Unmarshal([]byte(s.Do(get("/v1/requests/"+a.Header.Get("x-request-id"))).Body), &v); err != nil || len(v.History) != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		return v.History[0].Reason
	}
	if got := call(); !strings.Contains(got, "with key 2 of 2; key 1 was turned away: auth") {
		t.Errorf("the first call: %s", got)
	}
	if got := call(); !strings.HasSuffix(got, "with key 2 of 2") {
		t.Errorf("the second call: %s", got)
	}
	if !strings.Contains(s.Output(), "a key of a provider is refused") || strings.Contains(s.Output(), "sk-wrong") {
		t.Errorf("the log does not say so, or says too much:\n%s", s.Output())
	}
	write("first", "sk-right-0123456789")
	write("second", "sk-wrong-0123456789")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	Await(t, "the new keys", func() error {
		if got := call(); !strings.HasSuffix(got, "with key 1 of 2") {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
}

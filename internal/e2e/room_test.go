package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"penstock/internal/sim"
)

// limitTest has an upstream that allows forty calls a second, in one way or the other.
type limitTest struct {
	name      string
	processes int
	flags     []string // of the upstream
	limits    string   // of the target
}

var limitTests = []limitTest{
	{"requests", 1, []string{"--requests-per-minute", "2400"}, "{requests_per_minute: 2400}"},
	{"tokens", 1, []string{"--output-tokens-per-minute", "120000"}, "{output_tokens_per_minute: 120000}"},
	{"learned", 1, []string{"--requests-per-minute", "2400"}, "{}"},
	{"three processes", 3, []string{"--requests-per-minute", "2400"}, "{requests_per_minute: 2400}"},
	{"three processes, tokens", 3, []string{"--output-tokens-per-minute", "120000"}, "{output_tokens_per_minute: 120000}"},
}

const (
	callsPerSecond = 40
	tokensPerCall  = 50
	leftAtStart    = 80 // calls that the upstream still allows when the test begins: two seconds' worth
)

// A job uses what its upstream allows to 97 % and is almost never refused. PENSTOCK_SOAK_MINUTES makes it go on for so
// long, and does not count what was left over at the start.
func TestLimitsAreUsedAndKept(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("works for ten seconds at the pace of a limit")
	}
	for _, tt := range limitTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream := startSim(t, tt.flags...)
			servers := tt.serve(t, upstream)
			drain(t, upstream)

			items, spare, most := 400, 0, int64(2)
			if n, _ := strconv.Atoi(os.Getenv("PENSTOCK_SOAK_MINUTES")); n > 0 {
				items, spare = n*60*callsPerSecond, leftAtStart
				most = max(most, int64(2*items/1800))
			}
			before, began := refusals(t, upstream), time.Now()
			var jobs []string
			for i := range items / 100 {
				jobs = append(jobs, servers[i%len(servers)].job(100))
			}
			for _, job := range jobs {
				AwaitLong(t, "the end of a job", patience+time.Duration(items/callsPerSecond)*2*time.Second, func() error {
					if got := servers[0].read(get(job)).Status; got != "succeeded" {
						return fmt.Errorf("%s is %s", job, got)
					}
					return nil
				})
			}
			used := float64(items-spare) / (time.Since(began).Seconds() * callsPerSecond)
			refused := refusals(t, upstream) - before
			t.Logf("used %.1f %% of what is allowed, %d refusals", 100*used, refused)
			if used < 0.97 || refused > most {
				t.Errorf("used %.1f %% of what is allowed with %d refusals, want at least 97 %% and at most %d", 100*used, refused, most)
			}
		})
	}
}

// startSim runs `penstock sim` and returns its URL.
func startSim(t *testing.T, flags ...string) string {
	t.Helper()
	address := FreeAddress(t)
	args := append([]string{"sim", "--listen", address, "--output-tokens", fmt.Sprint(tokensPerCall)}, flags...)
	Start(t, nil, args...)
	url := "http://" + address
	Await(t, "the simulated upstream", func() error {
		resp, err := http.Get(url + "/v1/models")
		if err == nil {
			resp.Body.Close()
		}
		return err
	})
	return url
}

// serve starts the servers, which share a database when there are several.
func (tt limitTest) serve(t *testing.T, upstream string) []*Server {
	t.Helper()
	env, database := []string{"E2E_KEY=" + Key}, ""
	if tt.processes > 1 {
		env = append(env, "E2E_DATABASE="+databaseURL(t))
		database = `database: "${E2E_DATABASE}"`
	}
	data := t.TempDir()
	var servers []*Server
	for range tt.processes {
		address := FreeAddress(t)
		path := filepath.Join(t.TempDir(), "penstock.yaml")
		err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
%s
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, limits: %s}}
models: {fast: {targets: [sim]}}
tenants: {acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), data, database, upstream, tt.limits), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
		s.AwaitReady()
		servers = append(servers, s)
	}
	return servers
}

// drain uses up the minute's worth with which the upstream starts, but for a little: a limit that is never
// reached shows nothing.
func drain(t *testing.T, upstream string) {
	t.Helper()
	for left := 60 * callsPerSecond; left > leftAtStart; {
		resp, err := http.Post(upstream+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"sim-small","messages":[{"role":"user","content":"drain"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
		resp.Body.Close()
		requests, tokens := resp.Header.Get("x-ratelimit-remaining-requests"), resp.Header.Get("x-ratelimit-remaining-tokens")
		if left, err = strconv.Atoi(requests + tokens); err != nil {
			t.Fatalf("the upstream tells of no limit, or of two: %v", resp.Header)
		}
		if tokens != "" {
			left /= tokensPerCall
		}
	}
}

// refusals is how many calls the upstream answered with 429.
func refusals(t *testing.T, upstream string) int64 {
	t.Helper()
	resp, err := http.Get(upstream + "/sim/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats sim.Stats
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		t.Fatal(err)
	}
	return stats.ByStatus[http.StatusTooManyRequests]
}

// job submits a job of n items and returns its path.
func (s *Server) job(n int) string {
	s.t.Helper()
	inputs := make([]string, n)
	for i := range inputs {
		inputs[i] = fmt.Sprintf(`{"body":{"messages":[{"role":"user","content":"question %d"}]}}`, i)
	}
	body := `{"model":"fast","inputs":[` + strings.Join(inputs, ",") + `]}`
	return "/v1/jobs/" + s.read(Call{Method: "POST", Path: "/v1/jobs", Body: body}).ID
}

type jobStatus struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

func (s *Server) read(c Call) (job jobStatus) {
	s.t.Helper()
	a := s.Do(c)
	if err := json.Unmarshal([]byte(a.Body), &job); err != nil || a.Status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", c.Method, c.Path, a.Status, a.Body)
	}
	return job
}

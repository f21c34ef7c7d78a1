package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// callerTest is clients of one key that want all of its limit, over three processes on one PostgreSQL.
type callerTest struct {
	name    string
	tenant  string
	clients [3]int // of each process
	units   int64  // that a call takes of the limit
	callerPace
}

// callerPace is how many calls a minute the limit allows, and how long a client rests that was refused. Rests keep the
// clients from spending the machine on refusals; together they still want twice the limit.
type callerPace struct {
	perMinute int
	rest      time.Duration
}

var (
	briskPace = callerPace{6000, 250 * time.Millisecond}
	easyPace  = callerPace{3000, 500 * time.Millisecond} // beside all other tests
)

var callerTests = []callerTest{
	{name: "requests, even", tenant: "even", clients: [3]int{22, 21, 21}, units: 1},
	{name: "requests, skewed", tenant: "skewed", clients: [3]int{61, 2, 1}, units: 1},
	{name: "tokens, even", tenant: "tokens", clients: [3]int{22, 21, 21}, units: tokensPerCall},
	{name: "tokens, skewed", tenant: "biased", clients: [3]int{61, 2, 1}, units: tokensPerCall},
}

// callerTries is how often clients try to use their limit, on a machine that does other things too.
const callerTries = 3

// TestCallersKeepTheirLimit holds that a key never gets more than its limit and can use 97 % of it. PENSTOCK_SOAK_MINUTES
// makes it long enough to see whole minutes, and the limit 6,000.
func TestCallersKeepTheirLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("works for twenty seconds at the pace of a limit")
	}
	run, pace := 5*time.Second, easyPace
	if n, _ := strconv.Atoi(os.Getenv("PENSTOCK_SOAK_MINUTES")); n > 0 {
		run, pace = time.Duration(n)*time.Minute, briskPace
	}
	servers := serveCallers(t, startSim(t), pace)
	for _, tt := range callerTests { // one after the other: each wants the machine for itself
		tt.callerPace = pace
		t.Run(tt.name, func(t *testing.T) {
			// What may not happen may not happen in any try; what can be done was done if one of them did it.
			used := 0.0
			for try := 0; try < callerTries && used < 0.97; try++ {
				used = tt.judge(t, tt.drive(t, servers, run))
			}
			if used < 0.97 {
				t.Errorf("%.1f %% of the limit were used, want 97 %%", 100*used)
			}
		})
	}
}

// judge holds that the limit was kept, and returns which part of it was used.
func (tt callerTest) judge(t *testing.T, log *callLog) (used float64) {
	t.Helper()
	passed, worst := log.passed.Seconds(), log.worstMinute()
	allowed := passed * float64(tt.perMinute) / 60
	used = float64(len(log.times)) / allowed
	t.Logf("%d calls in %.1f s, %.1f %% of the limit, at most %d in a minute, %d refusals", len(log.times), passed, 100*used, worst, log.refused)
	if allowed += float64(tt.perMinute) / 100; float64(len(log.times)) > allowed || worst > tt.perMinute {
		t.Errorf("%d calls were let in within %.1f s, and %d in one minute; %.0f and %d are allowed", len(log.times), passed, worst, allowed, tt.perMinute)
	}
	return used
}

// serveCallers starts three processes with a tenant for each test.
func serveCallers(t *testing.T, upstream string, pace callerPace) []*Server {
	t.Helper()
	env := []string{"E2E_DATABASE=" + databaseURL(t)}
	var tenants strings.Builder
	for _, tt := range callerTests {
		limit := fmt.Sprintf("requests_per_minute: %d", pace.perMinute)
		if tt.units > 1 {
			limit = fmt.Sprintf("output_tokens_per_minute: %d", int64(pace.perMinute)*tt.units)
		}
		fmt.Fprintf(&tenants, "  %s: {keys: [{name: app, secret: \"psk_e2e_limits_%s_7gq2xk9dmw4ztfv8hsb3rnj6cp\", limits: {%s, burst: 0.01}}]}\n", tt.tenant, tt.tenant, limit)
	}
	data := t.TempDir()
	var servers []*Server
	for range 3 {
		address := FreeAddress(t)
		path := filepath.Join(t.TempDir(), "penstock.yaml")
		err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
database: "${E2E_DATABASE}"
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
tenants:
%s`, address, FreeAddress(t), data, upstream, secretsFromEnv(tenants.String(), &env)), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
		s.AwaitReady()
		servers = append(servers, s)
	}
	return servers
}

// secretsFromEnv moves secrets to the environment, since a file may not hold them.
func secretsFromEnv(tenants string, env *[]string) string {
	for _, tt := range callerTests {
		name := "E2E_KEY_" + strings.ToUpper(tt.tenant)
		*env = append(*env, name+"="+tt.secret())
		tenants = strings.Replace(tenants, tt.secret(), "${"+name+"}", 1)
	}
	return tenants
}

func (tt callerTest) secret() string {
	return "psk_e2e_limits_" + tt.tenant + "_7gq2xk9dmw4ztfv8hsb3rnj6cp"
}

// callLog is what clients saw.
type callLog struct {
	mu      sync.Mutex
	times   []time.Time // of calls that were let in
	refused int
	passed  time.Duration
}

// worstMinute is the most calls that were let in within any minute.
func (l *callLog) worstMinute() int {
	slices.SortFunc(l.times, time.Time.Compare)
	worst, first := 0, 0
	for i, at := range l.times {
		for at.Sub(l.times[first]) >= time.Minute {
			first++
		}
		worst = max(worst, i-first+1)
	}
	return worst
}

// drive lets all clients call for a while.
func (tt callerTest) drive(t *testing.T, servers []*Server, d time.Duration) *callLog {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	log, began := &callLog{}, time.Now()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var clients sync.WaitGroup
	for i, s := range servers {
		for range tt.clients[i] {
			clients.Go(func() {
				if err := tt.call(ctx, client, s.URL, log); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
	}
	clients.Wait()
	log.passed = d // what came later does not count: on a busy machine it takes clients a while to leave
	log.times = slices.DeleteFunc(log.times, func(at time.Time) bool { return at.After(began.Add(d)) })
	return log
}

// call makes one call after the other, until ctx ends.
func (tt callerTest) call(ctx context.Context, client *http.Client, url string, log *callLog) error {
	body := `{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+tt.secret())
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		wait := time.Duration(0)
		log.mu.Lock()
		switch resp.StatusCode {
		case http.StatusOK:
			log.times = append(log.times, time.Now())
		case http.StatusTooManyRequests:
			log.refused++
			wait = tt.rest/2 + rand.N(tt.rest)
		default:
			err = fmt.Errorf("%s: %s", resp.Status, text)
		}
		log.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

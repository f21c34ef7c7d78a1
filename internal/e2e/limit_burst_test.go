package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// keyedCall is a call that must not run twice, whose caller leaves while it runs.
func keyedCall(t *testing.T, s *Server, call Call) (job string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = s.Try(ctx, call)
	}()
	list := get("/v1/jobs")
	list.Header = map[string]string{"Authorization": call.Header["Authorization"]}
	Await(t, "the call to run as a job", func() error {
		a := s.Do(list)
		jobs := listOf(t, a.Body)
		if len(jobs) != 1 {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		job = readAs[jobAnswer](t, Answer{Status: http.StatusOK, Body: string(jobs[0])}).ID
		return nil
	})
	leave()
	<-left
	return job
}

// refusedUntilEnded makes calls until one passes, and holds that it did when the job had ended and not before.
func refusedUntilEnded(t *testing.T, s *Server, call Call, job string) {
	t.Helper()
	look := get("/v1/jobs/" + job)
	look.Header = map[string]string{"Authorization": call.Header["Authorization"]}
	refused := 0
	AwaitLong(t, "a call to pass", time.Minute, func() error {
		a := s.Do(call)
		if a.Status == http.StatusTooManyRequests && strings.Contains(a.Body, "runs 1 of 1 calls at a time") {
			refused++
			return fmt.Errorf("refused")
		}
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	if a := s.Do(look); refused == 0 || !strings.Contains(a.Body, `"status":"succeeded"`) {
		t.Errorf("a call passed after %d were refused, while the job is %s", refused, a.Body)
	}
}

// A call with an Idempotency-Key counts against its caller's concurrency until its job ends: when the caller has left,
// when the process that accepted it was killed, and in whatever process the job runs.
func TestKeyedCallsCountUntilTheirJobEnds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills servers and waits for leases")
	}
	slow := func(secret string) Call {
		return madeKey{Secret: secret}.as(post(chatPath, ask("Slow [sim:latency=4s]", `"model":"fast"`), "Idempotency-Key", "once"))
	}
	plain := func(secret string) Call {
		return madeKey{Secret: secret}.as(post(chatPath, ask("Hi", `"model":"fast"`)))
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "penstock.yaml")
		address := FreeAddress(t)
		err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
work: {lease_timeout: 2s}
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
tenants: {acme: {limits: {concurrency: 1, wait: 0s}, keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), t.TempDir(), startSim(t)), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		start := func() *Server {
			s := &Server{Process: Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path), URL: "http://" + address}
			s.AwaitReady()
			return s
		}
		s := start()
		job := keyedCall(t, s, slow(Key))
		if a := s.Do(plain(Key)); a.Status != http.StatusTooManyRequests {
			t.Errorf("a second call at a time: %d %s", a.Status, a.Body)
		}
		s.Kill()
		refusedUntilEnded(t, start(), plain(Key), job)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		there := c.join("api")
		c.join("worker")
		at := operators{there.admin}
		at.makeTenant(t, "search")
		k := at.makeKey(t, "search", "app")
		patch := post("/admin/v1/keys/"+k.ID, `{"limits":{"concurrency":1,"wait":"0s"}}`)
		patch.Method = http.MethodPatch
		if a := at.Do(patch); a.Status != http.StatusOK || !strings.Contains(a.Body, `"wait":"0s"`) {
			t.Fatalf("limits: %d %s", a.Status, a.Body)
		}
		Await(t, "the key to be known", func() error {
			if a := c.api.endpoint.Do(plain(k.Secret)); a.Status != http.StatusOK || a.Header.Get("RateLimit") != "" {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
		job := keyedCall(t, c.api.endpoint, slow(k.Secret))
		if a := there.endpoint.Do(plain(k.Secret)); a.Status != http.StatusTooManyRequests {
			t.Errorf("a second call at a time, at another process: %d %s", a.Status, a.Body)
		}
		c.api.Kill()
		refusedUntilEnded(t, there.endpoint, plain(k.Secret), job)
	})
}

// A plain loop never meets a limit per minute: it is slowed down. What waited says so.
func TestLoopsAreSlowedDown(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
`, startSim(t)), tenantWith(`limits: {requests_per_minute: 600}`))
	waited := 0
	for n := range 45 { // 30 at once, the others at 9.5 a second
		a := s.Do(post(chatPath, ask("Hi", `"model":"fast"`)))
		if a.Status != http.StatusOK {
			t.Fatalf("call %d: %d %s", n, a.Status, a.Body)
		}
		if ms, err := strconv.Atoi(a.Header.Get("x-penstock-limit-wait-ms")); err == nil && ms > 0 && ms < 2000 {
			waited++
		}
	}
	if waited == 0 {
		t.Error("no answer says that its call waited")
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"penstock/internal/backlog"
)

// loaded is a harness at an admin API that tells of some load.
func loaded(t *testing.T, asked chan<- struct{}) *harness {
	t.Helper()
	rate, empty, service := 12.5, 3600.0, 2.25
	report := backlog.LoadReport{Report: backlog.Report{
		Current: true, Slots: 70, Workers: 2, Process: backlog.Process{Name: "local", Works: true, Slots: 56, PoolSlots: 8, InUse: 7},
		Total: backlog.Row{Ready: 45000, Parked: 2, Running: 7, ItemsPerSecond: 12.5},
		Lanes: []backlog.Row{{Name: "bulk", Ready: 45000, Parked: 2, Running: 7, OldestSeconds: 300, ItemsPerSecond: 12.5,
			TokensPerSecond: 5000, DrainPerSecond: &rate, EmptyInSeconds: &empty, ServiceSeconds: &service}},
		Tenants: []backlog.Row{{Name: "search", Ready: 44000}, {Name: "sales\x1b[31m", Ready: 1000}},
		Models:  []backlog.Row{{Name: "fast", Ready: 45000, ServiceSeconds: new(float64)}},
	}, Targets: []backlog.TargetLoad{
		{Name: "mini", State: backlog.TargetOpen, Running: 7, Permits: 64, CallsPerSecond: 9.6, Throttles: 1, Limits: []backlog.TargetRate{
			{Resource: "requests", PerMinute: 1200, Used: 576, Learned: true}, {Resource: "input_tokens", PerMinute: 200000, Used: 38400},
		}},
		{Name: "spare", State: backlog.TargetResting, Permits: 8, RestSeconds: 11.2},
	}}
	admin := http.NewServeMux()
	admin.HandleFunc("GET /admin/v1/load", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(report)
		if asked != nil {
			asked <- struct{}{}
		}
	})
	server := httptest.NewServer(proving(t, admin))
	t.Cleanup(server.Close)
	d := newHarness(t)
	d.env["PENSTOCK_ADMIN_URL"] = server.URL
	return d
}

func TestTop(t *testing.T) {
	t.Parallel()
	d := loaded(t, nil)
	const want = `45k ready, 2 parked, 7 running; 12/s started; 70 slots wanted, 7 of 64 in use here (local)

LANE  READY  PARKED  RUNNING  OLDEST  STARTED/S  MAX TOKENS/S  ITEM TAKES  EMPTY IN
bulk  45k    2       7        5m      12         5000          2.25s       60m

TENANT  READY  PARKED  RUNNING  OLDEST  STARTED/S  MAX TOKENS/S  ITEM TAKES  EMPTY IN
search  44k    0       0        0s      0          0             -           -
and 1 more; --rows shows them

MODEL  READY  PARKED  RUNNING  OLDEST  STARTED/S  MAX TOKENS/S  ITEM TAKES  EMPTY IN
fast   45k    0       0        0s      0          0             -           -

TARGET  STATE  CALLS  CALLS/S  REFUSED  LIMITS
mini    open   7/64   9.6      1        576/~1200 requests, 38.4k/200k input tokens
and 1 more; --rows shows them
`
	check(t, d.run("top", "--rows", "1"), typed{stdout: want})
	if got := d.ok("top"); !strings.Contains(got, "\nsales [31m  1000") || !strings.Contains(got, "\nspare   resting 12s  0/8 ") {
		t.Errorf("a name that acts on terminals, or a target that rests:\n%s", got)
	}
	var report backlog.LoadReport
	if err := json.Unmarshal([]byte(d.ok("top", "-o", "json")), &report); err != nil || report.Workers != 2 || len(report.Tenants) != 2 || len(report.Targets) != 2 {
		t.Errorf("as JSON: %v, %+v", err, report)
	}
	url := d.env["PENSTOCK_ADMIN_URL"]
	d.env["PENSTOCK_ADMIN_URL"] = "http://127.0.0.1:1"
	check(t, d.run("top", "--admin-url", url, "--rows", "1"), typed{stdout: want})
	check(t, d.run("top"), typed{code: exitError,
		stderr: "penstock: no server listens on http://127.0.0.1:1; set --admin-url or PENSTOCK_ADMIN_URL to the admin_listen of a server\n"})
	for _, wrong := range [][]string{{"--rows", "0"}, {"--interval", "1ms"}, {"--admin-url", "127.0.0.1:9090"}, {"extra"}} {
		if got := d.run(append([]string{"top"}, wrong...)...); got.code != exitUsage {
			t.Errorf("top %v: %+v", wrong, got)
		}
	}
}

// Whoever is refused is told where the key is.
func TestTopWithoutTheKey(t *testing.T) {
	t.Parallel()
	admin := httptest.NewServer(proving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":"invalid_key","message":"This API key is unknown; check that it belongs to this server."}}`)
	})))
	t.Cleanup(admin.Close)
	check(t, newHarness(t).run("top", "--admin-url", admin.URL), typed{code: exitError,
		stderr: "penstock: invalid_key: This API key is unknown; check that it belongs to this server; set PENSTOCK_ADMIN_KEY to an admin key of " + strings.TrimPrefix(admin.URL, "http://") +
			": admin.key in its configuration, or else the file admin-key in its data directory\n"})
}

// On a terminal the picture is renewed until the person has seen enough.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	d := loaded(t, asked)
	d.terminal = true
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer stop()
		for range 3 {
			<-asked
		}
	}()
	got := d.runWith(ctx, "top", "--interval", "100ms")
	if got.code != exitOK || strings.Count(got.stdout, "\x1b[H\x1b[J45k ready") < 2 {
		t.Errorf("%+v", got)
	}
}

// listeners starts the real server and returns the addresses of its two listeners.
func (d *harness) listeners(path string) (api, admin string) {
	d.t.Helper()
	r := d.starts("serve", "--config", path, "-o", "json")
	var at struct{ API, Admin string }
	if err := json.Unmarshal([]byte(r.line()), &at); err != nil {
		d.t.Fatal(err)
	}
	return at.API, at.Admin
}

// submitted is a job sent over HTTP, as any caller would.
func submitted(t *testing.T, api, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/v1/jobs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// A real server whose queue is full says so, to whom it concerns, and shows it.
func TestServeBackpressure(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bounds string
		status int
		code   string
	}{
		"the tenant's bound": {"queue: {max_items: 100, tenant_max_items: 4}\n", http.StatusTooManyRequests, "queue_full"},
		"a bound of its own": {"queue: {max_items: 100, tenant_max_items: 2}\n", http.StatusTooManyRequests, "queue_full"},
		"the whole queue's":  {"queue: {max_items: 4}\n", http.StatusServiceUnavailable, "overloaded"}, // half of it is another tenant's
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := goodDesk(t)
			d.env["OTHER_KEY"] = "psk_other_7gq2xk9dmw4ztfv8hsb3rnj6cp"
			text := strings.Replace(goodYAML, "http://127.0.0.1:1", upstream(t), 1) + `  other: {keys: [{name: app, secret: "${OTHER_KEY}"}]}
work: {slots: 1}
shutdown_grace: 1s
` + tt.bounds
			if strings.Contains(name, "own") {
				text = strings.Replace(text, "demo: {keys", "demo: {limits: {queued_items: 4}, keys", 1)
			}
			api, admin := d.listeners(write(t, "penstock.yaml", text))
			// One item hangs in the only slot, four wait behind it.
			submitted(t, api, `{"model":"fast","input":"[sim:fault=hang]"}`)
			awaitLoad(t, admin, func(r backlog.LoadReport) bool { return r.Total.Running == 1 })
			job := `{"model":"fast","inputs":[{"body":{"messages":[{"role":"user","content":"a"}]}},{"body":{"messages":[{"role":"user","content":"b"}]}}]}`
			if resp := submitted(t, api, job, "Idempotency-Key", "once"); resp.StatusCode != http.StatusAccepted {
				t.Fatal(resp.Status)
			}
			second := testKey
			if tt.code == "overloaded" {
				second = d.env["OTHER_KEY"]
			}
			awaitAccepted(t, func() *http.Response { return submitted(t, api, job, "Authorization", "Bearer "+second) })
			refused := submitted(t, api, job)
			var e struct {
				Error struct{ Code, Message string }
			}
			if err := json.NewDecoder(refused.Body).Decode(&e); err != nil {
				t.Fatal(err)
			}
			if refused.StatusCode != tt.status || e.Error.Code != tt.code || refused.Header.Get("Retry-After") != "30" || refused.Header.Get("x-should-retry") != "true" {
				t.Errorf("refused with %s, %+v, %v", refused.Status, e.Error, refused.Header)
			}
			if again := submitted(t, api, job, "Idempotency-Key", "once"); again.StatusCode != http.StatusAccepted || again.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("a job that was accepted before is answered with %s", again.Status)
			}
			awaitLoad(t, admin, func(r backlog.LoadReport) bool { return r.Total.Ready == 4 && len(r.Tenants) > 0 })
			shown := d.ok("top", "--admin-url", admin)
			if !strings.Contains(shown, "4 ready, 0 parked, 1 running;") || !strings.Contains(shown, "1 of 1 in use here (local)") ||
				!strings.Contains(shown, "\nmini    open   1/64 ") {
				t.Errorf("top shows\n%s", shown)
			}
		})
	}
}

// awaitAccepted submits until it is let in: a job that is accepted while the backlog is being read counts twice until
// the next read.
func awaitAccepted(t *testing.T, submit func() *http.Response) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		resp := submit()
		if resp.StatusCode == http.StatusAccepted {
			return
		}
		select {
		case <-deadline:
			t.Fatal(resp.Status)
		case <-tick.C:
		}
	}
}

// awaitLoad waits until the server's picture of its load is as wanted.
func awaitLoad(t *testing.T, admin string, want func(backlog.LoadReport) bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		report, err := readLoad(t.Context(), admin)
		if err == nil && want(report) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("the load is %+v, %v", report, err)
		case <-tick.C:
		}
	}
}

func readLoad(ctx context.Context, admin string) (report backlog.LoadReport, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/admin/v1/load", nil)
	if err != nil {
		return report, err
	}
	req.Header.Set("Authorization", "Bearer "+testAdminKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return report, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body) // what can be had of it is enough for a message
		return report, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return report, json.NewDecoder(resp.Body).Decode(&report)
}

func TestReadableNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 9999: "9999", 10_000: "10k", 38_449: "38.4k", 999_949: "1000k", 999_950: "1M", 1_234_567: "1.2M", 250_000_000: "250M", 7_000_000_000: "7G", 5e15: "5000T"} {
		if got := readable(n); got != want {
			t.Errorf("%d is shown as %s, want %s", n, got, want)
		}
	}
}

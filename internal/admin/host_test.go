package admin

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/telemetry"
)

func TestOwnHosts(t *testing.T) {
	t.Parallel()
	named := []string{"penstock.internal"}
	for _, tt := range []struct {
		host           string
		local, network bool // whether it may be called so over loopback, and over the network
	}{
		{"", true, true},
		{"localhost", true, false},
		{"localhost:9090", true, false},
		{"LocalHost.:9090", true, false},
		{"penstock.localhost:9090", true, false},
		{"127.0.0.1:9090", true, true},
		{"127.7.7.7", true, true},
		{"[::1]:9090", true, true},
		{"[::1]", true, true},
		{"[::ffff:127.0.0.1]:9090", true, true},
		{"10.1.2.3:9090", false, true},
		{"[2001:db8::1]:9090", false, true},
		{"penstock.internal:9090", true, true},
		{"PENSTOCK.internal.", true, true},
		{"evil.example", false, false},
		{"evil.example:9090", false, false},
		{"localhost.evil.example", false, false},
		{"127.0.0.1.evil.example:9090", false, false},
		{"127.0.0.1.nip.io", false, false},
		{"0x7f000001", false, false},
		{"2130706433", false, false},
		{"penstock.internal.evil.example", false, false},
		{"evil.example\\penstock.internal", false, false},
		{"notpenstock.internal", false, false},
	} {
		if got := isOwnHost(tt.host, overLoopback, named); got != tt.local {
			t.Errorf("%q over loopback: %v", tt.host, got)
		}
		if got := isOwnHost(tt.host, overNetwork, named); got != tt.network {
			t.Errorf("%q over the network: %v", tt.host, got)
		}
	}
}

// adminRig is the admin API with three keys: of operators, of metrics, and of a tenant.
type adminRig struct {
	handler                http.Handler
	admin, scraper, tenant string
}

func newAdminRig(t *testing.T) adminRig {
	t.Helper()
	r := adminRig{admin: rand.Text() + rand.Text(), scraper: rand.Text() + rand.Text(), tenant: rand.Text() + rand.Text()}
	snapshot, err := config.NewSnapshot(config.File{
		Process: config.Process{Data: t.TempDir(), Admin: config.Admin{
			Key: config.NewSecret(r.admin), MetricsKey: config.NewSecret(r.scraper), Hosts: []string{"penstock.internal"}}},
		Tenants: map[string]config.TenantConfig{"search": {Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(r.tenant)}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	live := config.NewLive(snapshot)
	dir := directory.New(directory.Deps{Config: live, Clock: time.Now})
	key, err := directory.LoadAdminKey(r.admin, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Deps{
		Config: live, Directory: dir, Operators: &directory.Operators{Admin: key, Directory: dir, Throttle: directory.NewThrottle(time.Now)},
		Ready: func(context.Context) error { return nil }, Hosts: snapshot.Process.Admin.Hosts, MetricsKey: snapshot.Process.Admin.MetricsKey,
		Load: func() backlog.LoadReport { return backlog.LoadReport{} }, Metrics: telemetry.NewMetrics("test", ""), Tracer: tracer, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.handler = s.Handler()
	return r
}

// status calls the admin API as if the connection came in at an address of this machine.
func (r adminRig) status(at, host, path, key string) int {
	local, _ := net.ResolveTCPAddr("tcp", at)
	q := httptest.NewRequestWithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(local)), http.MethodGet, path, nil)
	q.Host = host
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	_, _ = io.Copy(io.Discard, w.Body)
	return w.Code
}

// Metrics and profiles need a key over the network and none over loopback; the key of metrics is good for metrics alone.
func TestMetricsNeedAKeyOffLoopback(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t)
	const loopback, network = "127.0.0.1:9090", "10.1.2.3:9090"
	for _, tt := range []struct {
		at, path, key string
		want          int
	}{
		{loopback, "/metrics", "", 200},
		{loopback, "/debug/pprof/", "", 200},
		{loopback, "/debug/pprof/cmdline", "", 200},
		{"[::1]:9090", "/metrics", "", 200},
		{network, "/metrics", "", 401},
		{network, "/metrics", "wrong" + rand.Text(), 401},
		{network, "/metrics", r.tenant, 403},
		{network, "/metrics", r.scraper, 200},
		{network, "/metrics", r.admin, 200},
		{network, "/debug/pprof/", "", 401},
		{network, "/debug/pprof/heap", "", 401},
		{network, "/debug/pprof/cmdline", r.scraper, 401},
		{network, "/debug/pprof/profile", r.tenant, 403},
		{network, "/debug/pprof/cmdline", r.admin, 200},
		{"[2001:db8::1]:9090", "/metrics", "", 401},
		{network, "/healthz", "", 200},
		{network, "/readyz", "", 200},
		{network, "/admin/v1/load", r.scraper, 401},
		{loopback, "/admin/v1/load", "", 401},
	} {
		if got := r.status(tt.at, tt.at, tt.path, tt.key); got != tt.want {
			t.Errorf("%s at %s: %d, want %d", tt.path, tt.at, got, tt.want)
		}
	}
}

// No path answers for a name that is not ours, with whatever key.
func TestAdminRefusesOtherHosts(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t)
	for _, path := range []string{"/metrics", "/debug/pprof/", "/healthz", "/readyz", "/admin/v1/load", "/nothing"} {
		for _, at := range []string{"127.0.0.1:9090", "10.1.2.3:9090"} {
			if got := r.status(at, "evil.example:9090", path, r.admin); got != http.StatusMisdirectedRequest {
				t.Errorf("%s at %s: %d", path, at, got)
			}
			if got := r.status(at, "penstock.internal:9090", path, ""); got == http.StatusMisdirectedRequest {
				t.Errorf("%s at %s is refused under its own name", path, at)
			}
		}
	}
}

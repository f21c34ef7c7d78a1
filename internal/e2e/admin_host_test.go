package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// TestAdminHost holds that the admin API of the real server answers to its own names alone: a page that has its name point at
// this machine reads nothing, with or without a key. Callers' own API has any name.
func TestAdminHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	r.more = "admin: {hosts: [penstock.internal]}"
	r.configure()
	r.start(death{})
	port := r.admin.URL[strings.LastIndex(r.admin.URL, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "penstock.internal" + port: 200,
		"evil.example" + port: 421, "evil.example": 421, "127.0.0.1.nip.io" + port: 421, "10.1.2.3" + port: 421,
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/readyz", "/admin/v1/keys"} {
			if got := r.statusAs(r.admin.URL+path, host); got != want {
				t.Errorf("%s for %s is answered with %d, want %d", path, host, got, want)
			}
		}
		if got := r.statusAs(r.endpoint.URL+"/v1/models", host); got != http.StatusOK {
			t.Errorf("the API for %s is answered with %d", host, got)
		}
	}
}

// statusAs calls a URL under another host's name, with a key that is good for it.
func (r *rig) statusAs(url, host string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Authorization", "Bearer "+Key)
	if strings.HasPrefix(url, r.admin.URL) {
		req.Header.Set("Authorization", "Bearer "+AdminKey)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

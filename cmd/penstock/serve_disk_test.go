package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestServeOnALowDisk holds that a server whose disk is nearly full takes no new jobs and says why, while
// whoever reads, deletes or calls a model gets through.
func TestServeOnALowDisk(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	text := strings.Replace(goodYAML, "http://127.0.0.1:1", upstream(t), 1)
	server := d.serves(write(t, "penstock.yaml", text))
	d.ok("jobs", "submit", "-m", "fast", "--wait", "--idempotency-key", "once", "Hello")
	if code, stderr := server.result(); code != exitOK {
		t.Fatalf("stopped with %d: %s", code, stderr)
	}

	path := write(t, "low.yaml", text+"disk: {min_free: 1024TiB}\n")
	server = d.serves(path)
	base := d.env["PENSTOCK_URL"]
	refused := ask(t, http.MethodPost, base+"/v1/jobs", `{"model":"fast","input":"Hello"}`)
	if refused.status != http.StatusServiceUnavailable || refused.header.Get("Retry-After") != "30" ||
		!strings.Contains(refused.body, `"code":"overloaded"`) || !strings.Contains(refused.body, "short of disk space") {
		t.Errorf("a new job: %+v", refused)
	}
	if ready := ask(t, http.MethodGet, base+"/readyz", ""); ready.status != http.StatusOK ||
		!strings.Contains(ready.body, `"status":"degraded"`) || !strings.Contains(ready.body, "short of disk space") {
		t.Errorf("readiness: %+v", ready)
	}
	if got := d.ok("jobs", "submit", "-m", "fast", "--wait", "--idempotency-key", "once", "Hello"); len(strings.Fields(got)) != 3 {
		t.Errorf("the job that is there already: %q", got)
	}
	synchronous(t, base)
	listed := strings.Fields(d.ok("jobs", "list"))
	id := listed[slices.IndexFunc(listed, func(word string) bool { return strings.HasPrefix(word, "job_") })]
	if got := d.ok("jobs", "delete", id); got != "Deleted  "+id+"\n" {
		t.Errorf("delete: %q", got)
	}
	if gone := d.run("jobs", "get", id); gone.code != exitError || !strings.Contains(gone.stderr, "There is no "+id) {
		t.Errorf("the deleted job: %+v", gone)
	}
	if code, stderr := server.result(); code != exitOK || !strings.Contains(stderr, "a disk is nearly full") {
		t.Errorf("stopped with %d: %s", code, stderr)
	}
	if got := d.ok("ledger", "verify", "-c", path); !strings.HasSuffix(got, " for 0 finished items and 1 requests: 0 problems.\n") {
		t.Errorf("ledger: %s", got)
	}
}

type answered struct {
	status int
	header http.Header
	body   string
}

// ask makes a call with the test's key.
func ask(t *testing.T, method, url, body string) answered {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{resp.StatusCode, resp.Header, string(text)}
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"penstock/internal/sim"
)

// upstream is a simulated model server.
func upstream(t *testing.T) string {
	t.Helper()
	model, err := sim.New(sim.Config{OutputTokens: 3})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(model)
	t.Cleanup(func() { model.Close(); server.Close() })
	return server.URL
}

// serves starts the real server on a configuration and points the harness at it.
func (d *harness) serves(path string) *running {
	d.t.Helper()
	r := d.starts("serve", "--config", path, "-o", "json")
	var at struct{ API, Admin string }
	if err := json.Unmarshal([]byte(r.line()), &at); err != nil {
		d.t.Fatal(err)
	}
	d.env["PENSTOCK_URL"], d.env["PENSTOCK_ADMIN_URL"] = at.API, at.Admin
	return r
}

// The whole program, in process: every command against the real server.
func TestServeAndWork(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	path := write(t, "penstock.yaml", strings.Replace(goodYAML, "http://127.0.0.1:1", upstream(t), 1))
	server := d.serves(path)

	if got := d.ok("models", "list"); got != "MODEL  OWNED BY\nfast   penstock\n" {
		t.Errorf("models:\n%s", got)
	}
	if got := d.ok("jobs", "submit", "-m", "fast", "--wait", "Hello"); len(strings.Fields(got)) != 3 {
		t.Errorf("the answer is %q, want 3 words", got)
	}

	inputs := write(t, "inputs.jsonl", ""+
		`{"custom_id":"good","body":{"messages":[{"role":"user","content":"Hi [sim:fault=overloaded times=1]"}]}}`+"\n"+
		`{"custom_id":"bad","body":{"messages":[{"role":"user","content":"Hi [sim:fault=bad_request]"}]}}`+"\n")
	id := strings.TrimSpace(d.ok("jobs", "submit", "-m", "fast", "--file", inputs, "--idempotency-key", "once", "--tag", "run=1"))
	if again := strings.TrimSpace(d.ok("jobs", "submit", "-m", "fast", "--file", inputs, "--idempotency-key", "once", "--tag", "run=1")); again != id {
		t.Errorf("the same key made a second job %s, not %s", again, id)
	}
	watched := d.run("jobs", "watch", id)
	if watched.code != exitItemsFailed || !strings.Contains(watched.stdout, id+" succeeded: 2: 1 succeeded, 1 failed; ") {
		t.Errorf("watch: %+v", watched)
	}
	if got := d.ok("jobs", "list", "--tag", "run:1", "--status", "succeeded"); strings.Count(got, "\n") != 2 || !strings.Contains(got, id) {
		t.Errorf("list:\n%s", got)
	}
	var failed struct {
		ItemID   string `json:"item_id"`
		CustomID string `json:"custom_id"`
	}
	if err := json.Unmarshal([]byte(d.ok("jobs", "results", id, "--status", "failed", "-o", "json")), &failed); err != nil || failed.CustomID != "bad" {
		t.Fatalf("results: %v, %+v", err, failed)
	}
	if got := d.ok("items", "get", failed.ItemID); !strings.Contains(got, "upstream_rejected: ") || !strings.Contains(got, "\n1  mini    ") {
		t.Errorf("item:\n%s", got)
	}
	if got := d.ok("dead-letters", "list"); !strings.Contains(got, failed.ItemID) {
		t.Errorf("dead letters:\n%s", got)
	}
	if got := d.ok("jobs", "cancel", id, "-o", "json"); !strings.Contains(got, `"status":"succeeded"`) {
		t.Errorf("cancelled too late: %s", got)
	}
	request := synchronous(t, d.env["PENSTOCK_URL"])
	if got := d.ok("requests", "get", request); !strings.Contains(got, "\n1  mini    ") {
		t.Errorf("request:\n%s", got)
	}

	if code, stderr := server.result(); code != exitOK {
		t.Fatalf("stopped with %d: %s", code, stderr)
	}
	if got := d.ok("ledger", "verify", "-c", path); !strings.HasSuffix(got, " for 3 finished items and 1 requests: 0 problems.\n") {
		t.Errorf("ledger: %s", got)
	}
	if got := d.ok("db", "migrate", "-c", path); !strings.HasPrefix(got, "The schema is up to date: version ") {
		t.Errorf("db: %s", got)
	}
	found, _ := findings(t, d, "-c", path)
	if f := found["database"]; f.Status != healthOK || !strings.Contains(f.Detail, "schema version") {
		t.Errorf("doctor: %+v", f)
	}
}

// synchronous makes a chat completion and returns its request id.
func synchronous(t *testing.T, base string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions",
		strings.NewReader(`{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	return resp.Header.Get("x-request-id")
}

func TestServeReloadsOnHangup(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	path := write(t, "penstock.yaml", goodYAML)
	server := d.serves(path)
	reload := func(text string) {
		t.Helper()
		next := path + ".next" // renamed, so that no half of it can be read
		if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, path)); err != nil {
			t.Fatal(err)
		}
		d.hangups <- struct{}{}
	}
	reload(strings.Replace(goodYAML, "models:\n", "models:\n  smart: {targets: [mini]}\n", 1))
	poll(t, func() bool { return strings.Contains(d.ok("models", "list"), "smart ") })
	reload("colour: red\n")
	poll(t, func() bool { return strings.Contains(server.log.String(), "colour") })
	if got := d.ok("models", "list"); !strings.Contains(got, "smart ") {
		t.Errorf("a file with problems changed something:\n%s", got)
	}
	if code, stderr := server.result(); code != exitOK {
		t.Errorf("stopped with %d: %s", code, stderr)
	}
}

func TestOneProcessPerDataDirectory(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	path := write(t, "penstock.yaml", goodYAML)
	d.serves(path)
	check(t, d.run("db", "migrate", "-c", path), typed{code: exitError, stderr: fmt.Sprintf("penstock: the data directory %s is in use by "+
		"another penstock process; stop that one, or set PENSTOCK_DATA to another directory\n", d.env["PENSTOCK_DATA"])})
	// Reading the books does not disturb it.
	d.ok("ledger", "verify", "-c", path)
}

func TestDevLeavesItsKeyForTheOtherCommands(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	delete(d.env, "PENSTOCK_API_KEY")
	d.env["PENSTOCK_LISTEN"] = "127.0.0.1:0"
	dev := d.starts("dev")
	for d.env["PENSTOCK_URL"] == "" {
		if name, url, ok := strings.Cut(strings.TrimSpace(dev.line()), " "); ok && name == "API" {
			d.env["PENSTOCK_URL"] = strings.TrimSpace(url)
		}
	}
	if got := d.ok("jobs", "submit", "-m", "any-model-at-all", "--wait", "[sim:tokens=4]"); len(strings.Fields(got)) != 4 {
		t.Errorf("the answer is %q, want 4 words", got)
	}
	if info, err := os.Stat(filepath.Join(d.env["PENSTOCK_DATA"], "dev-key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}
	if code, stderr := dev.result(); code != exitOK {
		t.Errorf("stopped with %d: %s", code, stderr)
	}
	if got := d.ok("ledger", "verify", "-o", "json"); got != `{"entries":2,"items":1,"requests":0,"problems":[]}`+"\n" {
		t.Errorf("ledger: %s", got)
	}
}

func TestLedgerProblemsAreAnError(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	var stdout, stderr strings.Builder
	sh := d.shell(&stdout, &stderr)
	err := sh.printLedger(ledgerReport{Entries: 2, Items: 1, Problems: []string{"item ended without a settlement: X"}})
	if err == nil || !strings.HasPrefix(err.Error(), "the ledger is wrong in 1 place; ") {
		t.Errorf("error %v", err)
	}
	if want := "item ended without a settlement: X\n2 entries for 1 finished items and 0 requests: 1 problem.\n"; stdout.String() != want {
		t.Errorf("it prints %q, want %q", stdout.String(), want)
	}
}

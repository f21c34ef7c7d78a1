package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// The verbs against a real server.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	d := goodDesk(t)
	d.env["USER"] = "ada"
	server := d.serves(write(t, "penstock.yaml", strings.Replace(goodYAML, "http://127.0.0.1:1", upstream(t), 1)))

	if got := d.run("controls", "list"); got.code != exitOK || got.stdout != "" || got.stderr != "Nothing is paused.\n" {
		t.Errorf("list: %+v", got)
	}
	for _, verb := range []string{"pause", "drain"} {
		const would = "Dry run, nothing was changed: the lane bulk would be "
		if got := d.ok("lanes", verb, "bulk", "--dry-run"); !strings.HasPrefix(got, would) {
			t.Errorf("%s, dry: %q", verb, got)
		}
	}
	if got := d.run("controls", "list"); got.stderr != "Nothing is paused.\n" {
		t.Errorf("after dry runs: %+v", got)
	}
	if got := d.ok("lanes", "pause", "bulk", "--reason", "night shift"); got != "The lane bulk is paused.\n" {
		t.Errorf("pause: %q", got)
	}
	if got := d.ok("models", "drain", "fast"); got != "The model fast is drained.\n" {
		t.Errorf("drain: %q", got)
	}
	if got := d.run("targets", "drain", "mini"); got.stdout != "The target mini is drained.\n" || !strings.HasPrefix(got.stderr, "Waiting until the target mini is drained") {
		t.Errorf("drain of a target: %+v", got)
	}
	list := strings.Split(d.ok("controls", "list"), "\n")
	if len(list) != 5 || !strings.HasPrefix(list[1], "lane    bulk  paused   0        ") || !strings.HasSuffix(list[1], "  ada  night shift") ||
		!strings.HasPrefix(list[3], "target  mini  drained  0        ") {
		t.Errorf("list:\n%s", strings.Join(list, "\n"))
	}
	if got := d.ok("lanes", "resume", "bulk", "--dry-run"); got != "Dry run, nothing was changed: the lane bulk would be open.\n" {
		t.Errorf("resume, dry: %q", got)
	}
	if got := d.run("lanes", "resume", "bulk", "--if-match", `"v1"`); got.code != exitError || !strings.Contains(got.stderr, "changed meanwhile") {
		t.Errorf("resume of another pause: %+v", got)
	}
	if again := strings.Split(d.ok("controls", "list"), "\n"); len(again) != len(list) {
		t.Errorf("after what changed nothing:\n%s", strings.Join(again, "\n"))
	}
	for range 2 {
		if got := d.ok("lanes", "resume", "bulk"); got != "The lane bulk is open.\n" {
			t.Errorf("resume: %q", got)
		}
	}
	var rest rawList
	if err := json.Unmarshal([]byte(d.ok("controls", "list", "-o", "json")), &rest); err != nil || len(rest.Data) != 2 {
		t.Errorf("list as JSON: %v, %+v", err, rest)
	}
	for _, wrong := range [][]string{{"lanes", "pause", "fastest"}, {"models", "drain", "nope"}, {"targets", "pause", "fast"}, {"tenants", "pause", "nobody"}} {
		if got := d.run(wrong...); got.code != exitError || !strings.Contains(got.stderr, "not_found: There is no ") {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
	if got := d.run("lanes", "pause"); got.code != exitUsage {
		t.Errorf("a pause of nothing: %+v", got)
	}
	if code, stderr := server.result(); code != exitOK {
		t.Errorf("the server ended with %d: %s", code, stderr)
	}
}

// A drain waits for the last item.
func TestDrainWaits(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	fake := http.NewServeMux()
	fake.HandleFunc("PUT /admin/v1/controls/model/big/one", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"model","name":"big/one","state":"draining","running":2}`))
	})
	fake.HandleFunc("GET /admin/v1/controls", func(w http.ResponseWriter, _ *http.Request) {
		state := `"draining","running":1`
		if lists.Add(1) == 2 {
			state = `"drained","running":0`
		}
		_, _ = w.Write([]byte(`{"data":[{"kind":"lane","name":"big/one","state":"paused"},{"kind":"model","name":"big/one","state":` + state + `}]}`))
	})
	server := httptest.NewServer(proving(t, fake))
	t.Cleanup(server.Close)
	got := newHarness(t).run("models", "drain", "big/one", "--admin-url", server.URL)
	if got.code != exitOK || got.stdout != "The model big/one is drained.\n" || strings.Count(got.stderr, "Waiting until the model big/one is drained") != 1 || lists.Load() != 2 {
		t.Errorf("%+v after %d looks", got, lists.Load())
	}
}

func TestUnreachableAdminListener(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	d.env["PENSTOCK_ADMIN_URL"] = "http://127.0.0.1:1"
	if got := d.run("controls", "list"); got.code != exitError || !strings.Contains(got.stderr, "PENSTOCK_ADMIN_URL") {
		t.Errorf("%+v", got)
	}
	if got := d.run("controls", "list", "--admin-url", "localhost:9090"); got.code != exitUsage {
		t.Errorf("%+v", got)
	}
}

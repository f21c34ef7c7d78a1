package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// findings runs the doctor and returns what it found, by check.
func findings(t *testing.T, d *harness, args ...string) (map[string]finding, typed) {
	t.Helper()
	got := d.run(append([]string{"doctor", "-o", "json"}, args...)...)
	var all []finding
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	byCheck := map[string]finding{}
	for _, f := range all {
		byCheck[f.Check] = f
	}
	return byCheck, got
}

// expect checks the status of each finding and a part of its detail.
func expect(t *testing.T, found map[string]finding, want map[string]finding) {
	t.Helper()
	for name, w := range want {
		f, ok := found[name]
		if !ok || f.Status != w.Status || !strings.Contains(f.Detail, w.Detail) || (f.Next == "") != (w.Status == healthOK) {
			t.Errorf("%s: %+v, want %s with %q", name, f, w.Status, w.Detail)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d findings, want %d: %+v", len(found), len(want), found)
	}
}

func TestDoctorBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-hidden-0123456789" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(up.Close)
	d := goodDesk(t)
	path := write(t, "good.yaml", strings.Replace(goodYAML, "http://127.0.0.1:1", up.URL, 1))
	found, got := findings(t, d, "--config", path)
	if got.code != exitOK || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	expect(t, found, map[string]finding{
		"config": {Status: healthOK, Detail: "cfg_"}, "data": {Status: healthOK, Detail: "the first start will create"},
		"keyset": {Status: healthOK, Detail: "the first start will create"}, "database": {Status: healthOK, Detail: "the first start will create"},
		"provider up": {Status: healthOK, Detail: up.URL + "/v1/models answers in "},
		"listen":      {Status: healthOK, Detail: "is free"}, "admin_listen": {Status: healthOK, Detail: "is free"},
	})
	if _, err := os.Stat(d.env["PENSTOCK_DATA"]); !os.IsNotExist(err) {
		t.Errorf("the doctor made the data directory: %v", err)
	}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing that Penstock would
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("penstock-version", "2026-11-01")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	}))
	t.Cleanup(ours.Close)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refuses.Close)

	d := goodDesk(t)
	data := d.env["PENSTOCK_DATA"]
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{keysetFile: "{}", databaseFile: "this is not a database, although it is long enough to be read as one"} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.env["PENSTOCK_LISTEN"] = taken.Addr().String()
	path := write(t, "good.yaml", strings.NewReplacer(
		"http://127.0.0.1:1", refuses.URL, "admin_listen: 127.0.0.1:0", "admin_listen: "+ours.Listener.Addr().String(),
	).Replace(goodYAML))
	found, got := findings(t, d, "--config", path)
	if got.code != exitError || got.stderr != "penstock: 3 checks failed; follow the column NEXT, then run penstock doctor again\n" {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	expect(t, found, map[string]finding{
		"config": {Status: healthOK}, "data": {Status: healthOK, Detail: data},
		"keyset": {Status: healthFail, Detail: "damaged"}, "database": {Status: healthFail, Detail: "not a database"},
		"provider up":  {Status: healthWarn, Detail: "401 Unauthorized"},
		"listen":       {Status: healthFail, Detail: "is in use by another program"},
		"admin_listen": {Status: healthOK, Detail: "is in use by a Penstock server"},
	})
}

func TestDoctorWithoutAFile(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	d.env["PENSTOCK_DATA"] = write(t, "file", "") // where a directory should be
	d.env["PENSTOCK_LISTEN"] = "127.0.0.1:0"
	d.env["PENSTOCK_DATABASE_URL"] = "postgres://u:hidden@127.0.0.1:1/x?connect_timeout=1"
	found, got := findings(t, d)
	if got.code != exitError || strings.Contains(got.stdout, "hidden") {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]health{"config": healthOK, "data": healthFail, "keyset": healthFail, "database": healthFail, "listen": healthOK} {
		if found[name].Status != want {
			t.Errorf("%s: %+v, want %s", name, found[name], want)
		}
	}
	if want := "without tenants"; !strings.Contains(found["config"].Detail, want) {
		t.Errorf("config: %+v", found["config"])
	}
}

func TestDoctorWithABadFile(t *testing.T) {
	t.Parallel()
	path := write(t, "bad.yaml", "colour: red\n")
	detail := path + " has 1 problem; correct the file and try again"
	check(t, newHarness(t).run("doctor", "-c", path), typed{
		code: exitError,
		stdout: fmt.Sprintf("CHECK   STATUS  %-*s  NEXT\nconfig  fail    %s  penstock config validate %s\n",
			len(detail), "DETAIL", detail, path),
		stderr: "penstock: 1 check failed; follow the column NEXT, then run penstock doctor again\n",
	})
}

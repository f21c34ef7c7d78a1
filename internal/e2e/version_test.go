package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	goclient "penstock/client"
	"penstock/internal/rest"
)

// TestVersions reads a job from the real server in both versions, and with the Go client, which asks for the newest.
func TestVersions(t *testing.T) {
	t.Parallel()
	st := stage(t)
	var made struct{ ID string }
	a := st.Do(post("/v1/jobs", `{"model":"fast","input":"Hi"}`, "Prefer", "wait=20"))
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, tt := range []struct{ asked, served, has, lacks string }{
		{"", "2026-11-01", `"rate":`, `"items_per_second"`},
		{"2026-11-01", "2026-11-01", `"rate":`, `"items_per_second"`},
		{"2026-12-01", "2026-12-01", `"items_per_second":`, `"rate"`},
	} {
		for _, path := range []string{"/v1/jobs/" + made.ID, "/v1/jobs"} {
			a := st.Do(get(path, "penstock-version", tt.asked))
			if a.Status != http.StatusOK || a.Header.Get("penstock-version") != tt.served || !strings.Contains(a.Body, tt.has) || strings.Contains(a.Body, tt.lacks) {
				t.Errorf("%s in %q: %d, version %s: %s", path, tt.asked, a.Status, a.Header.Get("penstock-version"), a.Body)
			}
			if deprecated := a.Header.Get("Deprecation") != "" && a.Header.Get("Sunset") != ""; deprecated != (tt.served == "2026-11-01") {
				t.Errorf("%s in %q: %v", path, tt.asked, a.Header)
			}
		}
	}
	if a := st.Do(get("/v1/jobs", "penstock-version", "2020-01-01")); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "2026-11-01 and 2026-12-01") {
		t.Errorf("an unknown version: %d %s", a.Status, a.Body)
	}
	if a := st.Do(get("/v1/deprecations")); a.Status != http.StatusOK || !strings.Contains(a.Body, `"kind":"field","version":"2026-11-01","method":"GET","path":"/v1/jobs/{id}","field":"rate","replacement":"items_per_second"`) {
		t.Errorf("the deprecations: %d %s", a.Status, a.Body)
	}
	for version, has := range map[string]string{"2026-11-01": `"rate":`, "2026-12-01": `"items_per_second":`} {
		if a := st.Do(get("/openapi.json", "penstock-version", version)); !strings.Contains(a.Body, has) {
			t.Errorf("the document of %s has no %s", version, has)
		}
	}
	c, err := goclient.New(goclient.Config{URL: st.URL, APIKey: Key})
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.Job(t.Context(), made.ID)
	if err != nil || j.ItemsPerSecond <= 0 {
		t.Errorf("the Go client reads %+v, %v", j, err)
	}
	if goclient.APIVersion != rest.Versions[rest.Newest].Name {
		t.Errorf("the Go client asks for %s", goclient.APIVersion)
	}
}

package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/telemetry"
)

// sampleJob is a job that runs.
func sampleJob() jobView {
	rate := 71.25
	v := newJobView(penstock.Job{ID: "01JQ0000000000000000000001", Endpoint: penstock.EndpointChat, Model: "fast", Lane: penstock.LaneBulk,
		Counts: penstock.Counts{Total: 10, Queued: 4, Running: 1, Succeeded: 5}, CreatedAt: sampleTime, StartedAt: sampleTime, Deadline: sampleTime.Add(time.Hour)})
	v.ItemsPerSecond = &rate
	return v
}

// TestJobInEveryVersion compares a job, alone and in a page, with the golden shape of each version.
func TestJobInEveryVersion(t *testing.T) {
	t.Parallel()
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{}
	s.table, err = rest.New(rest.Config{
		Shapes: shapes, Realm: "penstock", Begin: func() rest.Exchange { return &call{Server: s} },
		Metrics: telemetry.NewMetrics("test", ""), Tracer: tracer, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
		Routes: []rest.Route{
			{Method: "GET", Path: "/v1/jobs/{id}", Open: true, Answers: []rest.Answer{{Status: 200, Body: jobView{}}}, Serve: func(c *rest.Call) error { return c.JSON(http.StatusOK, sampleJob()) }},
			{Method: "GET", Path: "/v1/jobs", Open: true, Answers: []rest.Answer{{Status: 200, Body: rest.Page[jobView]{}}}, Serve: func(c *rest.Call) error {
				return c.JSON(http.StatusOK, rest.Page[jobView]{Object: "list", Data: []jobView{sampleJob()}})
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, version := range rest.Versions {
		for name, path := range map[string]string{"job": "/v1/jobs/job_1", "jobs": "/v1/jobs"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("penstock-version", version.Name)
			to := httptest.NewRecorder()
			s.Handler().ServeHTTP(to, r)
			golden := filepath.Join("testdata", name+"-"+version.Name+".json")
			if *update {
				if err := os.WriteFile(golden, to.Body.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), to.Body.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
			if deprecated := to.Header().Get("Deprecation") != ""; deprecated != (i < rest.Newest) {
				t.Errorf("%s in %s: Deprecation %q", path, version.Name, to.Header().Get("Deprecation"))
			}
		}
	}
}

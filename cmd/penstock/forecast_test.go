package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const forecastScenario = "../../docs/how-to/scenarios/newcomer-alone.yaml"

func TestForecastTellsWhatWouldHappen(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	got := d.ok("forecast", forecastScenario)
	for _, want := range []string{"Ten items every ten seconds", "Work by tenants", "newcomer", "model-server", "wait p50"} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q:\n%s", want, got)
		}
	}
	var result struct {
		Tenants []struct {
			Name      string
			Succeeded int
			Wait      map[string]float64
		}
	}
	if err := json.Unmarshal([]byte(d.ok("forecast", forecastScenario, "-o", "json")), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Tenants) != 1 || result.Tenants[0].Succeeded != 290 || len(result.Tenants[0].Wait) != 4 {
		t.Errorf("the result is %+v", result)
	}
}

func TestForecastNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(forecastScenario)
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, "wrong.yaml", strings.NewReplacer("base: 400ms", "base: 400", "burst: 10", "bursts: 10").Replace(string(text)))
	d := newHarness(t)
	check(t, d.run("forecast", path), typed{code: exitError, stderr: path + `:7:26: targets.model-server.upstream.latency.base: must be a duration with its unit, such as 30s, 10m or 168h
` + path + `:13:5: tenants[0].arrivals: must have a rate, a backlog or a burst
` + path + `:13:16: tenants[0].arrivals.bursts: unknown key; did you mean "burst"?
penstock: ` + path + ` has 3 problems; correct the file and try again
`})
	check(t, d.run("forecast"), typed{code: exitUsage, stderr: "penstock: the scenario's file is missing; see \"penstock forecast --help\"\n"})
	missing := filepath.Join(t.TempDir(), "none.yaml")
	check(t, d.run("forecast", missing), typed{code: exitError,
		stderr: "penstock: reading the scenario: open " + missing + ": no such file or directory\n"})
}

func TestForecastCanBeInterrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	got := newHarness(t).runWith(ctx, "forecast", "../../docs/how-to/scenarios/fairness.yaml")
	check(t, got, typed{code: exitError, stderr: "penstock: interrupted\n"})
}

package telemetry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the reference page of metrics")

const metricsPage = "../../docs/reference/metrics.md"

// TestMetricsReference keeps the page of metrics true: -update writes it.
func TestMetricsReference(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Metrics\n\n<!-- Made from the code by `make docs`. Do not edit. -->\n\n" +
		"`/metrics` on `admin_listen` exports these metrics for Prometheus, and those of the Go runtime and the process (`go_*`, `process_*`). " +
		"Labels `model`, `target` and `tenant` have at most 200 names besides those that are configured; the rest is `other`.\n\n" +
		"| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, d := range NewMetrics("", "").Describe() {
		if !strings.HasPrefix(d.Name, "penstock_") {
			continue
		}
		if d.Help == "" {
			t.Errorf("%s has no help text", d.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(d.Labels, ", "), strings.ReplaceAll(d.Help, "|", "\\|"))
	}
	if *update {
		if err := os.WriteFile(metricsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is stale; run: make docs", metricsPage)
	}
}

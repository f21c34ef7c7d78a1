package check

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// The rules pass the check of `promtool check rules`.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	promql, quiet := parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)
	if _, errs := rulefmt.Parse(text, false, model.UTF8Validation, promql, quiet); len(errs) > 0 {
		t.Error(errs)
	}
	broken := strings.Replace(string(text), "sum by (lane) (rate(", "sum by (lane) (rated(", 1)
	if _, errs := rulefmt.Parse([]byte(broken), false, model.UTF8Validation, promql, quiet); len(errs) == 0 {
		t.Error("an expression with an unknown function passed")
	}
}

// Grafana replaces these before it sends an expression.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "1h", "$tenant", "search")

// Every expression of the dashboards is PromQL.
func TestDashboardExpressions(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../grafana/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	promql := parser.NewParser(parser.Options{})
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatal(err)
		}
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				if _, err := promql.ParseExpr(grafana.Replace(target.Expr)); err != nil {
					t.Errorf("%s: %s: %v", path, p.Title, err)
				}
			}
		}
	}
}

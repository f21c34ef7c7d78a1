package api

import (
	"reflect"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/catalogue"
	"penstock/internal/live"
	"penstock/internal/rest"
	"penstock/internal/rollup"
	"penstock/internal/store"
	"penstock/internal/usage"
)

// sampledElsewhere are types without a sample of their own: an object of another API, and an event, whose forms liveSamples has.
func sampledElsewhere() map[reflect.Type]bool {
	return map[reflect.Type]bool{reflect.TypeFor[rest.AnyObject](): true, reflect.TypeFor[live.Event](): true}
}

// liveSamples are the forms of live events.
func liveSamples() []any {
	rate, row := 2.5, backlog.Row{Name: "bulk", Ready: 3}
	row.DrainPerSecond = &rate
	return []any{
		live.Hello{Type: live.TypeHello, Topics: live.TenantTopics, AsOf: time.Now()},
		live.Reset{Type: live.TypeReset, Topics: live.TenantTopics},
		live.JobState{Type: live.TypeProgress, ID: "job_01JQ0000000000000000000001", Tenant: "search", Status: penstock.StatusRunning, Counts: penstock.Counts{Total: 3}, Seq: 4, Batch: true},
		live.LoadChange{Type: live.TypeLoad, At: time.Now(), Total: row, Lanes: []backlog.Row{row}},
		live.TargetChange{Type: live.TypeTarget, TargetLoad: backlog.TargetLoad{Name: "main", State: backlog.TargetOpen, Limits: []backlog.TargetRate{{Resource: "requests"}}}},
		live.DeadLetterCount{Type: live.TypeDeadLetters, Tenant: "search", Count: 3},
		live.Hint{Type: live.TypeAudit, Tenant: "search", Count: 1},
	}
}

// reportSamples are answers of the routes that report load, models and prices.
func reportSamples() []any {
	weight, rate := 3, 0.5
	stat := rollup.Stat{Value: &rate, Series: []*float64{&rate, nil}}
	return []any{
		backlog.TenantReport{At: time.Now(), Current: true, Lanes: []backlog.Row{{Name: "bulk"}}, Queues: []backlog.Queue{{Lane: penstock.LaneBulk, Model: "m"}}},
		rest.Page[definitionView]{Object: "list", Data: []definitionView{{Object: "model_definition", Name: "m", Policy: penstock.PolicyWeighted, Score: &definedWeights{Cost: 1}, Targets: []definedTarget{
			{Name: "t", Weight: &weight, State: backlog.TargetOpen, Price: &definedPrice{Input: "1"}, Capabilities: penstock.AllCapabilities}, {State: backlog.TargetPaused, Capabilities: []penstock.Capability{}}}}}},
		rollup.Overview{Object: "overview", Window: rollup.Day, JobsPerSecond: stat, RequestsPerSecond: stat, SuccessRate: stat, P95LatencyMS: stat, QueueDepth: stat,
			Spend: rollup.Spend{Series: []penstock.NanoUSD{1}}, Lanes: []rollup.LaneSeries{{Lane: penstock.LaneBulk, Points: []rollup.Point{{P50MS: &rate}}}}},
		usage.MonthForecast{Object: "usage.forecast", Days: []usage.DayForecast{{Day: "2026-11-01"}}},
		rest.Page[budgetBalance]{Object: "list", Data: []budgetBalance{{Object: "budget", Period: penstock.PeriodMonthly}}},
		batchProgress{Object: "batch.progress", Dialect: store.BatchOpenAI, Endpoint: penstock.EndpointChat, Status: penstock.StatusRunning, Metadata: map[string]string{"a": "b"}, ItemsPerSecond: &rate, Errors: []lineErrorView{}, Jobs: []string{"job_1"}},
		rest.NewCursorPage([]batchProgress{{Endpoint: penstock.EndpointChat, Status: penstock.StatusFailed, Metadata: map[string]string{}, Errors: []lineErrorView{{Code: "invalid_request", Line: 1}}, Jobs: []string{}}}, ""),
		cataloguePage{Object: "list", Vendors: []string{"a"}, Data: []catalogueModel{{ID: "a/b", Price: catalogue.Price{Input: "1"}, Capabilities: []string{}}}},
	}
}

package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/forecast"
	"penstock/internal/forecast/present"
	"penstock/internal/provider"
	"penstock/internal/rest"
)

// forecastRoutes predict the waits of a described load.
var forecastRoutes = []rest.Route{
	{Method: "POST", Path: "/admin/v1/forecast", Audit: rest.Audit{None: "Nothing is changed."}, Roles: viewers, Summary: "Predict the waits, the throughput and the refusals of a load, by simulation",
		Body: forecastOrder{}, Example: forecastOrder{Scenario: exampleScenario},
		Answers: []rest.Answer{{Status: 200, About: "The prediction, or the problems of the scenario. One forecast runs at a time in a process, for at most 10 s; 429 while another runs, 400 if it takes longer.", Body: forecastView{}}},
		Serve:   on(reports.forecast)},
	{Method: "GET", Path: "/admin/v1/forecast/scenario", Roles: viewers, Summary: "Write a scenario of the present configuration and load, to be edited and forecast",
		Answers: []rest.Answer{{Status: 200, About: "The scenario.", Body: scenarioView{}}}, Serve: on(reports.scenario)},
}

// forecastTime bounds a forecast.
const forecastTime = 10 * time.Second

// forecastOrder is a scenario.
type forecastOrder struct {
	Scenario string `json:"scenario" required:"true" about:"YAML, at most 64 KiB: processes, targets, models, tenants with their load, and faults. docs/how-to/size-a-machine.md describes it."`
	WhatIf   whatIf `json:"what_if,omitzero" about:"Changes of the scenario, for a quick question."`
}

// whatIf is a question about a scenario.
type whatIf struct {
	Load      float64  `json:"load,omitzero" about:"The factor of the load, such as 2; 0 for the load of the scenario."`
	Slots     int      `json:"slots,omitzero" about:"Of each process; 0 for those of the scenario."`
	Processes int      `json:"processes,omitzero" about:"0 for those of the scenario."`
	Down      []string `json:"down,omitzero" about:"Targets that are down all the time."`
}

// scenarioView is a scenario to begin with.
type scenarioView struct {
	Scenario string   `json:"scenario" about:"YAML."`
	Targets  []string `json:"targets" about:"The targets of the scenario."`
	Slots    int      `json:"slots" about:"Of each process."`
}

// forecastView is the result of a scenario.
type forecastView struct {
	Object    string           `json:"object"`
	Problems  []problemView    `json:"problems" about:"Why the scenario is invalid; then there is no prediction."`
	Seconds   float64          `json:"seconds" about:"The simulated time that the figures are of."`
	Processes int              `json:"processes"`
	Slots     int              `json:"slots" about:"Of all processes."`
	SlotsUsed float64          `json:"slots_used" about:"On average, as a part of all."`
	Lanes     []forecastRow    `json:"lanes"`
	Tenants   []forecastRow    `json:"tenants"`
	Targets   []forecastTarget `json:"targets"`
}

// forecastRow is a lane or a group of tenants.
type forecastRow struct {
	Name           string         `json:"name"`
	Lane           penstock.Lane  `json:"lane"`
	Tenants        int            `json:"tenants"`
	Submitted      int64          `json:"submitted"`
	Succeeded      int64          `json:"succeeded"`
	Failed         int64          `json:"failed"`
	Expired        int64          `json:"expired"`
	Refused        int64          `json:"refused" about:"Calls for which there was no capacity in time."`
	Waiting        int            `json:"waiting" about:"At the end."`
	Running        int            `json:"running" about:"At the end."`
	Retries        int64          `json:"retries"`
	ItemsPerSecond float64        `json:"items_per_second"`
	Wait           forecastSpread `json:"wait" about:"From due to start."`
	Total          forecastSpread `json:"total" about:"From arrival to success."`
	Jain           float64        `json:"jain" about:"Jain's index of the fairness between its tenants, 0 for fewer than two."`
}

// forecastTarget is the use of a target.
type forecastTarget struct {
	Name           string                  `json:"name"`
	Attempts       int64                   `json:"attempts"`
	Limited        int64                   `json:"limited" about:"Calls that the upstream refused with 429."`
	Errors         map[provider.Kind]int64 `json:"errors"`
	ItemsPerSecond float64                 `json:"items_per_second"`
	Latency        forecastSpread          `json:"latency"`
	Running        float64                 `json:"running" about:"Calls at a time, on average."`
	Peak           int                     `json:"peak"`
	Used           map[string]float64      `json:"used" about:"The part of each limit that was used."`
}

// forecastSpread is how durations are distributed.
type forecastSpread struct {
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func newSpread(s forecast.Spread) forecastSpread {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return forecastSpread{ms(s.P50), ms(s.P95), ms(s.P99), ms(s.Max)}
}

func (c reports) forecast() error {
	var order forecastOrder
	if err := c.decode(&order); err != nil {
		return err
	}
	v := forecastView{Object: "forecast", Problems: []problemView{}, Lanes: []forecastRow{}, Tenants: []forecastRow{}, Targets: []forecastTarget{}}
	scenario, err := forecast.Parse([]byte(order.Scenario))
	if err == nil {
		err = scenario.Apply(forecast.Change(order.WhatIf))
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		v.Problems = newProblemViews(problems)
		return c.JSON(http.StatusOK, v)
	}
	if err != nil {
		return err
	}
	if !c.forecasts.TryLock() {
		return penstock.Errorf(penstock.CodeRateLimited, "Another forecast runs on this process; try again in a few seconds.")
	}
	defer c.forecasts.Unlock()
	ctx, cancel := context.WithTimeout(c.R.Context(), forecastTime)
	defer cancel()
	result, err := forecast.RunInServer(ctx, scenario)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return penstock.InvalidParam("scenario", "The forecast takes more than %v; shorten the duration or lower the load, or run penstock forecast.", forecastTime)
	case err != nil:
		return penstock.InvalidParam("scenario", "%v.", err)
	}
	v.Seconds, v.Processes, v.Slots, v.SlotsUsed = result.Seconds, result.Processes, result.Slots, result.SlotsUsed
	for _, row := range result.Lanes {
		v.Lanes = append(v.Lanes, newForecastRow(row))
	}
	for _, row := range result.Tenants {
		v.Tenants = append(v.Tenants, newForecastRow(row))
	}
	for _, t := range result.Targets {
		v.Targets = append(v.Targets, forecastTarget{Name: t.Name, Attempts: t.Attempts, Limited: t.Limited, Errors: t.Errors, ItemsPerSecond: t.ItemsPerSecond,
			Latency: newSpread(t.Latency), Running: t.Running, Peak: t.Peak, Used: t.Used})
	}
	return c.JSON(http.StatusOK, v)
}

func newForecastRow(r forecast.Row) forecastRow {
	return forecastRow{
		Name: r.Name, Lane: r.Lane, Tenants: r.Tenants, Submitted: r.Submitted, Succeeded: r.Succeeded, Failed: r.Failed, Expired: r.Expired, Refused: r.Refused,
		Waiting: r.Waiting, Running: r.Running, Retries: r.Retries, ItemsPerSecond: r.ItemsPerSecond, Wait: newSpread(r.Wait), Total: newSpread(r.Total), Jain: r.Jain,
	}
}

// exampleScenario is the scenario of the OpenAPI document.
const exampleScenario = `duration: 10m
processes: {count: 1, slots: 64}
targets:
  main: {limits: {concurrency: 32}, upstream: {latency: {base: 800ms, per_output_token: 10ms}}}
models:
  fast: [main]
tenants:
  - {name: search, lane: standard, models: [fast], arrivals: {rate: 5}, input_tokens: {fixed: 500}, output_tokens: {fixed: 200}}
`

// scenario writes the present configuration and load as a scenario.
func (c reports) scenario() error {
	recent, err := c.Recent(c.R.Context())
	if err != nil {
		return err
	}
	source := present.Source{
		Config: c.Config.Current(), Usage: c.Usage, Tenants: c.Tenants, Queues: c.Shares(func(penstock.TenantID) int { return 1 }), Slots: c.Load().Process.Slots, Now: c.Clock(),
		Latency: func(target string) time.Duration {
			if p50 := recent[target].P50MS; p50 != nil {
				return time.Duration(*p50 * float64(time.Millisecond))
			}
			return 0
		},
	}
	s, err := source.Write(c.R.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, scenarioView{Scenario: s.Text, Targets: s.Targets, Slots: s.Slots})
}

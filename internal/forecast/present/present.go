// Package present writes the scenario of the present: the configuration in force, the usage of the last hour, and the queue.
//
// It owns the text of that scenario. It does not own scenarios and their simulation (package forecast), and reads the configuration, the ledger and
// the queue through its [Source]. It keeps no state.
package present

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/forecast"
	"penstock/internal/usage"
)

// The bounds of a written scenario: a person edits it.
const (
	maxTargets = 20
	maxTenants = 20
	// past is the time whose usage is the present load.
	past = time.Hour
	// usualLatency is the latency of a target without recent calls.
	usualLatency = 500 * time.Millisecond
)

// Source is the present.
type Source struct {
	Config  *config.Snapshot
	Usage   usage.Reporter
	Tenants usage.TenantLister
	Queues  []backlog.LaneShares
	// Latency is the median latency of a target, 0 if it is unknown.
	Latency func(target string) time.Duration
	Slots   int // of each process
	Now     time.Time
}

// Scenario is a scenario to begin with.
type Scenario struct {
	Text    string // YAML
	Targets []string
	Slots   int // of each process
}

// Write writes the scenario. Codes: those of the ledger.
func (s *Source) Write(ctx context.Context) (Scenario, error) {
	groups, err := s.presentLoad(ctx)
	if err != nil {
		return Scenario{}, err
	}
	targets := s.Config.Targets
	v := Scenario{Targets: slices.Sorted(maps.Keys(targets))[:min(len(targets), maxTargets)], Slots: max(s.Slots, 1)}
	var b strings.Builder
	fmt.Fprintf(&b, "about: The configuration %s and the load of the hour before %s.\nduration: 10m\nprocesses: {count: %d, slots: %d}\ntargets:\n",
		s.Config.Hash, s.Now.UTC().Format(time.RFC3339), 1, v.Slots)
	for _, name := range v.Targets {
		latency := max(cmp.Or(s.Latency(name), usualLatency), time.Millisecond)
		fmt.Fprintf(&b, "  %q: {%supstream: {latency: {base: %dms}}}\n", name, limitsText(targets[name]), latency.Milliseconds())
	}
	models := writeModels(&b, s.Config, v.Targets)
	b.WriteString("tenants:\n")
	for _, g := range groups {
		g.write(&b, models)
	}
	if len(groups) == 0 && len(models) > 0 {
		fmt.Fprintf(&b, "  - {name: example, models: [%q], arrivals: {rate: 1}, input_tokens: {fixed: 500}, output_tokens: {fixed: 200}}\n", models[0])
	}
	v.Text = b.String()
	return v, nil
}

// limitsText writes the limits of a target, those that it has.
func limitsText(t *penstock.Target) string {
	var limits []string
	for _, l := range []struct {
		name string
		most int64
	}{
		{"concurrency", int64(t.Concurrency)}, {"requests_per_minute", t.RequestsPerMinute},
		{"input_tokens_per_minute", t.InputTokensPerMinute}, {"output_tokens_per_minute", t.OutputTokensPerMinute},
	} {
		if l.most > 0 {
			limits = append(limits, fmt.Sprintf("%s: %d", l.name, l.most))
		}
	}
	if len(limits) == 0 {
		return ""
	}
	return "limits: {" + strings.Join(limits, ", ") + "}, "
}

// writeModels writes the models that have one of the targets, and returns their names.
func writeModels(b *strings.Builder, current *config.Snapshot, shown []string) (names []string) {
	b.WriteString("models:\n")
	for _, name := range slices.Sorted(maps.Keys(current.Models)) {
		var targets []string
		for _, t := range current.Models[name].Targets {
			if slices.Contains(shown, t) {
				targets = append(targets, fmt.Sprintf("%q", t))
			}
		}
		if len(targets) > 0 && !strings.Contains(name, "*") { // a pattern is no name in a scenario
			names = append(names, name)
			fmt.Fprintf(b, "  %q: [%s]\n", name, strings.Join(targets, ", "))
		}
	}
	return names
}

// tenantLoad is the load of a tenant in a lane.
type tenantLoad struct {
	tenant  penstock.TenantID
	lane    penstock.Lane
	models  []string
	used    usage.Sum
	backlog int64
}

// presentLoad is the usage of the last hour and the queue, the largest first.
func (s *Source) presentLoad(ctx context.Context) ([]*tenantLoad, error) {
	tenants, err := usage.Tenants(ctx, s.Tenants, "")
	if err != nil {
		return nil, err
	}
	groups, err := s.Usage.Between(ctx, usage.Span{Tenants: tenants, From: s.Now.Add(-past), To: s.Now, By: []usage.By{usage.ByTenant, usage.ByLane, usage.ByModel}})
	if err != nil {
		return nil, err
	}
	type place struct {
		tenant penstock.TenantID
		lane   penstock.Lane
	}
	loads := map[place]*tenantLoad{}
	at := func(p place) *tenantLoad {
		if loads[p] == nil {
			loads[p] = &tenantLoad{tenant: p.tenant, lane: p.lane}
		}
		return loads[p]
	}
	for _, g := range groups {
		l := at(place{penstock.TenantID(g.Values[0]), penstock.Lane(g.Values[1])})
		l.models, l.used = append(l.models, g.Values[2]), l.used.Plus(g.Sum)
	}
	for _, lane := range s.Queues {
		for _, t := range lane.Tenants {
			if t.Queued() > 0 {
				at(place{t.Tenant, penstock.Lane(lane.Name)}).backlog = t.Queued()
			}
		}
	}
	sorted := slices.SortedFunc(maps.Values(loads), func(a, b *tenantLoad) int {
		return cmp.Or(cmp.Compare(b.used.Requests+b.backlog, a.used.Requests+a.backlog), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.lane, b.lane))
	})
	return sorted[:min(len(sorted), maxTenants)], nil
}

// write writes the load as a group of tenants. Work in the lane realtime is taken for synchronous calls, which most of it is.
func (l *tenantLoad) write(b *strings.Builder, known []string) {
	var models []string
	for _, m := range l.models {
		if slices.Contains(known, m) {
			models = append(models, fmt.Sprintf("%q", m))
		}
	}
	if len(models) == 0 && len(known) > 0 {
		models = []string{fmt.Sprintf("%q", known[0])}
	}
	kind := "kind: jobs, lane: " + string(l.lane)
	backlog := min(l.backlog, forecast.MaxLiveInServer/8)
	if l.lane == penstock.LaneRealtime && backlog == 0 {
		kind = "kind: calls"
	}
	input, output := int64(500), int64(200) // of work that has not run yet
	if n := l.used.Requests; n > 0 {
		input, output = max(l.used.InputTokens/n, 1), max(l.used.OutputTokens/n, 1)
	}
	rate := max(float64(l.used.Requests)/past.Seconds(), 0.001)
	fmt.Fprintf(b, "  - {name: %q, %s, models: [%s], arrivals: {rate: %.3f, backlog: %d}, input_tokens: {fixed: %d}, output_tokens: {fixed: %d}}\n",
		fmt.Sprintf("%.48s:%s", l.tenant, l.lane), kind, strings.Join(models, ", "), rate, backlog, input, output)
}

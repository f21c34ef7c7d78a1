package present

import (
	"context"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/forecast"
	"penstock/internal/store"
	"penstock/internal/usage"
)

// hour is the usage of one tenant in the last hour.
type hour []store.Spending

func (h hour) Spending(context.Context, penstock.TenantID, store.SpendingQuery) ([]store.Spending, error) {
	return h, nil
}

func (h hour) TenantIDs(context.Context, store.TenantPage) ([]penstock.TenantID, error) {
	return []penstock.TenantID{"acme"}, nil
}

func snapshot(t *testing.T) *config.Snapshot {
	t.Helper()
	s, err := config.NewSnapshot(config.File{
		Providers: map[string]config.ProviderConfig{"p": {Kind: config.KindOpenAI, BaseURL: "http://127.0.0.1:1/v1", APIKey: config.NewSecret("k")}},
		Targets: map[string]config.TargetConfig{
			"bounded": {Provider: "p", UpstreamModel: "m", MaxOutputTokens: 10, Price: config.Price{Input: "1", Output: "1"}, Limits: config.TargetLimits{Concurrency: 7}},
			"free":    {Provider: "p", UpstreamModel: "m", MaxOutputTokens: 10, Price: config.Price{Input: "1", Output: "1"}},
		},
		Models: map[string]config.ModelConfig{"fast": {Targets: []string{"bounded", "free"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWrite writes scenarios that the forecast can read.
func TestWrite(t *testing.T) {
	t.Parallel()
	used := hour{
		{Model: "fast", Lane: penstock.LaneRealtime, Outcomes: 3600, Usage: penstock.Usage{InputTokens: 36_000, OutputTokens: 7_200}},
		{Model: "gone", Lane: penstock.LaneBulk, Outcomes: 36},
	}
	queue := []backlog.LaneShares{{Row: backlog.Row{Name: "bulk"}, Tenants: []backlog.Share{{Tenant: "acme", Row: backlog.Row{Ready: 40}}}}}
	for name, tt := range map[string]struct {
		used   hour
		queues []backlog.LaneShares
		want   []string
	}{
		"a load": {used, queue, []string{
			`"bounded": {limits: {concurrency: 7}, upstream: {latency: {base: 120ms}}}`, `"free": {upstream: {latency: {base: 500ms}}}`,
			`"acme:realtime", kind: calls, models: ["fast"], arrivals: {rate: 1.000, backlog: 0}, input_tokens: {fixed: 10}, output_tokens: {fixed: 2}`,
			`"acme:bulk", kind: jobs, lane: bulk, models: ["fast"], arrivals: {rate: 0.010, backlog: 40}`,
		}},
		"nothing": {nil, nil, []string{"name: example"}},
	} {
		source := Source{Config: snapshot(t), Usage: usage.New(tt.used), Tenants: tt.used, Queues: tt.queues, Now: time.Now(), Latency: func(target string) time.Duration {
			if target == "bounded" {
				return 120 * time.Millisecond
			}
			return 0
		}}
		s, err := source.Write(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(s.Text, want) {
				t.Errorf("%s: %s\nis not in\n%s", name, want, s.Text)
			}
		}
		if _, err := forecast.Parse([]byte(s.Text)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, s.Text)
		}
	}
}

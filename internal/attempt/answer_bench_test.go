package attempt

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/route"
	"penstock/internal/telemetry"
)

// instant is an upstream that answers at once.
type instant struct{}

func (instant) Provider(string) (provider.Provider, bool) { return instant{}, true }

func (instant) Speaks(penstock.Endpoint) bool { return true }

func (instant) Call(context.Context, provider.Call) (provider.Answer, error) {
	return &instantAnswer{}, nil
}

type instantAnswer struct{ read bool }

var instantWire = []byte(`{"choices":[]}`)

func (a *instantAnswer) Next() (provider.Chunk, error) {
	if a.read {
		return provider.Chunk{}, io.EOF
	}
	a.read = true
	return provider.Chunk{Wire: instantWire}, nil
}

func (a *instantAnswer) Meta() provider.Meta {
	return provider.Meta{StatusCode: 200, UsageKnown: true, Usage: penstock.Usage{InputTokens: 10, OutputTokens: 9}}
}

func (a *instantAnswer) Close() error { return nil }

// unread is a sink that drops the answer.
type unread struct{}

func (unread) Begin(string, provider.Meta) error { return nil }
func (unread) Chunk(provider.Chunk) error        { return nil }

// BenchmarkAnswer is the cost of an attempt beside the call itself.
func BenchmarkAnswer(b *testing.B) {
	snapshot, err := config.NewSnapshot(config.File{
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI}},
		Targets:   map[string]config.TargetConfig{"a": {Provider: "up", UpstreamModel: "ua", Price: config.Price{Input: "0.15", Output: "0.60"}}},
		Models:    map[string]config.ModelConfig{"fast": {Targets: []string{"a"}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	tracer, err := telemetry.NewTracer(b.Context(), telemetry.TraceConfig{})
	if err != nil {
		b.Fatal(err)
	}
	r := New(Deps{
		Config: config.NewLive(snapshot), Providers: instant{}, Router: route.New(capacity.New(capacity.Config{Clock: time.Now})),
		Metrics: telemetry.NewMetrics("test", ""), Tracer: tracer, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	ctx := telemetry.WithIDs(b.Context(), telemetry.IDs{Tenant: "t", Job: "j", Item: "i"})
	task := Task{
		Subject: "subject", Fence: 1, Owner: "t", Key: "k", Model: "fast", Lane: penstock.LaneStandard, Targets: []string{"a"}, Endpoint: penstock.EndpointChat,
		Body: []byte(`{"messages":[]}`), Bound: bound, MaxAttempts: 4, Timeout: time.Minute, Wait: time.Second, MaxOutputTokens: 64,
	}
	b.ReportAllocs()
	for b.Loop() {
		if out := r.Answer(ctx, task, unread{}); out.Err != nil {
			b.Fatal(out.Err)
		}
	}
}

package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/dialect/assemble"
	"penstock/internal/filter"
	"penstock/internal/outbound"
	"penstock/internal/overflow"
	"penstock/internal/payload"
	"penstock/internal/provider"
	"penstock/internal/route"
	"penstock/internal/telemetry"
)

// ChildDeps are the dependencies of a Child.
type ChildDeps struct {
	// Provider makes the adapter of a provider by its settings.
	Provider   func(settings []byte) (provider.Provider, error)
	Translator outbound.Translator
	Filters    *filter.Chain // of answers; nil for none
	Log        *slog.Logger
}

// Child makes attempts in a child process.
type Child struct {
	ChildDeps
	metrics *telemetry.Metrics // discarded: the worker counts attempts

	// The settings and keys of the last task. The next task probably has the same.
	settings []byte
	upstream provider.Provider
	keys     []byte
	codec    *payload.Codec
	cutter   overflow.Cutter
}

// NewChild returns a child that has run no task yet.
func NewChild(d ChildDeps) *Child {
	return &Child{ChildDeps: d, metrics: telemetry.NewMetrics(penstock.Version, "")}
}

// Run makes the attempt of one task. It is a supervise.Handler: its messages are the text that callers see while the
// answer arrives.
func (c *Child) Run(ctx context.Context, task []byte, say func([]byte) error) ([]byte, error) {
	var o order
	sealed, err := decode(task, &o)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(&o); err != nil {
		return nil, err
	}
	out, result, err := c.run(telemetry.WithTraceParent(ctx, o.TraceParent), &o, sealed, say)
	if err != nil {
		return nil, err
	}
	return encode(out, result)
}

// prepare makes the adapter and the codec of the task, unless the task before had the same settings and keys.
func (c *Child) prepare(o *order) (err error) {
	switch {
	case len(o.Provider) == 0:
		c.upstream, c.settings = nil, nil // the provider was removed from the configuration
	case c.upstream == nil || !bytes.Equal(c.settings, o.Provider):
		if c.upstream, err = c.Provider(o.Provider); err != nil {
			return err
		}
		c.settings = o.Provider
	}
	if c.codec == nil || !bytes.Equal(c.keys, o.Keys) {
		keys, err := payload.Import(o.Keys)
		if err != nil {
			return err
		}
		if c.codec, err = payload.New(keys); err != nil {
			return err
		}
		c.keys = o.Keys
	}
	return nil
}

// run opens the input, makes the attempt and seals the result.
func (c *Child) run(ctx context.Context, o *order, sealed []byte, say func([]byte) error) (out outcome, result []byte, err error) {
	text, err := c.codec.Open(payload.Owner(o.Opens), sealed)
	if errors.Is(err, payload.ErrTampered) {
		out.Failure = failureOf(&penstock.Error{Code: penstock.CodeGone, Message: "The input is gone.", Err: err})
		return out, nil, nil
	}
	if err != nil {
		return out, nil, fmt.Errorf("opening the input: %w", err)
	}
	sink, body, err := assemble.NewSink(o.Endpoint, o.Stream, text, func(piece string) {
		_ = say([]byte(piece)) // a parent that is gone ends this process
	})
	if err != nil {
		out.Failure = failureOf(&provider.Error{Kind: provider.KindInternal, Message: "The item's input cannot be asked as a stream.", Err: err})
		return out, nil, nil
	}
	var learned capacity.Result
	answered := c.runner(o).Answer(ctx, attempt.Task{
		Subject: o.Subject, Fence: o.Fence, Owner: o.Tenant, Key: o.Key, Model: o.Model, Lane: o.Lane, Targets: []string{o.Target.Name}, Endpoint: o.Endpoint,
		Body: body, Added: len(body) - len(text), Stream: sink.Streams(), IncludeUsage: sink.Streams(), Bound: o.Bound, Bounded: o.Bounded,
		MaxAttempts: 1, Timeout: o.Timeout, MaxOutputTokens: o.MaxOutputTokens, OnOverflow: o.OnOverflow, Reason: o.Reason,
		Learned: func(r capacity.Result) { learned = r },
	}, &sink)
	if answered.Err == nil {
		if result, answered.Err = sink.Whole(); answered.Err == nil && len(result) > 0 {
			if result, err = c.codec.Seal(payload.Owner(o.Seals), result); err != nil {
				return out, nil, fmt.Errorf("sealing the result: %w", err)
			}
		}
	}
	out = outcomeOf(&answered)
	out.Result = learned
	return out, result, nil
}

// runner makes attempts on the only target of a task. The worker holds capacity for one call, so several calls of an attempt follow each
// other. Apart from that the runner applies no bounds and keeps no statistics: the worker learns the result of the attempt.
func (c *Child) runner(o *order) *attempt.Runner {
	target := o.Target
	target.Concurrency, target.RequestsPerMinute, target.InputTokensPerMinute, target.OutputTokensPerMinute = 1, 0, 0, 0
	target.MaxShare, target.Batching = 0, penstock.Batching{}
	as := o.As
	as.Name, as.Targets = o.Model, []string{target.Name}
	return attempt.New(attempt.Deps{
		Config: config.NewLive(&config.Snapshot{
			Hash: o.Config, Targets: map[string]*penstock.Target{target.Name: &target}, Models: map[string]penstock.Model{as.Name: as},
		}),
		Providers: only{c.upstream}, Translator: c.Translator, Filters: c.Filters, Overflow: &c.cutter, Router: route.New(capacity.New(capacity.Config{Clock: time.Now})),
		Metrics: c.metrics, Tracer: &telemetry.Tracer{}, Log: c.Log, Clock: time.Now,
	})
}

// only is the only provider of a task.
type only struct{ upstream provider.Provider }

// Provider implements outbound.Providers.
func (o only) Provider(string) (provider.Provider, bool) { return o.upstream, o.upstream != nil }

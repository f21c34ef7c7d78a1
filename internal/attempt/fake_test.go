package attempt

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/route"
	"penstock/internal/telemetry"
)

// reply is what a scripted upstream does with one call.
type reply struct {
	err    error               // refuses the call
	chunks []string            // otherwise: the answer, chunk by chunk
	broken error               // how the answer ends; io.EOF when nil
	meta   provider.Meta       // what Meta says at the end
	during func()              // happens while the call is under way
	waits  bool                // announces that it waits, before each chunk but the first and before the end
	hang   bool                // never answers: waits for the end of the context
	panics bool                // breaks
	breaks bool                // breaks when the answer is closed
	seen   func(provider.Call) // is shown the call
}

// upstream plays one scripted reply per upstream model.
type upstream map[string]reply

func (u upstream) Provider(name string) (provider.Provider, bool) { return u, name == "up" }

func (u upstream) Speaks(penstock.Endpoint) bool { return true }

func (u upstream) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	ctx, cancel := within(ctx, call)
	r, ok := u[call.UpstreamModel]
	if !ok {
		return nil, &provider.Error{Kind: provider.KindInternal, Message: "no reply is scripted for " + call.UpstreamModel}
	}
	if r.seen != nil {
		r.seen(call)
	}
	if r.during != nil {
		r.during()
	}
	if r.panics {
		panic("upstream broke")
	}
	if r.hang {
		<-ctx.Done()
		return nil, ended(ctx)
	}
	if r.err != nil {
		return nil, r.err
	}
	return &answer{ctx: ctx, cancel: cancel, reply: r, waiting: call.Waiting}, nil
}

// within is how long an adapter may take for a call.
func within(ctx context.Context, call provider.Call) (context.Context, context.CancelFunc) {
	if call.Deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, call.Deadline)
}

// ended is the error of an adapter whose context ended.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &provider.Error{Kind: provider.KindTimeout, Message: "total", Err: ctx.Err()}
	}
	return &provider.Error{Kind: provider.KindCancelled, Message: "cancelled", Err: ctx.Err()}
}

type answer struct {
	ctx    context.Context
	cancel context.CancelFunc
	reply
	closed  int
	read    int
	waiting func() error
}

func (a *answer) Next() (provider.Chunk, error) {
	switch {
	case a.ctx.Err() != nil:
		return provider.Chunk{}, ended(a.ctx)
	case a.waits && a.waiting != nil && a.read > 0:
		if err := a.waiting(); err != nil {
			return provider.Chunk{}, &provider.Error{Kind: provider.KindTruncated, Err: err}
		}
	}
	a.read++
	switch {
	case len(a.chunks) > 0:
		wire := a.chunks[0]
		a.chunks = a.chunks[1:]
		return provider.Chunk{Wire: []byte(wire), Text: wire}, nil
	case a.broken != nil:
		return provider.Chunk{}, a.broken
	}
	return provider.Chunk{}, io.EOF
}

func (a *answer) Meta() provider.Meta { return a.meta }

func (a *answer) Close() error {
	a.closed++
	if a.cancel != nil {
		a.cancel()
	}
	if a.breaks {
		panic("the answer broke")
	}
	return nil
}

// sink keeps what it is given, and refuses from a given chunk on.
type sink struct {
	begun      []string // targets
	text       strings.Builder
	refuseFrom int // the chunk, counted from 1, from which on it refuses; 0 for never
	beginErr   error
	chunkErr   error
	chunks     int
}

func (s *sink) Begin(target string, _ provider.Meta) error {
	s.begun = append(s.begun, target)
	return s.beginErr
}

func (s *sink) Chunk(c provider.Chunk) error {
	s.chunks++
	if s.refuseFrom > 0 && s.chunks >= s.refuseFrom {
		return s.chunkErr
	}
	s.text.Write(c.Wire)
	return nil
}

// rig is a runner over scripted upstreams. Target a, b and c reach upstream models ua, ub and uc.
type rig struct {
	*Runner
	t       *testing.T
	tracker *capacity.Tracker
}

// Run is Answer for tests that use a task several times.
func (r rig) Run(ctx context.Context, task Task, sink Sink) Outcome {
	return r.Answer(ctx, task, sink)
}

func newRig(t *testing.T, script upstream, edit ...func(*config.File)) rig {
	t.Helper()
	file := config.File{
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI}, "gone": {Kind: config.KindOpenAI}},
		Targets:   map[string]config.TargetConfig{},
		Models:    map[string]config.ModelConfig{"fast": {Targets: []string{"a", "b", "c"}}},
	}
	for name, input := range map[string]string{"a": "1", "b": "2", "c": "3"} {
		file.Targets[name] = config.TargetConfig{Provider: "up", UpstreamModel: "u" + name,
			Price: config.Price{Input: input, Output: input}}
	}
	for _, e := range edit {
		e(&file)
	}
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	tracker := capacity.New(capacity.Config{Clock: time.Now})
	return rig{t: t, tracker: tracker, Runner: New(Deps{
		Config: config.NewLive(snapshot), Providers: script, Router: route.New(tracker),
		Metrics: telemetry.NewMetrics("test", ""), Tracer: tracer, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})}
}

// editTarget changes the configuration of one target.
func editTarget(name string, edit func(*config.TargetConfig)) func(*config.File) {
	return func(f *config.File) {
		target := f.Targets[name]
		edit(&target)
		f.Targets[name] = target
	}
}

// bound is what one attempt can cost at most, in these tests.
const bound penstock.NanoUSD = 1_000_000

func task(targets ...string) Task {
	return Task{Subject: "subject", Fence: 7, Model: "fast", Targets: targets, Endpoint: penstock.EndpointChat,
		Body: []byte(`{"messages":[]}`), Bound: bound}
}

// knownUsage is the meta of an answer with known usage: 10 tokens in, 20 out.
var knownUsage = provider.Meta{StatusCode: 200, UsageKnown: true, Usage: penstock.Usage{InputTokens: 10, OutputTokens: 20}}

// unknownUsage is the meta of an answer whose upstream reported no usage.
var unknownUsage = provider.Meta{StatusCode: 200}

// fails is a reply that refuses with an error of a kind.
func fails(kind provider.Kind) reply {
	return reply{err: &provider.Error{Kind: kind, StatusCode: 418, Message: "it is " + string(kind)}}
}

// kindOf is the kind of an outcome's error, "" for none.
func kindOf(t *testing.T, out Outcome) provider.Kind {
	t.Helper()
	if out.Err == nil {
		return ""
	}
	e, ok := errors.AsType[*provider.Error](out.Err)
	if !ok {
		t.Fatalf("error is %T (%v), want a *provider.Error", out.Err, out.Err)
	}
	return e.Kind
}

package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/capacity"
	"penstock/internal/filter"
	"penstock/internal/payload"
	"penstock/internal/provider"
	"penstock/internal/store"
	"penstock/internal/supervise"
)

// upstream answers as its settings say.
type upstream string

func (u upstream) Speaks(penstock.Endpoint) bool { return true }

func (u upstream) Call(context.Context, provider.Call) (provider.Answer, error) {
	if u == "refuses" {
		return nil, &provider.Error{Kind: provider.KindServer, StatusCode: 503, Message: "not now", RetryAfter: time.Second}
	}
	return &answer{left: string(u)}, nil
}

type answer struct{ left string }

func (a *answer) Next() (provider.Chunk, error) {
	if a.left == "" {
		return provider.Chunk{}, io.EOF
	}
	wire := a.left
	a.left = ""
	return provider.Chunk{Wire: []byte(wire)}, nil
}

func (a *answer) Meta() provider.Meta {
	return provider.Meta{StatusCode: 200, UsageKnown: true, Usage: penstock.Usage{InputTokens: 10, OutputTokens: 5}}
}
func (a *answer) Close() error { return nil }

// here runs tasks in this process, or fails as it is told.
type here struct {
	child *Child
	err   error
	fresh []bool
}

func (h *here) Do(ctx context.Context, task supervise.Task) ([]byte, error) {
	h.fresh = append(h.fresh, task.Fresh)
	if h.err != nil {
		return nil, h.err
	}
	answer, err := h.child.Run(ctx, task.Body, func(m []byte) error { task.Heard(m); return nil })
	if err != nil {
		return nil, &supervise.TaskError{Message: err.Error()}
	}
	return answer, nil
}

// once makes one attempt on one target, and keeps what came of it.
type once struct {
	target penstock.Target
	tried  attempt.Tried
}

func (o *once) AnswerElsewhere(ctx context.Context, _ *attempt.Task, run func(context.Context, attempt.Place) attempt.Tried) *attempt.Outcome {
	o.tried = run(ctx, attempt.Place{Target: &o.target, Model: penstock.Model{Name: "fast"}, Config: "cfg", Reason: "because"})
	if o.tried.Outcome == nil {
		return &attempt.Outcome{Err: o.tried.Err}
	}
	return o.tried.Outcome
}

type rig struct {
	*Runner
	children *here
	attempts *once
	codec    *payload.Codec
	settings string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	keys, err := payload.LoadOrCreate(filepath.Join(t.TempDir(), "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	exported, err := keys.Export()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	r := &rig{settings: `{"answer":1}`, attempts: &once{target: penstock.Target{Name: "a", Provider: "up", UpstreamModel: "ua", MaxOutputTokens: 100, Price: penstock.Price{PerRequest: 7}}}}
	r.children = &here{child: NewChild(ChildDeps{Log: log, Provider: func(s []byte) (provider.Provider, error) { return upstream(s), nil }})}
	if r.codec, err = payload.New(keys); err != nil {
		t.Fatal(err)
	}
	r.Runner = New(Deps{Children: r.children, Attempts: r.attempts, Keys: exported, Log: log, Settings: func(string) ([]byte, error) { return []byte(r.settings), nil }})
	return r
}

func (r *rig) suspect(t *testing.T) Suspect {
	t.Helper()
	sealed := &store.Sealed{Opens: store.PayloadOwner{Tenant: "acme", ID: "item", Part: "input"}, Result: store.PayloadOwner{Tenant: "acme", ID: "item", Part: "result"}}
	var err error
	if sealed.Input, err = r.codec.Seal(payload.Owner(sealed.Opens), []byte(`{"messages":[]}`)); err != nil {
		t.Fatal(err)
	}
	return Suspect{Sealed: sealed, Task: &attempt.Task{Subject: "item", Fence: 4, Model: "fast", Endpoint: penstock.EndpointChat, Bound: 1000, Lane: penstock.LaneStandard}}
}

func TestSuspectIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.suspect(t)
	a := r.Answer(t.Context(), s)
	if a.Err != nil || a.Died || a.Cost != 7 || a.Counted != 1 || a.Forfeit != 0 || a.Usage.InputTokens != 10 {
		t.Fatalf("%+v", a.Outcome)
	}
	if strings.Contains(string(a.Result), "answer") {
		t.Error("the result can be read on its way")
	}
	plain, err := r.codec.Open(payload.Owner(s.Sealed.Result), a.Result)
	if err != nil || string(plain) != r.settings {
		t.Errorf("the result reads %q, %v", plain, err)
	}
	try := a.Attempts[0]
	if try.Target != "a" || try.Reason != "because" || try.Config != "cfg" || try.Fence != 4 || !try.UsageKnown || try.StatusCode != 200 {
		t.Errorf("the attempt is %+v", try)
	}
	if got := r.attempts.tried.Result; !got.UsageKnown || got.Usage.OutputTokens != 5 {
		t.Errorf("the target's capacity learns %+v", got)
	}
}

// counted is an upstream that counts its calls, and how many of them run at a time.
type counted struct {
	upstream
	calls, running, most atomic.Int64
}

func (c *counted) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	c.calls.Add(1)
	c.most.Store(max(c.most.Load(), c.running.Add(1)))
	answer, err := c.upstream.Call(ctx, call)
	return &ends{answer, &c.running}, err
}

type ends struct {
	provider.Answer
	running *atomic.Int64
}

func (e *ends) Close() error {
	e.running.Add(-1)
	return e.Answer.Close()
}

// The worker holds capacity for one call. Several calls of an attempt follow each other, and the target's capacity learns their number.
func TestSeveralCallsOfASuspect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	up := &counted{upstream: `{"choices":[{"index":0}],"usage":{"prompt_tokens":10}}`}
	r.children.child.Provider = func([]byte) (provider.Provider, error) { return up, nil }
	r.attempts.target.OneChoice, r.attempts.target.Concurrency = true, 8
	s := r.suspect(t)
	var err error
	if s.Sealed.Input, err = r.codec.Seal(payload.Owner(s.Sealed.Opens), []byte(`{"messages":[],"n":5}`)); err != nil {
		t.Fatal(err)
	}
	a := r.Answer(t.Context(), s)
	if a.Err != nil || up.calls.Load() != 5 || up.most.Load() != 1 || a.Usage.InputTokens != 50 || a.Cost != 5*7 {
		t.Errorf("%d calls, %d at a time: %+v", up.calls.Load(), up.most.Load(), a.Outcome)
	}
	if got := r.attempts.tried.Result; got.Calls != 5 || got.Usage.InputTokens != 50 {
		t.Errorf("the target's capacity learns %+v", got)
	}
}

// blocks keeps all answers from callers, and remembers whose they are.
type blocks struct{ seen []filter.Subject }

func (b *blocks) Review(s *filter.Subject) filter.Review {
	b.seen = append(b.seen, *s)
	return b
}

func (*blocks) Chunk(_ context.Context, c *filter.Chunk) (filter.Verdict, error) {
	if !strings.Contains(string(c.Wire), "answer") {
		return filter.Verdict{}, fmt.Errorf("the chunk is %s", c.Wire)
	}
	return filter.Verdict{Action: filter.Block, Reason: "No."}, nil
}

// The answer of a suspect is judged in the child, before it is sealed. What it cost is known all the same.
func TestSuspectIsJudgedInTheChild(t *testing.T) {
	t.Parallel()
	r, judge := newRig(t), &blocks{}
	r.children.child.Filters = &filter.Chain{Outputs: []filter.Output{judge}}
	s := r.suspect(t)
	s.Task.Owner, s.Task.Key = "acme", "app"
	a := r.Answer(t.Context(), s)
	failure := provider.AsError(a.Err)
	if failure.Kind != provider.KindContentBlocked || failure.Message != "No." || len(a.Result) > 0 || a.Cost != 7 || a.Begun {
		t.Errorf("%+v, %v", a.Outcome, a.Err)
	}
	want := filter.Subject{ID: "item", Tenant: "acme", Key: "app", Model: "fast", Endpoint: penstock.EndpointChat}
	if diff := cmp.Diff([]filter.Subject{want}, judge.seen); diff != "" {
		t.Error(diff)
	}
}

func TestSuspectFailsAsOthersDo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings = "refuses"
	a := r.Answer(t.Context(), r.suspect(t))
	failure, ok := errors.AsType[*provider.Error](a.Err)
	if !ok || failure.Kind != provider.KindServer || failure.StatusCode != 503 || failure.RetryAfter != time.Second || failure.Message != "not now" || a.Counted != 1 {
		t.Errorf("%v, %+v", a.Err, a.Outcome)
	}
	if r.attempts.tried.Result.Kind != provider.KindServer {
		t.Errorf("the target's capacity learns %+v", r.attempts.tried.Result)
	}
	s := r.suspect(t)
	s.Sealed.Input[len(s.Sealed.Input)-1] ^= 1
	if a := r.Answer(t.Context(), s); penstock.ErrorCode(a.Err) != penstock.CodeGone {
		t.Errorf("an input that was changed: %v", a.Err)
	}
}

func TestEndsOfChildren(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err           error
		died, stopped bool
		code          penstock.Code
	}{
		{fmt.Errorf("running: %w", &supervise.Death{Status: "signal: killed"}), true, false, ""},
		{fmt.Errorf("%w: cancelled", supervise.ErrStopped), false, true, ""},
		{fmt.Errorf("%w: no memory", supervise.ErrNotStarted), false, false, penstock.CodeOverloaded},
		{supervise.ErrProtocol, false, false, penstock.CodeInternal},
	} {
		r := newRig(t)
		r.children.err = tt.err
		s := r.suspect(t)
		s.Died = 1
		a := r.Answer(t.Context(), s)
		tried := r.attempts.tried
		if a.Died != tt.died || tried.Died != tt.died || tried.Stopped != tt.stopped || (tried.Err != nil && penstock.ErrorCode(tried.Err) != tt.code) {
			t.Errorf("%v: %+v", tt.err, tried)
		}
		if !r.children.fresh[0] {
			t.Errorf("%v: the second time, an item needs a child that ran nothing else", tt.err)
		}
	}
}

func TestMessagesSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "payload")
		want := outcome{
			Attempts: []penstock.Attempt{{ID: "x", Target: rapid.String().Draw(t, "target"), Isolated: rapid.Bool().Draw(t, "isolated"), StartedAt: time.UnixMicro(rapid.Int64Range(0, 1e15).Draw(t, "at")).UTC()}},
			Failure:  failureOf(&provider.Error{Kind: provider.KindTimeout, Message: "late", RetryAfter: time.Minute, Err: io.ErrUnexpectedEOF}),
			Counted:  rapid.Int().Draw(t, "counted"), Cost: penstock.NanoUSD(rapid.Int64().Draw(t, "cost")), Usage: penstock.Usage{InputTokens: rapid.Int64().Draw(t, "tokens")},
			Result: capacity.Result{Kind: provider.KindTimeout, Took: time.Second},
		}
		all, err := encode(want, bytes)
		if err != nil {
			t.Fatal(err)
		}
		var got outcome
		payload, err := decode(all, &got)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || string(payload) != string(bytes) {
			t.Fatalf("%v, %q for %q\n%s", err, payload, bytes, diff)
		}
		cut := rapid.IntRange(0, len(all)-len(bytes)-1).Draw(t, "cut")
		if _, err := decode(all[:cut], &got); err == nil {
			t.Fatalf("a message cut to %d of %d bytes is read", cut, len(all))
		}
	})
}

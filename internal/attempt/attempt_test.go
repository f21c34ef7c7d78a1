package attempt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var call provider.Call
		r := newRig(t, upstream{"ua": {
			chunks: []string{"Hel", "lo"}, meta: knownUsage,
			seen: func(c provider.Call) { call = c; time.Sleep(time.Second) },
		}})
		s := &sink{}
		began := time.Now()
		out := r.Run(t.Context(), task("a", "b"), s)

		if out.Err != nil || !out.Begun || s.text.String() != "Hello" || !cmp.Equal(s.begun, []string{"a"}) {
			t.Errorf("outcome %+v with text %q, begun %v", out, s.text.String(), s.begun)
		}
		hash := r.Config.Current().Hash
		want := penstock.Attempt{
			Subject: "subject", Number: 1, Fence: 7, Target: "a", Reason: "first of the model's order", Config: hash,
			StatusCode: 200, Usage: knownUsage.Usage, UsageKnown: true, Cost: 30_000, PriceVersion: hash,
			StartedAt: began, FirstTokenAt: began.Add(time.Second), FinishedAt: began.Add(time.Second),
		}
		got := out.Attempts[0]
		if !got.ID.Valid() {
			t.Errorf("attempt id %q is malformed", got.ID)
		}
		got.ID = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attempt (-want +got):\n%s", diff)
		}
		if out.Target != "a" || out.StatusCode != 200 || out.Usage != knownUsage.Usage || out.Cost != 30_000 || out.Forfeit != 0 || out.PriceVersion != hash {
			t.Errorf("outcome %+v", out)
		}
		if call.UpstreamModel != "ua" || string(call.Body) != `{"messages":[]}` || call.Endpoint != penstock.EndpointChat || call.Stream {
			t.Errorf("the upstream was called with %+v", call)
		}
	})
}

// The first chunk of a plain answer is all of it: only a stream's first chunk has a limit of its own.
func TestTimeoutsOfACall(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		want := provider.Timeouts{Connect: 5 * time.Second, Idle: 30 * time.Second}
		if stream {
			want.FirstToken = time.Minute
		}
		var call provider.Call
		r := newRig(t, upstream{"ua": {chunks: []string{"x"}, meta: knownUsage, seen: func(c provider.Call) { call = c }}})
		asked := task("a")
		asked.Stream = stream
		if r.Run(t.Context(), asked, &sink{}); call.Timeouts != want || call.Stream != stream {
			t.Errorf("stream %v: called with %+v, want %+v", stream, call, want)
		}
	}
}

func TestUpstreamModelAsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"fast": {chunks: []string{"ok"}, meta: knownUsage}},
		editTarget("a", func(c *config.TargetConfig) { c.UpstreamModel = penstock.UpstreamModelAsAsked }))
	if out := r.Run(t.Context(), task("a"), &sink{}); out.Err != nil {
		t.Errorf("the upstream was not asked for the caller's model: %v", out.Err)
	}
}

// What each kind of error means for fallback and money, written down by hand.
var kindRules = []struct {
	kind     provider.Kind
	fallback bool
	forfeit  penstock.NanoUSD // when the call is refused before an answer
}{
	{provider.KindRateLimited, true, 0},
	{provider.KindOverloaded, true, 0},
	{provider.KindSpendCap, true, 0},
	{provider.KindAuth, true, 0},
	{provider.KindModelNotFound, true, 0},
	{provider.KindRejected, false, 0},
	{provider.KindContextTooLong, true, 0},
	{provider.KindTooLarge, true, 0},
	{provider.KindForbidden, true, 0},
	{provider.KindContentBlocked, false, 0},
	{provider.KindServer, true, 0},
	{provider.KindFinal, true, 0},
	{provider.KindConnect, true, 0},
	{provider.KindNetwork, true, bound},
	{provider.KindTimeout, true, bound},
	{provider.KindTruncated, true, bound},
	{provider.KindMalformed, true, bound},
	{provider.KindCancelled, false, bound},
	{provider.KindInternal, false, bound},
	{provider.KindMemory, false, bound},
}

func TestFallbackByKind(t *testing.T) {
	t.Parallel()
	if len(kindRules) != len(provider.Kinds) {
		t.Fatalf("%d rules for %d kinds", len(kindRules), len(provider.Kinds))
	}
	for _, rule := range kindRules {
		t.Run(string(rule.kind), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, upstream{"ua": fails(rule.kind), "ub": {chunks: []string{"ok"}, meta: knownUsage}})
			s := &sink{}
			out := r.Run(t.Context(), task("a", "b"), s)
			wantText, wantKind, wantAttempts, wantCost := "", rule.kind, 1, penstock.NanoUSD(0)
			if rule.fallback {
				wantText, wantKind, wantAttempts, wantCost = "ok", "", 2, 60_000
			}
			if got := kindOf(t, out); got != wantKind || s.text.String() != wantText || len(out.Attempts) != wantAttempts {
				t.Errorf("kind %q, text %q, %d attempts; want %q, %q, %d", got, s.text.String(), len(out.Attempts), wantKind, wantText, wantAttempts)
			}
			if out.Forfeit != rule.forfeit || out.Cost != wantCost {
				t.Errorf("forfeit %v, cost %v; want %v, %v", out.Forfeit, out.Cost, rule.forfeit, wantCost)
			}
			first := out.Attempts[0]
			if first.ErrorKind != string(rule.kind) || first.ErrorMessage != (&provider.Error{Kind: rule.kind, Message: "it is " + string(rule.kind)}).Public() || first.StatusCode != 418 ||
				first.UsageKnown || !first.FirstTokenAt.IsZero() {
				t.Errorf("attempt %+v", first)
			}
		})
	}
}

func TestFallbackIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": fails(provider.KindServer), "ub": fails(provider.KindNetwork), "uc": {chunks: []string{"ok"}, meta: knownUsage}})
	out := r.Run(t.Context(), task("a", "b", "c"), &sink{})
	if out.Err != nil || len(out.Attempts) != 3 || out.Target != "c" || out.StatusCode != 200 {
		t.Fatalf("outcome %+v", out)
	}
	for i, want := range []struct{ target, reason, kind string }{
		{"a", "first of the model's order", "server_error"},
		{"b", "next in the model's order: a was tried", "network"},
		{"c", "next in the model's order: a was tried, b was tried", ""},
	} {
		a := out.Attempts[i]
		if a.Number != i+1 || a.Target != want.target || a.Reason != want.reason || a.ErrorKind != want.kind || a.Fence != 7 {
			t.Errorf("attempt %d is %+v, want %+v", i+1, a, want)
		}
		if i > 0 && a.ID <= out.Attempts[i-1].ID {
			t.Errorf("attempt ids go back: %s after %s", a.ID, out.Attempts[i-1].ID)
		}
	}
	if out.Cost != 90_000 || out.Forfeit != bound {
		t.Errorf("cost %v, forfeit %v; want c's price and b's bound", out.Cost, out.Forfeit)
	}
}

func TestLastErrorTellsMoreThanThatThereIsNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": fails(provider.KindAuth), "ub": fails(provider.KindServer)})
	out := r.Run(t.Context(), task("a", "b"), &sink{})
	if kind := kindOf(t, out); kind != provider.KindServer || out.Target != "b" || len(out.Attempts) != 2 || out.Begun {
		t.Errorf("kind %s, outcome %+v; want what b said", kind, out)
	}
}

func TestUnconfiguredTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{})
	out := r.Run(t.Context(), task("removed"), &sink{})
	if penstock.ErrorCode(out.Err) != penstock.CodeNoTargetAvailable || len(out.Attempts) != 0 || out.Forfeit != 0 {
		t.Errorf("outcome %+v; want no_target_available and no attempt", out)
	}
}

func TestUnconfiguredProviderFallsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ub": {chunks: []string{"ok"}, meta: knownUsage}},
		editTarget("a", func(c *config.TargetConfig) { c.Provider = "gone" }))
	out := r.Run(t.Context(), task("a", "b"), &sink{})
	if out.Err != nil || len(out.Attempts) != 2 || out.Attempts[0].ErrorKind != "connect" || out.Forfeit != 0 {
		t.Errorf("outcome %+v; want b to answer after a's provider was not found", out)
	}
}

func TestNoFallbackOnceTheAnswerBegan(t *testing.T) {
	t.Parallel()
	for _, kind := range provider.Kinds {
		r := newRig(t, upstream{
			"ua": {chunks: []string{"Hel"}, broken: &provider.Error{Kind: kind, StatusCode: 200, Message: "cut"}, meta: unknownUsage},
			"ub": {chunks: []string{"no"}, meta: knownUsage},
		})
		s := &sink{}
		out := r.Run(t.Context(), task("a", "b"), s)
		if kindOf(t, out) != kind || !out.Begun || len(out.Attempts) != 1 || s.text.String() != "Hel" || len(s.begun) != 1 {
			t.Errorf("%s: outcome %+v, text %q; want a's answer and its end", kind, out, s.text.String())
		}
	}
}

func TestFallbackWhenTheAnswerBreaksBeforeItsFirstChunk(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{
		"ua": {broken: &provider.Error{Kind: provider.KindTruncated, Message: "cut"}, meta: unknownUsage},
		"ub": {chunks: []string{"ok"}, meta: knownUsage},
	})
	s := &sink{}
	out := r.Run(t.Context(), task("a", "b"), s)
	if out.Err != nil || s.text.String() != "ok" || !cmp.Equal(s.begun, []string{"b"}) || out.Forfeit != bound {
		t.Errorf("outcome %+v, text %q, begun %v", out, s.text.String(), s.begun)
	}
}

func TestSinkErrors(t *testing.T) {
	t.Parallel()
	gone := errors.New("broken pipe")
	tooLarge := &provider.Error{Kind: provider.KindMalformed, Message: "too large"}
	for _, tt := range []struct {
		name    string
		sink    sink
		meta    provider.Meta
		want    provider.Kind
		cost    penstock.NanoUSD
		forfeit penstock.NanoUSD
	}{
		{"the caller left before the first chunk", sink{beginErr: gone}, unknownUsage, provider.KindCancelled, 4_000, bound - 4_000},
		{"the caller left later", sink{refuseFrom: 2, chunkErr: gone}, unknownUsage, provider.KindCancelled, 6_000, bound - 6_000},
		{"the caller left after usage was reported", sink{refuseFrom: 2, chunkErr: gone}, knownUsage, provider.KindCancelled, 30_000, 0},
		{"the sink says why", sink{refuseFrom: 2, chunkErr: tooLarge}, unknownUsage, provider.KindMalformed, 6_000, bound - 6_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, upstream{"ua": {chunks: []string{"Hel", "lo"}, meta: tt.meta}, "ub": {chunks: []string{"no"}, meta: knownUsage}})
			out := r.Run(t.Context(), task("a", "b"), &tt.sink)
			if got := kindOf(t, out); got != tt.want || !out.Begun || len(out.Attempts) != 1 {
				t.Errorf("kind %s, outcome %+v; want %s and no fallback", got, out, tt.want)
			}
			if out.Cost != tt.cost || out.Forfeit != tt.forfeit || out.Attempts[0].UsageKnown != tt.meta.UsageKnown {
				t.Errorf("cost %v, forfeit %v; want %v, %v", out.Cost, out.Forfeit, tt.cost, tt.forfeit)
			}
			if tt.sink.chunkErr == gone && !errors.Is(out.Err, gone) {
				t.Errorf("%v hides why the sink refused", out.Err)
			}
		})
	}
}

func TestMoneyOfAnAnswerWithoutUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		meta          provider.Meta
		used          penstock.Usage
		cost, forfeit penstock.NanoUSD
	}{
		{"reported", knownUsage, knownUsage.Usage, 30_000, 0},
		{"reported as nothing", provider.Meta{UsageKnown: true}, penstock.Usage{}, 0, 0},
		{"not reported", unknownUsage, penstock.Usage{InputTokens: 4, OutputTokens: 1}, 5_000, bound - 5_000},
		{"partly reported", provider.Meta{Usage: penstock.Usage{InputTokens: 10}}, penstock.Usage{InputTokens: 10, OutputTokens: 1}, 11_000, bound - 11_000},
		{"more reported than arrived", provider.Meta{Usage: penstock.Usage{InputTokens: 10, OutputTokens: 7}},
			penstock.Usage{InputTokens: 10, OutputTokens: 7}, 17_000, bound - 17_000},
		{"partly reported, above the bound", provider.Meta{Usage: penstock.Usage{InputTokens: 5_000}},
			penstock.Usage{InputTokens: 5_000, OutputTokens: 1}, 5_001_000, 0},
	} {
		r := newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: tt.meta}})
		out := r.Run(t.Context(), task("a"), &sink{})
		if out.Err != nil || out.Cost != tt.cost || out.Forfeit != tt.forfeit || out.Usage != tt.used {
			t.Errorf("%s: cost %v, forfeit %v, usage %+v, %v; want %v, %v", tt.name, out.Cost, out.Forfeit, out.Usage, out.Err, tt.cost, tt.forfeit)
		}
	}
}

func TestBrokenOffAnswerIsNeverRefunded(t *testing.T) {
	t.Parallel()
	for _, kind := range provider.Kinds {
		r := newRig(t, upstream{"ua": {chunks: []string{"Hel"}, broken: &provider.Error{Kind: kind, Message: "cut"}, meta: unknownUsage}})
		if out := r.Run(t.Context(), task("a"), &sink{}); out.Cost+out.Forfeit != bound {
			t.Errorf("%s: cost %v and forfeit %v, want %v in all", kind, out.Cost, out.Forfeit, bound)
		}
	}
}

func TestPanicsEndTheAttemptOnly(t *testing.T) {
	t.Parallel()
	broken := &breakingSink{}
	for name, tt := range map[string]struct {
		script upstream
		sink   Sink
	}{
		"in the provider": {upstream{"ua": {panics: true}, "ub": {chunks: []string{"no"}}}, &sink{}},
		"at the end":      {upstream{"ua": {chunks: []string{"x"}, meta: unknownUsage, breaks: true}, "ub": {chunks: []string{"no"}}}, &sink{}},
		"in the sink":     {upstream{"ua": {chunks: []string{"x"}, meta: unknownUsage}, "ub": {chunks: []string{"no"}}}, broken},
	} {
		r := newRig(t, tt.script, editTarget("a", func(c *config.TargetConfig) { c.Limits.Concurrency = 1 }))
		for range 2 { // the second time proves that the capacity was given back
			out := r.Run(t.Context(), task("a", "b"), tt.sink)
			if kindOf(t, out) != provider.KindInternal || len(out.Attempts) != 1 || out.Attempts[0].Target != "a" || out.Forfeit != bound {
				t.Errorf("%s: outcome %+v; want an internal error on a, its bound forfeit", name, out)
			}
			if out.Attempts[0].FinishedAt.IsZero() {
				t.Errorf("%s: the attempt's record is not complete", name)
			}
		}
	}
}

// breakingSink panics when an answer begins.
type breakingSink struct{ sink }

func (*breakingSink) Begin(string, provider.Meta) error { panic("sink broke") }

func TestUnknownKindEndsTheAttemptOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": {err: &provider.Error{Message: "an adapter forgot the kind"}}})
	if out := r.Run(t.Context(), task("a"), &sink{}); kindOf(t, out) != provider.KindInternal {
		t.Errorf("outcome %+v, want an internal error", out)
	}
}

func TestForeignErrorOfAnAdapterIsInternal(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": {err: context.Canceled}, "ub": {chunks: []string{"no"}}})
	if out := r.Run(t.Context(), task("a", "b"), &sink{}); kindOf(t, out) != provider.KindInternal || len(out.Attempts) != 1 {
		t.Errorf("outcome %+v, want an internal error and no fallback", out)
	}
}

func TestAnswersAreClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply reply
		sink  Sink
	}{
		"complete":  {reply{chunks: []string{"x"}, meta: knownUsage}, &sink{}},
		"broken":    {reply{chunks: []string{"x"}, broken: &provider.Error{Kind: provider.KindTruncated}}, &sink{}},
		"refused":   {reply{chunks: []string{"x"}}, &sink{beginErr: errors.New("gone")}},
		"panicking": {reply{chunks: []string{"x"}}, &breakingSink{}},
	} {
		var given *answer
		r := newRig(t, nil)
		r.Providers = closing{reply: tt.reply, given: &given}
		r.Run(t.Context(), task("a"), tt.sink)
		if given == nil || given.closed == 0 {
			t.Errorf("%s: the answer was left open", name)
		}
	}
}

// closing is an upstream whose answer can be looked at afterwards.
type closing struct {
	reply
	given **answer
}

func (c closing) Provider(string) (provider.Provider, bool) { return c, true }

func (c closing) Speaks(penstock.Endpoint) bool { return true }

func (c closing) Call(ctx context.Context, _ provider.Call) (provider.Answer, error) {
	*c.given = &answer{ctx: ctx, reply: c.reply}
	return *c.given, nil
}

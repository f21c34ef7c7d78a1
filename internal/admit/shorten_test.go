package admit

import (
	"fmt"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/overflow"
	"penstock/internal/store"
)

// talk is a chat of turns of about 100 tokens each, and a short last one.
func talk(t testing.TB, turns int, members string) dialect.Inference {
	t.Helper()
	var list []string
	for i := range turns {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"turn %d%s"},{"role":"assistant","content":"yes"}`, i, strings.Repeat(" tea", 80)))
	}
	list = append(list, `{"role":"user","content":"last"}`)
	inf, err := catalog.Read(penstock.EndpointChat, []byte(`{`+members+`"model":"long","messages":[`+strings.Join(list, ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

// longRig has a model with two targets of one vendor, of 500 and 1,000 tokens of context.
func longRig(t *testing.T, policy penstock.OnOverflow, edit ...func(*config.File)) *rig {
	t.Helper()
	r := newRig(t, append([]func(*config.File){func(f *config.File) {
		f.Targets["small"] = config.TargetConfig{Provider: "up", UpstreamModel: "s", ContextTokens: 500, Price: config.Price{Input: "1", Output: "1"}}
		f.Targets["large"] = config.TargetConfig{Provider: "up", UpstreamModel: "l", ContextTokens: 1000, Price: config.Price{Input: "1", Output: "1"}}
		f.Models["long"] = config.ModelConfig{Targets: []string{"small", "large"}, OnOverflow: policy}
	}}, edit...)...)
	r.Overflow = &Overflow{Cutter: new(overflow.Cutter)}
	return r
}

func TestShortenedRequests(t *testing.T) {
	t.Parallel()
	const oldest = penstock.OverflowTruncateOldest
	for _, tt := range []struct {
		name    string
		policy  penstock.OnOverflow
		inf     func(testing.TB) dialect.Inference
		only    []string
		paused  string
		context int64 // that the call was shortened for, 0 if it was not
		code    penstock.Code
	}{
		{"short", oldest, func(t testing.TB) dialect.Inference { return talk(t, 2, "") }, nil, "", 0, ""},
		{"short enough for one target", oldest, func(t testing.TB) dialect.Inference { return talk(t, 7, `"max_tokens":50,`) }, nil, "", 0, ""},
		{"too long for all", oldest, func(t testing.TB) dialect.Inference { return talk(t, 20, "") }, nil, "", 1000, ""},
		{"the larger target is paused", oldest, func(t testing.TB) dialect.Inference { return talk(t, 7, `"max_tokens":50,`) }, nil, "large", 500, ""},
		{"the caller leaves the larger target out", oldest, func(t testing.TB) dialect.Inference { return talk(t, 7, `"max_tokens":50,`) }, []string{"small"}, "", 500, ""},
		{"a model that rejects", penstock.OverflowReject, func(t testing.TB) dialect.Inference { return talk(t, 20, "") }, nil, "", 0, ""},
		{"the last turn is too long", oldest, func(t testing.TB) dialect.Inference {
			return talk(t, 0, `"tools":[{"type":"function","function":{"name":"f","description":"`+strings.Repeat("tea ", 1100)+`"}}],`)
		}, nil, "", 0, penstock.CodeContextTooLong},
		{"the last turn needs what is kept for an answer without a bound", oldest, func(t testing.TB) dialect.Inference {
			return talk(t, 0, `"tools":[{"type":"function","function":{"name":"f","description":"`+strings.Repeat("tea ", 900)+`"}}],`)
		}, nil, "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := longRig(t, tt.policy)
			if tt.paused != "" {
				r.controls[store.ControlTarget] = tt.paused
			}
			inf := tt.inf(t)
			a, err := r.Request(t.Context(), r.caller, RequestOrder{Endpoint: penstock.EndpointChat, Model: "long", Inference: inf, Only: tt.only})
			if penstock.ErrorCode(err) != tt.code {
				t.Fatalf("%v, want %q", err, tt.code)
			}
			if tt.code != "" {
				if e := penstock.AsError(err); !strings.Contains(e.Message, "takes 1000") || !strings.Contains(e.Message, `"long"`) || e.Param != "messages" {
					t.Errorf("%+v", e)
				}
				return
			}
			var dropped *penstock.Truncation
			if a.Edited != nil {
				dropped = a.Edited.Truncated
			}
			if (dropped != nil) != (tt.context > 0) || dropped != nil && dropped.ContextTokens != tt.context {
				t.Fatalf("%+v, want a context of %d", dropped, tt.context)
			}
			if dropped == nil {
				return
			}
			if a.Edited.Counted != dropped.TokensAfter || dropped.TokensAfter > tt.context || len(a.Edited.Body()) >= len(inf.Body()) || !strings.Contains(string(a.Edited.Body()), `"last"`) {
				t.Errorf("%+v: %s", dropped, a.Edited.Body())
			}
		})
	}
}

// What a call reserves is the price of the shorter input.
func TestShorterInputsCostLess(t *testing.T) {
	t.Parallel()
	bound := func(policy penstock.OnOverflow) penstock.NanoUSD {
		r := longRig(t, policy)
		a, err := r.Request(t.Context(), r.caller, RequestOrder{Endpoint: penstock.EndpointChat, Model: "long", Inference: talk(t, 40, `"max_tokens":10,`)})
		if err != nil {
			t.Fatal(err)
		}
		return a.Bound
	}
	if whole, short := bound(penstock.OverflowReject), bound(penstock.OverflowTruncateOldest); short*3 > whole {
		t.Errorf("a shortened call reserves %v, the whole one %v", short, whole)
	}
}

// A job stores the shorter bodies, and the caller's list does not change.
func TestShortenedJobs(t *testing.T) {
	t.Parallel()
	r := longRig(t, penstock.OverflowTruncateOldest)
	o := JobOrder{Model: "long", Inferences: []dialect.Inference{talk(t, 2, ""), talk(t, 20, "")}}
	sent := len(o.Inferences[1].Body())
	sub := r.admit(o)
	if sub.Items[0].Truncated != nil || len(sub.Items[0].Body) != len(o.Inferences[0].Body()) {
		t.Errorf("the short item: %+v", sub.Items[0].Truncated)
	}
	if d := sub.Items[1].Truncated; d == nil || len(sub.Items[1].Body) >= sent || len(o.Inferences[1].Body()) != sent || d.Turns < 10 {
		t.Errorf("the long item: %+v, %d bytes", d, len(sub.Items[1].Body))
	}
	if sub.Job.Resolved.OnOverflow != penstock.OverflowTruncateOldest {
		t.Errorf("resolved to %+v", sub.Job.Resolved)
	}
	o.Inferences = []dialect.Inference{talk(t, 2, ""), talk(t, 0, `"tools":[{"type":"function","function":{"name":"`+strings.Repeat("tea ", 1100)+`"}}],`)}
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeContextTooLong || penstock.AsError(err).Param != "inputs[1].body.messages" {
		t.Errorf("an item that cannot be shortened: %v", err)
	}
	// A turn of a conversation keeps its own items.
	o.Inferences, o.Conversation, o.Own = []dialect.Inference{talk(t, 20, "")}, "01B", 5
	if sub = r.admit(o); !strings.Contains(string(sub.Items[0].Body), "turn 18") {
		t.Errorf("own items were dropped: %s", sub.Items[0].Body)
	}
}

// BenchmarkShortenFits is what a model that truncates costs a call that is short enough.
func BenchmarkShortenFits(b *testing.B) {
	inf := talk(b, 10, "")
	order := ShortenOrder{Policy: penstock.OverflowTruncateOldest, Targets: []*penstock.Target{{Name: "a", ContextTokens: 128_000}}}
	f := &Overflow{Cutter: new(overflow.Cutter)}
	b.ReportAllocs()
	for b.Loop() {
		if short, err := f.Shorten(order, &inf); short != nil || err != nil {
			b.Fatal("it was counted")
		}
	}
}

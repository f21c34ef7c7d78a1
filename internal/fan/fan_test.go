package fan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is the answer to one call.
type script struct {
	chunks []string
	err    error         // how it ends; io.EOF when nil
	meta   provider.Meta // at its end
	refuse error
	after  chan struct{} // is waited for before the call is answered or refused
	asked  chan struct{} // is closed when the call is made
	gate   chan struct{} // is waited for before the second chunk
	ctx    context.Context
	read   int
}

// unit counts how calls end.
type unit struct{ begun, done, released atomic.Int64 }

func (u *unit) Begun()                              { u.begun.Add(1) }
func (u *unit) Done(provider.Meta, *provider.Error) { u.done.Add(1) }
func (u *unit) Release()                            { u.released.Add(1) }

func (s *script) Next() (provider.Chunk, error) {
	if s.read++; s.read == 2 && s.gate != nil {
		select {
		case <-s.gate:
		case <-s.ctx.Done():
			return provider.Chunk{}, &provider.Error{Kind: provider.KindCancelled, Message: "cancelled"}
		}
	}
	if s.read <= len(s.chunks) {
		return provider.Chunk{Wire: []byte(s.chunks[s.read-1]), Text: "t"}, nil
	}
	if s.err != nil {
		return provider.Chunk{}, s.err
	}
	return provider.Chunk{}, io.EOF
}

func (s *script) Meta() provider.Meta {
	if s.read > len(s.chunks) && s.err == nil {
		return s.meta
	}
	return provider.Meta{StatusCode: 200}
}
func (*script) Close() error { return nil }

func used(in, out int64) provider.Meta {
	return provider.Meta{StatusCode: 200, ContentType: "application/json", UsageKnown: true, Sent: true, Usage: penstock.Usage{InputTokens: in, OutputTokens: out}}
}

func play(t *testing.T, plan Plan, scripts ...*script) *Answer {
	t.Helper()
	plan.Calls = len(scripts)
	if plan.Parallel == 0 {
		plan.Parallel = len(scripts)
	}
	plan.Each = max(plan.Each, 1)
	if plan.Begin == nil {
		plan.Begin = func(context.Context, int) (Unit, error) { return new(unit), nil }
	}
	plan.Ask = func(ctx context.Context, call int) (provider.Answer, error) {
		s := scripts[call]
		if s.asked != nil {
			close(s.asked)
		}
		if s.after != nil {
			<-s.after
		}
		if s.ctx = ctx; s.refuse != nil {
			return nil, s.refuse
		}
		return s, nil
	}
	return Start(t.Context(), plan)
}

func readAll(a *Answer) (string, error) {
	var all strings.Builder
	for {
		chunk, err := a.Next()
		if err == io.EOF {
			return all.String(), nil
		}
		if err != nil {
			return all.String(), err
		}
		all.Write(chunk.Wire)
	}
}

func plain(text string, in, out int) *script {
	return &script{meta: used(int64(in), int64(out)), chunks: []string{fmt.Sprintf(
		`{"id":"id-%s","object":"chat.completion","choices":[{"index":0,"message":{"content":%q}}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"details":{"cached":1}}}`, text, text, in, out)}}
}

func TestPlainAnswersAreJoined(t *testing.T) {
	t.Parallel()
	a := play(t, Plan{Parallel: 2}, plain("a", 7, 1), plain("b", 7, 2), plain("c", 7, 4))
	got, err := readAll(a)
	ids := []string{`"id":"id-a"`, `"id":"id-b"`} // of the answer that came first
	got = strings.Replace(got, ids[1], ids[0], 1)
	const want = `{"id":"id-a","choices":[{"index":0,"message":{"content":"a"}},{"index":1,"message":{"content":"b"}},{"index":2,"message":{"content":"c"}}],` +
		`"usage":{"completion_tokens":7,"details":{"cached":3},"prompt_tokens":21},"object":"chat.completion"}`
	if err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if m := a.Meta(); !m.UsageKnown || m.Usage.InputTokens != 21 || m.Usage.OutputTokens != 7 || !m.Sent || m.Owed || !a.Begun() || a.Charged() != 3 {
		t.Errorf("%+v", m)
	}
	a.Close()
}

func stream(text string, gate chan struct{}) *script {
	event := func(choices, usage string) string {
		return fmt.Sprintf("data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[%s]%s}\n\n", choices, usage)
	}
	return &script{gate: gate, meta: used(5, 3), chunks: []string{
		event(`{"index":0,"delta":{"content":"`+text+`1"}}`, `,"usage":null`), ": ping\n\n",
		event(`{"index":0,"delta":{"content":"`+text+`2"},"finish_reason":"stop"}`, `,"usage":null`) + event("", `,"usage":{"total_tokens":8}`) + "data: [DONE]\n\n",
	}}
}

// The events of all calls are passed on as they come, with the index of their call; usage and the end come once.
func TestStreamsAreInterleaved(t *testing.T) {
	t.Parallel()
	late := make(chan struct{})
	a := play(t, Plan{Stream: true, IncludeUsage: true}, stream("a", late), stream("b", nil))
	var seen []string
	for {
		chunk, err := a.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if seen = append(seen, string(chunk.Wire)); strings.Contains(string(chunk.Wire), "b2") {
			close(late) // the first call goes on only after the second is done
		}
	}
	all := strings.Join(seen, "")
	for _, part := range []string{`{"index":0,"delta":{"content":"a1"}}`, `{"index":1,"delta":{"content":"b2"},"finish_reason":"stop"}`, `"choices":[],"usage":{"total_tokens":16}`, ": ping"} {
		if strings.Count(all, part) == 0 {
			t.Errorf("%s lacks %s", all, part)
		}
	}
	if strings.Count(all, "[DONE]") != 1 || !strings.HasSuffix(all, "[DONE]\n\n") || strings.Index(all, "b2") > strings.Index(all, "a2") {
		t.Errorf("%s", all)
	}
	a.Close()
}

// If one call fails, all are ended. The usage of those that were complete is known, that of those that were under way is owed, and those
// that were refused or not made cost nothing.
func TestOneFailureFailsAll(t *testing.T) {
	t.Parallel()
	limited := &provider.Error{Kind: provider.KindRateLimited, Message: "too many", StatusCode: 429}
	cut := &provider.Error{Kind: provider.KindTruncated, Message: "cut"}
	// refused is refused once the script was asked.
	refused := func(first *script) []*script {
		first.asked = make(chan struct{})
		return []*script{first, {refuse: limited, after: first.asked}}
	}
	for name, tt := range map[string]struct {
		scripts  []*script
		parallel int
		known    bool
		owed     bool
		begun    bool
		input    int64
		charged  int64
	}{
		"refused, and the other is complete":  {scripts: refused(plain("a", 7, 1)), known: true, input: 7, charged: 1},
		"refused, and the other is under way": {scripts: refused(&script{chunks: []string{"{}", "{}"}, gate: make(chan struct{})}), owed: true, charged: 1},
		"refused before the others began":     {scripts: []*script{{refuse: limited}, plain("b", 7, 1), plain("c", 7, 1)}, parallel: 1, known: true},
		"all are refused":                     {scripts: []*script{{refuse: limited}, {refuse: limited}}, known: true},
		"broken":                              {scripts: []*script{plain("a", 7, 1), {chunks: []string{`{"id":"b"}`}, err: cut}}, owed: true, begun: true, input: 7, charged: 2},
		"not a completion":                    {scripts: []*script{plain("a", 7, 1), {chunks: []string{`[]`}, meta: used(1, 1)}}, known: true, begun: true, input: 8, charged: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := play(t, Plan{Parallel: tt.parallel}, tt.scripts...)
			_, err := readAll(a)
			failure, ok := errors.AsType[*provider.Error](err)
			if !ok || !strings.Contains(failure.Note, "failed, so all did") || failure.Kind == provider.KindCancelled {
				t.Fatalf("%v", err)
			}
			m := a.Meta()
			if m.UsageKnown != tt.known || m.Owed != tt.owed || m.Usage.InputTokens != tt.input || a.Charged() != tt.charged || a.Begun() != tt.begun {
				t.Errorf("usage %+v, known %v, owed %v; %d calls are charged for, begun %v", m.Usage, m.UsageKnown, m.Owed, a.Charged(), a.Begun())
			}
			if _, again := a.Next(); again != err {
				t.Errorf("then %v", again)
			}
			a.Close()
		})
	}
}

// A failure ends the other calls before the caller reads the failure, and a call that has its capacity by then is not made.
func TestNoCallIsMadeAfterAFailure(t *testing.T) {
	t.Parallel()
	var units [3]unit
	waits := make(chan struct{}) // closed when the last call waits for capacity
	plan := Plan{Parallel: 2, Begin: func(ctx context.Context, call int) (Unit, error) {
		if call == 2 {
			close(waits)
			<-ctx.Done()
		}
		return &units[call], nil
	}}
	cut := &provider.Error{Kind: provider.KindTruncated, Message: "cut"}
	a := play(t, plan, plain("a", 7, 1), &script{chunks: []string{`{"id":"b"}`}, gate: waits, err: cut}, &script{refuse: errors.New("the call was made")})
	_, err := readAll(a)
	if e := provider.AsError(err); e.Kind != provider.KindTruncated || a.Charged() != 2 || a.Meta().Usage.InputTokens != 7 {
		t.Errorf("%v; %d calls are charged for", err, a.Charged())
	}
	for call, want := range [3][3]int64{{1, 1, 0}, {1, 1, 0}, {0, 0, 1}} {
		if u := &units[call]; u.begun.Load() != want[0] || u.done.Load() != want[1] || u.released.Load() != want[2] {
			t.Errorf("call %d: begun %d, done %d, released %d", call, u.begun.Load(), u.done.Load(), u.released.Load())
		}
	}
	a.Close()
}

// A caller who leaves ends all calls; a call without capacity ends them with the reason.
func TestEnds(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	a := play(t, Plan{Stream: true}, stream("a", never), stream("b", never))
	if _, err := a.Next(); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if _, err := a.Next(); err != io.EOF {
		t.Errorf("after Close: %v", err)
	}

	var only unit
	a = play(t, Plan{Parallel: 1, Begin: func(_ context.Context, call int) (Unit, error) {
		if call == 1 {
			return nil, penstock.Errorf(penstock.CodeOverloaded, "All are busy.")
		}
		return &only, nil
	}}, plain("a", 7, 1), plain("b", 7, 1))
	_, err := readAll(a)
	if e := provider.AsError(err); e.Kind != provider.KindRateLimited || !strings.Contains(e.Message, "All are busy.") || only.done.Load() != 1 || a.Charged() != 1 {
		t.Errorf("%v, %d were done", err, only.done.Load())
	}
	a.Close()
}

func TestSum(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{`{"a":1,"b":{"c":2}}`, `{"a":3,"b":{"c":4,"d":1},"e":5}`, `{"a":4,"b":{"c":6,"d":1},"e":5}`},
		{`{"a":9223372036854775807}`, `{"a":1}`, `{"a":9223372036854775807}`},
		{`{"cost":0.5}`, `{"cost":0.25}`, `{"cost":0.75}`},
		{`{"a":null,"b":"x"}`, `{"a":1,"b":"y"}`, `{"a":1,"b":"x"}`},
	} {
		if got := string(plus([]byte(tt[0]), []byte(tt[1]))); got != tt[2] {
			t.Errorf("%s and %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

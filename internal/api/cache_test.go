package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"penstock"
	"penstock/internal/provider"
)

const chatPath = "/v1/chat/completions"

// counting makes the upstream say how often it was called.
func (r *rig) counting(f frames) *atomic.Int32 {
	var calls atomic.Int32
	r.upstream.reply = func(ctx context.Context, _ provider.Call) (provider.Answer, error) {
		calls.Add(1)
		mine := f
		mine.ctx = ctx
		return &mine, nil
	}
	return &calls
}

var keptAnswer = frames{
	wires: []string{`{"id":"1"}`},
	meta: provider.Meta{StatusCode: 200, ContentType: "application/json", UsageKnown: true,
		Usage: penstock.Usage{InputTokens: 10, OutputTokens: 20}},
}

// step is a call with its expected result.
type step struct {
	name    string
	body    string
	headers []string
	want    string // of the cache
	calls   int32  // that were made upstream by then
}

func TestCacheIsOptIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	calls := r.counting(keptAnswer)
	ask := func(model, rest string) string { return `{"model":"` + model + `"` + rest + `,"messages":[]}` }
	other := []string{"x-api-key", otherKey}
	for _, s := range []step{
		{"without the header", ask("fast", ""), nil, "", 1},
		{"without the header, a second time", ask("fast", ""), nil, "", 2},
		{"the model does", ask("smart", ""), nil, "miss", 3},
		{"and it is kept", `{"messages": [], "model":"smart"}`, nil, "hit", 3},
		{"another tenant", ask("smart", ""), other, "miss", 4},
		{"another body", ask("smart", `,"seed":1`), nil, "miss", 5},
		{"the call does not want it", ask("smart", ""), []string{headerCache, "off"}, "", 6},
		{"the call wants a new one", ask("smart", ""), []string{headerCache, "refresh"}, "miss", 7},
		{"the new one is kept", ask("smart", ""), nil, "hit", 7},
		{"the key does", ask("fast", ""), other, "miss", 8},
		{"the key's is kept", ask("fast", ""), other, "hit", 8},
		{"the call does", ask("fast", ""), []string{headerCache, "use"}, "miss", 9},
		{"the call's is kept", ask("fast", ""), []string{headerCache, "use"}, "hit", 9},
		{"it leaves something behind", ask("smart", `,"store":true`), nil, "", 10},
	} {
		a := r.post(chatPath, s.body, s.headers...)
		if got := a.header.Get(headerCache); a.status != 200 || a.body != `{"id":"1"}` || got != s.want || calls.Load() != s.calls {
			t.Errorf("%s: %d %s, cache %q after %d calls; want %q after %d", s.name, a.status, a.body, got, calls.Load(), s.want, s.calls)
		}
	}
	if a := r.post(chatPath, ask("smart", ""), headerCache, "maybe"); a.status != 400 || !strings.Contains(a.body, "use, refresh or off") {
		t.Errorf("a word that means nothing: %d %s", a.status, a.body)
	}
}

// A hit is recorded as a hit: it costs nothing, and names the saved usage and the call that paid.
func TestHitIsExplained(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	r.counting(keptAnswer)
	first := r.post(chatPath, `{"model":"smart"}`)
	hit := r.post(chatPath, `{"model":"smart"}`)
	if got := hit.header.Get("x-penstock-target"); got != "main" {
		t.Errorf("a hit is an answer of %q", got)
	}
	paid, got := r.recorded(first.header), r.recorded(hit.header)
	if paid.Cost != 50_000 || got.Cost != 0 || got.Usage != (penstock.Usage{}) || got.Forfeit != 0 || got.Status != penstock.StatusSucceeded {
		t.Errorf("recorded %+v and %+v", paid, got)
	}
	a := r.get("/v1/requests/"+hit.header.Get("x-request-id"), "x-api-key", testKey)
	var v requestView
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.Cache == nil || *v.Cache != "hit" || v.Saved == nil || v.Saved.OutputTokens != 20 {
		t.Fatalf("%v, %s", err, a.body)
	}
	if *v.Target != "main" || len(v.History) != 1 || !strings.Contains(*v.History[0].Reason, first.header.Get("x-request-id")) ||
		!strings.Contains(*v.History[0].Reason, "saved 10 input and 20 output tokens, $0.000050000") {
		t.Errorf("explained as %s", a.body)
	}
}

// A cached stream has the same events, and is cached apart from the plain answer to the same body.
func TestStreamsAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	events := []string{"data: {\"a\":1}\n\n", ": alive\n\n", "data: [DONE]\n\n"}
	calls := r.counting(frames{wires: events, meta: provider.Meta{StatusCode: 200, ContentType: "text/event-stream", UsageKnown: true}})
	for _, want := range []string{"miss", "hit"} {
		a := r.post(chatPath, `{"model":"smart","stream":true}`)
		if a.body != strings.Join(events, "") || a.header.Get(headerCache) != want || a.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %q as %s", a.header.Get(headerCache), a.body, a.header.Get("Content-Type"))
		}
	}
	if a := r.post(chatPath, `{"model":"smart"}`); a.header.Get(headerCache) != "miss" || calls.Load() != 2 {
		t.Errorf("the plain answer is a %s after %d calls", a.header.Get(headerCache), calls.Load())
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	truncated := &provider.Error{Kind: provider.KindTruncated, Message: "it broke off"}
	stream := frames{wires: []string{"data: {}\n\n"}, err: truncated, meta: provider.Meta{StatusCode: 200, ContentType: "text/event-stream"}}
	calls := r.counting(stream)
	for range 2 {
		a := r.post(chatPath, `{"model":"smart","stream":true}`)
		if a.status != 200 || !strings.Contains(a.body, "upstream_error") || a.header.Get(headerCache) != "miss" {
			t.Errorf("a truncated stream: %d %q, %s", a.status, a.body, a.header.Get(headerCache))
		}
		if got := r.recorded(a.header); got.Status != penstock.StatusFailed || got.Forfeit == 0 {
			t.Errorf("recorded as %+v", got)
		}
	}
	r.upstream.reply = func(context.Context, provider.Call) (provider.Answer, error) {
		calls.Add(1)
		return nil, &provider.Error{Kind: provider.KindServer, StatusCode: 500, Message: "it broke"}
	}
	for range 2 {
		if a := r.post(chatPath, `{"model":"smart"}`); a.status != http.StatusBadGateway {
			t.Errorf("an error: %d %s", a.status, a.body)
		}
	}
	if calls.Load() != 4 {
		t.Errorf("%d calls were made", calls.Load())
	}
}

// Concurrent identical calls share one upstream call; the caller that started it may leave.
func TestIdenticalCallsShareOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	const followers = 5
	var calls atomic.Int32
	began, proceed := make(chan struct{}), make(chan struct{})
	r.upstream.reply = func(ctx context.Context, _ provider.Call) (provider.Answer, error) {
		calls.Add(1)
		close(began)
		select {
		case <-proceed:
		case <-ctx.Done():
			return nil, &provider.Error{Kind: provider.KindCancelled, Message: "given up"}
		}
		mine := keptAnswer
		return &mine, nil
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r.request(http.MethodPost, chatPath, `{"model":"smart"}`).WithContext(ctx))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		left <- err
	}()
	<-began
	var all sync.WaitGroup
	for range followers {
		all.Go(func() {
			a := r.post(chatPath, `{"model":"smart"}`)
			if a.status != 200 || a.header.Get(headerCache) != "coalesced" {
				t.Errorf("%d %s: %s", a.status, a.body, a.header.Get(headerCache))
				return
			}
			if got := r.recorded(a.header); got.Cost != 0 || got.Target != "coalesced/main" {
				t.Errorf("recorded as %+v", got)
			}
		})
	}
	r.awaitAnswers(t, "coalesced", followers)
	leave()
	if err := <-left; err == nil {
		t.Error("the first caller got an answer though it left")
	}
	close(proceed)
	all.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d calls were made", calls.Load())
	}
}

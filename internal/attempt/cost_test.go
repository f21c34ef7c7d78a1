package attempt

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/provider/anthropic"
	"penstock/internal/provider/openai"
	"penstock/internal/sim"
)

// upstreams are real adapters by the name of their provider.
type upstreams map[string]provider.Provider

func (u upstreams) Provider(name string) (provider.Provider, bool) { p, ok := u[name]; return p, ok }

// newSimRig is a runner over the simulator, which target "chat" reaches in OpenAI's dialect and target
// "message" in Anthropic's. Both have a price for everything.
func newSimRig(t *testing.T) rig {
	t.Helper()
	server, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(server)
	t.Cleanup(func() { upstream.Close(); server.Close() })
	chat, err := openai.New(openai.Config{Name: "chat", BaseURL: upstream.URL + "/v1", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	message, err := anthropic.New(anthropic.Config{Name: "message", BaseURL: upstream.URL + "/v1", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil, func(f *config.File) {
		price := config.Price{Input: "3", CachedInput: "0.30", CacheWrite: "3.75", Output: "15", Reasoning: "20",
			CacheWrite1h: "6", AudioInput: "40", AudioOutput: "80", PerRequest: "0.001", PerImage: "0.002", BatchDiscount: 50}
		for _, name := range []string{"chat", "message"} {
			f.Providers[name] = config.ProviderConfig{Kind: config.KindOpenAI}
			f.Targets[name] = config.TargetConfig{Provider: name, UpstreamModel: "sim-1", Price: price}
		}
	})
	r.Providers = upstreams{"chat": chat, "message": message}
	return r
}

// costPrompt is a prompt of 100 tokens to the simulator, which then reports 40 of them as read from a cache,
// 20 as written to it, and 10 tokens of output, of which 4 are reasoning.
func costPrompt(directives string) string {
	prompt := "[sim:cached=40 written=20 tokens=10 reasoning=4 " + directives + "]"
	return prompt + strings.Repeat("x", 400-len(prompt))
}

// Each cost was worked out by hand, in millionths of a dollar: 40 × 3 for plain input, 40 × 0.30 for cached,
// 20 × 3.75 for written, 6 × 15 for output, 4 × 20 for reasoning, 1000 for the call, 2000 for an image.
func TestCostsOverAllClassesAndDialects(t *testing.T) {
	t.Parallel()
	const (
		micro           = penstock.NanoUSD(1000)
		most            = 1_000_000 * micro
		ask             = `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":%q}]}`
		flow            = `{"model":"m","max_tokens":50,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]}`
		streamedMessage = `{"model":"m","max_tokens":50,"stream":true,"messages":[{"role":"user","content":%q}]}`
		reply           = `{"model":"m","input":%q}`
		extend          = `{"model":"m","max_tokens":50,"prompt":%q}`
		see             = `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"image","source":{"type":"url","url":"https://x.example/y"}}]}]}`
		look            = `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"image_url","image_url":{"url":"https://x.example/y"}}]}]}`
	)
	for name, tt := range map[string]struct {
		target        string
		endpoint      penstock.Endpoint
		lane          penstock.Lane
		body, sim     string
		leaves        int // the chunk at which the caller leaves
		cost, forfeit penstock.NanoUSD
	}{
		"chat":           {target: "chat", endpoint: penstock.EndpointChat, body: ask, cost: (120 + 12 + 75 + 90 + 80 + 1000) * micro},
		"chat, streamed": {target: "chat", endpoint: penstock.EndpointChat, body: flow, cost: (120 + 12 + 75 + 90 + 80 + 1000) * micro},
		// The simulator takes an image for 256 tokens: 256 × 3 more.
		"chat, an image": {target: "chat", endpoint: penstock.EndpointChat, body: look, cost: (120 + 768 + 12 + 75 + 90 + 80 + 1000 + 2000) * micro},
		"chat, in bulk":  {target: "chat", endpoint: penstock.EndpointChat, body: ask, lane: penstock.LaneBulk, cost: (120 + 12 + 75 + 90 + 80 + 1000) * micro / 2},
		// No usage was reported: the input is estimated by the bytes of the body, 132 × 3, the output by the text that
		// came, 2 × 15 and 4 × 15. The rest of what was set aside is forfeit.
		"chat, truncated": {target: "chat", endpoint: penstock.EndpointChat, body: flow, sim: "fault=disconnect",
			cost: (396 + 30 + 1000) * micro, forfeit: most - (396+30+1000)*micro},
		"chat, abandoned": {target: "chat", endpoint: penstock.EndpointChat, body: flow, leaves: 3,
			cost: (396 + 60 + 1000) * micro, forfeit: most - (396+60+1000)*micro},
		"chat, refused":    {target: "chat", endpoint: penstock.EndpointChat, body: ask, sim: "fault=bad_request"},
		"chat, overloaded": {target: "chat", endpoint: penstock.EndpointChat, body: ask, sim: "fault=overloaded"},
		// A response does not report what was written to a cache: (40 + 20) × 3.
		"response":          {target: "chat", endpoint: penstock.EndpointResponses, body: reply, cost: (180 + 12 + 90 + 80 + 1000) * micro},
		"embedding":         {target: "chat", endpoint: penstock.EndpointEmbeddings, body: reply, cost: (300 + 1000) * micro},
		"message":           {target: "message", endpoint: penstock.EndpointMessages, body: ask, cost: (120 + 12 + 75 + 150 + 1000) * micro},
		"message, streamed": {target: "message", endpoint: penstock.EndpointMessages, body: streamedMessage, cost: (120 + 12 + 75 + 150 + 1000) * micro},
		"message, in bulk":  {target: "message", endpoint: penstock.EndpointMessages, body: ask, lane: penstock.LaneBulk, cost: (120 + 12 + 75 + 150 + 1000) * micro / 2},
		// The first event reports the input and one token of output; what came after it is estimated.
		"message, truncated": {target: "message", endpoint: penstock.EndpointMessages, body: streamedMessage, sim: "fault=disconnect",
			cost: (120 + 12 + 75 + 30 + 1000) * micro, forfeit: most - (120+12+75+30+1000)*micro},
		"message, abandoned": {target: "message", endpoint: penstock.EndpointMessages, body: streamedMessage, leaves: 3,
			cost: (120 + 12 + 75 + 15 + 1000) * micro, forfeit: most - (120+12+75+15+1000)*micro},
		"message, an image": {target: "message", endpoint: penstock.EndpointMessages, body: see, cost: (120 + 768 + 12 + 75 + 150 + 1000 + 2000) * micro},
		"message, an image in bulk": {target: "message", endpoint: penstock.EndpointMessages, body: see, lane: penstock.LaneBulk,
			cost: (120 + 768 + 12 + 75 + 150 + 1000 + 2000) * micro / 2},
		"message, overloaded": {target: "message", endpoint: penstock.EndpointMessages, body: ask, sim: "fault=overloaded"},
		"completion":          {target: "chat", endpoint: penstock.EndpointCompletions, body: extend, cost: (120 + 12 + 75 + 90 + 80 + 1000) * micro},
		"message, refused":    {target: "message", endpoint: penstock.EndpointMessages, body: ask, sim: "fault=bad_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSimRig(t)
			out := r.Run(t.Context(), Task{
				Subject: "subject", Model: "m", Lane: tt.lane, Targets: []string{tt.target}, Endpoint: tt.endpoint, Bound: most,
				Body: fmt.Appendf(nil, tt.body, costPrompt(tt.sim)), Stream: strings.Contains(tt.body, "stream"), IncludeUsage: true,
			}, &sink{refuseFrom: tt.leaves, chunkErr: errors.New("gone")})
			if out.Cost != tt.cost || out.Forfeit != tt.forfeit {
				t.Errorf("cost %v, forfeit %v; want %v, %v (usage %+v, error %v)", out.Cost, out.Forfeit, tt.cost, tt.forfeit, out.Usage, out.Err)
			}
		})
	}
}

// Audio and what is kept in a cache for an hour have prices of their own, at which the simulator's plain input is charged
// here: 10 × 3 are left of it, and one × 15 of the plain output of a chat.
func TestCostsOfRareClasses(t *testing.T) {
	t.Parallel()
	const micro = penstock.NanoUSD(1000)
	for _, tt := range []struct {
		target   string
		endpoint penstock.Endpoint
		sim      string
		cost     penstock.NanoUSD
	}{
		// 30 × 40 for audio that came, 5 × 80 for audio that went.
		{"chat", penstock.EndpointChat, "audio_input=30 audio_output=5", (30 + 12 + 75 + 1200 + 15 + 80 + 400 + 1000) * micro},
		// 30 × 6 for what is kept for an hour.
		{"message", penstock.EndpointMessages, "written_1h=30", (30 + 12 + 75 + 180 + 150 + 1000) * micro},
	} {
		for _, stream := range []bool{false, true} {
			r := newSimRig(t)
			body := fmt.Appendf(nil, `{"model":"m","max_tokens":50,"stream":%t,"messages":[{"role":"user","content":%q}]}`, stream, costPrompt(tt.sim))
			out := r.Run(t.Context(), Task{
				Subject: "subject", Model: "m", Targets: []string{tt.target}, Endpoint: tt.endpoint, Bound: 1_000_000 * micro,
				Body: body, Stream: stream, IncludeUsage: true,
			}, &sink{})
			if out.Cost != tt.cost || out.Forfeit != 0 {
				t.Errorf("%s of %s, stream %t: cost %v, want %v (usage %+v, error %v)", tt.sim, tt.target, stream, out.Cost, tt.cost, out.Usage, out.Err)
			}
		}
	}
}

// An attempt costs what its target charged when it began.
func TestAttemptIsPricedAtItsOwnTime(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		at     time.Time
		cost   penstock.NanoUSD
		suffix string
	}{
		{day.Add(-time.Nanosecond), 30_000, ""},
		{day, 60_000, "@2026-07-01"},
		{day.AddDate(1, 0, 0), 90_000, "@2027-01-01"},
	} {
		r := newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage}}, editTarget("a", func(c *config.TargetConfig) {
			c.PriceChanges = []config.PriceChange{
				{From: "2026-07-01", Price: config.Price{Input: "2", Output: "2"}}, {From: "2027-01-01", Price: config.Price{Input: "3", Output: "3"}},
			}
		}))
		r.Clock = func() time.Time { return tt.at }
		out := r.Run(t.Context(), task("a"), &sink{})
		if version := r.Config.Current().Hash + tt.suffix; out.Cost != tt.cost || out.PriceVersion != version || out.Attempts[0].PriceVersion != version {
			t.Errorf("%v: cost %v by %s, want %v by %s", tt.at, out.Cost, out.PriceVersion, tt.cost, version)
		}
	}
}

func TestUnpricedTargetIsFlagged(t *testing.T) {
	t.Parallel()
	for _, priced := range []string{"", "0"} {
		r := newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage}}, editTarget("a", func(c *config.TargetConfig) {
			c.Price = config.Price{Input: priced, Output: priced}
		}))
		if out := r.Run(t.Context(), task("a"), &sink{}); out.Cost != 0 || out.Unpriced != (priced == "") {
			t.Errorf("price %q: unpriced %t, cost %v", priced, out.Unpriced, out.Cost)
		}
	}
}

package anthropic

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/providertest"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

func TestAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	ask := func(format string) func(string) string {
		return func(prompt string) string { return fmt.Sprintf(format, prompt) }
	}
	providertest.RunSim(t, providertest.SimHarness{
		New: func(t testing.TB, up providertest.Config) provider.Provider {
			return newProvider(t, Config{BaseURL: up.URL, APIKey: up.APIKey})
		},
		Endpoint: penstock.EndpointMessages,
		Plain:    ask(`{"model":"smart","max_tokens":100,"messages":[{"role":"user","content":%q}]}`),
		Stream:   ask(`{"model":"smart","max_tokens":100,"stream":true,"messages":[{"role":"user","content":%q}]}`),
		HasText:  true,
	})
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Name: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []penstock.Endpoint{
		penstock.EndpointChat, penstock.EndpointCompletions, penstock.EndpointEmbeddings, penstock.EndpointResponses, penstock.EndpointMessages,
	} {
		if want := e == penstock.EndpointMessages; p.Speaks(e) != want {
			t.Errorf("speaks %s: %v", e, !want)
		}
	}
	if _, err := New(Config{Name: "claude", BaseURL: "https://api.anthropic.com/v1/messages"}); err == nil ||
		!strings.Contains(err.Error(), "must end before /messages") {
		t.Errorf("a URL that goes too far: %v", err)
	}
}

// What a caller says of the protocol's version is its own business; saying nothing is not possible.
func TestVersionHeaders(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, plainTranscript.Answer[0].Wire)
	}))
	t.Cleanup(upstream.Close)
	p := newProvider(t, Config{BaseURL: upstream.URL, APIKey: "sk-ours"})
	for _, tt := range []struct {
		header        http.Header
		version, beta string
	}{
		{nil, DefaultVersion, ""},
		{http.Header{"anthropic-beta": {"a-1,b-2"}}, DefaultVersion, "a-1,b-2"},
		{http.Header{"anthropic-version": {"2030-01-01"}, "X-Api-Key": {"theirs"}, "Authorization": {"Bearer theirs"}}, "2030-01-01", ""},
	} {
		call := provider.Call{Endpoint: penstock.EndpointMessages, Body: []byte(`{}`), UpstreamModel: "m", Header: tt.header}
		if _, err := p.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		h := <-seen
		if h.Get("anthropic-version") != tt.version || h.Get("anthropic-beta") != tt.beta ||
			h.Get("x-api-key") != "sk-ours" || h.Get("authorization") != "" {
			t.Errorf("%v: sent %v", tt.header, h)
		}
	}
}

// readStream gives events to a reader and returns it with the text they carried.
func readStream(t *testing.T, events ...string) (*messageReader, string) {
	t.Helper()
	r, text := &messageReader{}, ""
	for _, data := range events {
		part, err := r.Event(sse.Event{Data: []byte(data)})
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		text += part.Text
	}
	return r, text
}

func TestUsage(t *testing.T) {
	t.Parallel()
	start := func(usage string) string { return `{"type":"message_start","message":{"usage":` + usage + `}}` }
	delta := func(usage string) string { return `{"type":"message_delta","delta":{},"usage":` + usage + `}` }
	for name, tt := range map[string]struct {
		events   []string
		want     penstock.Usage
		reported wire.Reported
	}{
		"nothing":   {},
		"the start": {events: []string{startEvent}, want: penstock.Usage{InputTokens: 107, CachedInputTokens: 100, CacheWriteTokens: 2, OutputTokens: 1}},
		"to the end": {events: []string{startEvent, delta(`{"output_tokens":9}`)}, reported: wire.ReportedAll,
			want: penstock.Usage{InputTokens: 107, CachedInputTokens: 100, CacheWriteTokens: 2, OutputTokens: 9}},
		"totals, not increments": {events: []string{startEvent, delta(`{"output_tokens":9}`), delta(`{"output_tokens":12}`)}, reported: wire.ReportedAll,
			want: penstock.Usage{InputTokens: 107, CachedInputTokens: 100, CacheWriteTokens: 2, OutputTokens: 12}},
		"the input grew": {reported: wire.ReportedAll, want: penstock.Usage{InputTokens: 350, CachedInputTokens: 300, CacheWriteTokens: 10, OutputTokens: 9},
			events: []string{startEvent, delta(`{"input_tokens":40,"cache_creation_input_tokens":10,"cache_read_input_tokens":300,"output_tokens":9}`)}},
		"no cache":             {events: []string{start(`{"input_tokens":3}`), delta(`{"output_tokens":4}`)}, reported: wire.ReportedAll, want: penstock.Usage{InputTokens: 3, OutputTokens: 4}},
		"null":                 {events: []string{start(`{"input_tokens":3,"cache_read_input_tokens":null}`), delta(`null`)}, want: penstock.Usage{InputTokens: 3}},
		"an end without count": {events: []string{startEvent, delta(`{}`)}, want: penstock.Usage{InputTokens: 107, CachedInputTokens: 100, CacheWriteTokens: 2, OutputTokens: 1}},
		"no input reported":    {events: []string{delta(`{"output_tokens":4}`)}},
		"negative":             {events: []string{startEvent, delta(`{"output_tokens":-4}`)}, reported: wire.ReportedInvalid},
		"fewer at the end": {events: []string{startEvent, delta(`{"output_tokens":9}`), delta(`{"input_tokens":1,"output_tokens":3}`)}, reported: wire.ReportedAll,
			want: penstock.Usage{InputTokens: 107, CachedInputTokens: 100, CacheWriteTokens: 2, OutputTokens: 9}},
		"too many": {events: []string{start(`{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807}`), delta(`{"output_tokens":1}`)},
			reported: wire.ReportedAll, want: penstock.Usage{InputTokens: penstock.MaxTokens, CachedInputTokens: penstock.MaxTokens, OutputTokens: 1}},
		"more than a number holds": {events: []string{start(`{"input_tokens":92233720368547758070}`), delta(`{"output_tokens":1}`)}, reported: wire.ReportedInvalid},
		"a fraction":               {events: []string{start(`{"input_tokens":1.5}`), delta(`{"output_tokens":1}`)}, reported: wire.ReportedInvalid},
		"of another type":          {events: []string{startEvent, delta(`{"output_tokens":"4"}`)}, reported: wire.ReportedInvalid},
	} {
		r, _ := readStream(t, tt.events...)
		if got, reported := r.Usage(); got != tt.want || reported != tt.reported {
			t.Errorf("%s: %+v, reported %v; want %+v, %v", name, got, reported, tt.want, tt.reported)
		}
	}
}

// How long something is kept that was written to the cache is reported at the start, how much it was also at the end.
func TestUsageOfCacheWrites(t *testing.T) {
	t.Parallel()
	const split = `"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d}`
	for name, tt := range map[string]struct {
		start, end string
		all, hour  int64
	}{
		"not reported":                       {start: `"cache_creation_input_tokens":30`, all: 30},
		"reported as null":                   {start: `"cache_creation_input_tokens":30,"cache_creation":null`, all: 30},
		"nothing written":                    {start: `"cache_creation_input_tokens":0,` + fmt.Sprintf(split, 0, 0)},
		"for five minutes":                   {start: `"cache_creation_input_tokens":30,` + fmt.Sprintf(split, 30, 0), all: 30},
		"for an hour":                        {start: `"cache_creation_input_tokens":30,` + fmt.Sprintf(split, 0, 30), all: 30, hour: 30},
		"for both":                           {start: `"cache_creation_input_tokens":30,` + fmt.Sprintf(split, 10, 20), all: 30, hour: 20},
		"the parts alone":                    {start: fmt.Sprintf(split, 10, 20), all: 30, hour: 20},
		"less than the parts":                {start: `"cache_creation_input_tokens":5,` + fmt.Sprintf(split, 10, 20), all: 30, hour: 20},
		"reported again at the end":          {start: fmt.Sprintf(split, 10, 20), end: `"cache_creation_input_tokens":70,` + fmt.Sprintf(split, 20, 50), all: 70, hour: 50},
		"more, behind five minutes":          {start: fmt.Sprintf(split, 10, 20), end: `"cache_creation_input_tokens":70`, all: 70, hour: 20},
		"more, behind an hour":               {start: fmt.Sprintf(split, 0, 20), end: `"cache_creation_input_tokens":70`, all: 70, hour: 70},
		"more, behind what was read":         {start: fmt.Sprintf(split, 0, 0), end: `"cache_creation_input_tokens":70`, all: 70, hour: 70},
		"more, of which nothing is reported": {start: `"cache_creation_input_tokens":30`, end: `"cache_creation_input_tokens":70`, all: 70},
	} {
		end := `{"output_tokens":2,` + tt.end + `}`
		if tt.end == "" {
			end = `{"output_tokens":2}`
		}
		r, _ := readStream(t, `{"type":"message_start","message":{"usage":{"input_tokens":7,"cache_read_input_tokens":100,`+tt.start+`}}}`,
			`{"type":"message_delta","delta":{},"usage":`+end+`}`)
		want := penstock.Usage{InputTokens: 107 + tt.all, CachedInputTokens: 100, CacheWriteTokens: tt.all, CacheWrite1hTokens: tt.hour, OutputTokens: 2}
		if got, reported := r.Usage(); got != want || reported != wire.ReportedAll {
			t.Errorf("%s: %+v, reported %v; want %+v", name, got, reported, want)
		}
	}
	for _, invalid := range []string{fmt.Sprintf(split, 0, -1), `"cache_creation":"x"`} {
		r, _ := readStream(t, `{"type":"message_start","message":{"usage":{"input_tokens":7,`+invalid+`}}}`, `{"type":"message_delta","delta":{},"usage":{"output_tokens":2}}`)
		if got, reported := r.Usage(); reported != wire.ReportedInvalid || got != (penstock.Usage{}) {
			t.Errorf("%s: %+v, reported %v", invalid, got, reported)
		}
	}
}

// A cached read costs what the price says for it, and the rest of the input is not charged twice.
func TestCostOfCachedInput(t *testing.T) {
	t.Parallel()
	r := &messageReader{}
	if _, err := r.Plain([]byte(plainTranscript.Answer[0].Wire)); err != nil {
		t.Fatal(err)
	}
	usage, _ := r.Usage()
	price := penstock.Price{Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000, CacheWrite1h: 6_000_000, Output: 15_000_000}
	// 20 × 3 + 64 × 0.3 + 26 × 3.75 + 10 × 6 + 9 × 15 dollars per million.
	if got, want := price.Cost(usage), penstock.NanoUSD(60_000+19_200+97_500+60_000+135_000); got != want {
		t.Errorf("cost %s, want %s", got, want)
	}
}

// Events are decoded into the same memory: what one says must not show in the next.
func TestEventsDoNotShowThrough(t *testing.T) {
	t.Parallel()
	r, text := readStream(t, startEvent,
		`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_delta"}`, `{"type":"content_block_delta","delta":{"type":"text_delta"}}`,
		`{"type":"content_block_start"}`, `{"type":"message_delta"}`, `{"type":"content_block_stop"}`)
	if text != "a" {
		t.Errorf("text %q", text)
	}
	if usage, reported := r.Usage(); reported != wire.ReportedPart || usage.OutputTokens != 1 {
		t.Errorf("usage %+v, reported %v", usage, reported)
	}
}

// What comes with a bad status is in the conformance test; these are errors inside a stream.
func TestErrorsInsideAStream(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]provider.Kind{
		errorBody("overloaded_error", "Overloaded"):                 provider.KindOverloaded,
		errorBody("rate_limit_error", "Slow"):                       provider.KindRateLimited,
		errorBody("api_error", "Internal"):                          provider.KindServer,
		errorBody("timeout_error", "Slow"):                          provider.KindTimeout,
		errorBody("billing_error", "Pay"):                           provider.KindSpendCap,
		errorBody("authentication_error", "No"):                     provider.KindAuth,
		errorBody("permission_error", "No"):                         provider.KindAuth,
		errorBody("not_found_error", "model: x"):                    provider.KindModelNotFound,
		errorBody("invalid_request_error", "prompt is too long"):    provider.KindContextTooLong,
		errorBody("invalid_request_error", "no"):                    provider.KindRejected,
		errorBody("unheard_of", "prompt is too long"):               provider.KindServer,
		`{"type":"error"}`:                                          provider.KindServer,
		`{"error":{"type":"overloaded_error","message":"no type"}}`: provider.KindOverloaded,
	} {
		r := &messageReader{}
		part, err := r.Event(sse.Event{Data: []byte(body)})
		if err != nil || !part.Failed {
			t.Errorf("%s: %+v, %v", body, part, err)
		}
		if got := r.Complaint(http.StatusOK, []byte(body)).Kind; got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// Whatever an upstream says, reading it neither panics nor counts nonsense, and no two ways of asking
// disagree.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(plainTranscript.Answer[0].Wire), 200)
	for _, frame := range streamTranscript.Answer {
		_, data, _ := strings.Cut(strings.TrimSpace(frame.Wire), "data: ")
		f.Add([]byte(data), 200)
	}
	for _, failure := range failures {
		f.Add([]byte(failure.Body), failure.Status)
	}
	f.Fuzz(func(t *testing.T, data []byte, status int) {
		r := &messageReader{}
		r.Event(sse.Event{Data: []byte(startEvent)})
		for range 2 {
			part, err := r.Event(sse.Event{Data: data})
			if err != nil && part.Text != "" {
				t.Errorf("text %q of an event that is none: %v", part.Text, err)
			}
		}
		for _, reader := range []*messageReader{r, plainReader(data)} {
			u, reported := reader.Usage()
			if u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedInputTokens > u.InputTokens {
				t.Errorf("usage %+v, reported %v", u, reported)
			}
		}
		r.Complaint(status, data).Kind.Policy() // panics for a kind that is none
	})
}

func plainReader(body []byte) *messageReader {
	r := &messageReader{}
	r.Plain(body)
	return r
}

func BenchmarkEvent(b *testing.B) {
	r := &messageReader{}
	ev := sse.Event{Data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Event(ev); err != nil {
			b.Fatal(err)
		}
	}
}

package sim

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDrawsDependOnSeedAndNumber(t *testing.T) {
	t.Parallel()
	cfg := Config{Seed: 7, Faults: Faults{ServerError: 0.3, Overloaded: 0.2, RateLimit: 0.1}}
	statuses := func(cfg Config, prompt string) []int {
		s := newServer(t, cfg)
		var list []int
		for range 60 {
			list = append(list, ask(t, s, chatPath, chatBody(prompt)).Code)
		}
		return list
	}
	base := statuses(cfg, "a")
	if diff := cmp.Diff(base, statuses(cfg, "b")); diff != "" {
		t.Errorf("same seed, other prompts: the draws differ:\n%s", diff)
	}
	cfg.Seed = 8
	if cmp.Equal(base, statuses(cfg, "a")) {
		t.Error("another seed draws the same")
	}
}

func TestResetStartsTheDrawsAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Faults: Faults{ServerError: 0.5}})
	var runs [2][]int
	for i := range runs {
		for range 40 {
			runs[i] = append(runs[i], ask(t, s, chatPath, chatBody("a")).Code)
		}
		s.Reset()
	}
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
		t.Errorf("after a reset:\n%s", diff)
	}
}

func TestFaultsComeAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	faults := Faults{ServerError: 0.1, Overloaded: 0.05, Hang: 0.2, Disconnect: 0.01, Malformed: 0.04, ErrorIn200: 0.3, Stall: 0.02}
	const draws = 100_000
	drawn := make(map[Fault]int)
	for n := range int64(draws) {
		drawn[faults.at(numbered(1, n).Float64())]++
	}
	for _, c := range faults.chances() {
		deviation := math.Sqrt(draws * c.p * (1 - c.p))
		if got, want := float64(drawn[c.fault]), draws*c.p; math.Abs(got-want) > 5*deviation {
			t.Errorf("%s was drawn %v times of %d, want about %v", c.fault, got, draws, want)
		}
	}
}

func TestCertainFaultAlwaysStrikes(t *testing.T) {
	t.Parallel()
	for _, u := range []float64{0, 0.5, math.Nextafter(1, 0)} {
		if got := (Faults{Stall: 1}).at(u); got != FaultStall {
			t.Errorf("at %v: %q, want stall", u, got)
		}
		if got := (Faults{}).at(u); got != "" {
			t.Errorf("at %v without faults: %q", u, got)
		}
	}
}

func TestFaultSources(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		cfg    Config
		header string
		prompt string
		status int
	}{
		{"none", Config{}, "", "Hi", 200},
		{"drawn", Config{Faults: Faults{ServerError: 1}}, "", "Hi", 500},
		{"directive beats draw", Config{Faults: Faults{ServerError: 1}}, "", "Hi [sim:fault=quota]", 429},
		{"header beats directive", Config{Faults: Faults{ServerError: 1}}, "not_found", "Hi [sim:fault=quota]", 404},
		{"unknown header", Config{}, "earthquake", "Hi", 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRequest(t.Context(), chatPath, chatBody(tc.prompt))
			r.Header.Set(FaultHeader, tc.header)
			wantStatus(t, do(newServer(t, tc.cfg), r), tc.status)
		})
	}
}

func TestDirectiveIsReadFromTheLastUserTurnOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	body := func(first, last string) string {
		return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"` + first +
			`"},{"role":"assistant","content":"[sim:fault=auth]"},{"role":"user","content":"` + last + `"}]}`
	}
	for _, path := range []string{chatPath, messagePath} {
		wantStatus(t, ask(t, s, path, body("[sim:fault=server_error]", "Hi")), 200)
		wantStatus(t, ask(t, s, path, body("Hi", "[sim:fault=server_error]")), 500)
	}
	wantStatus(t, ask(t, s, completionPath, `{"model":"m","prompt":"[sim:fault=server_error]"}`), 500)
	wantStatus(t, ask(t, s, embeddingPath, `{"model":"m","input":["a","[sim:fault=server_error]"]}`), 500)
}

func TestCountedFaultStopsAfterItsTimes(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	statuses := func(prompt string) []int {
		var list []int
		for range 4 {
			list = append(list, ask(t, s, chatPath, chatBody(prompt)).Code)
		}
		return list
	}
	for _, prompt := range []string{"a [sim:fault=server_error times=2]", "b [sim:fault=server_error times=2]"} {
		if diff := cmp.Diff([]int{500, 500, 200, 200}, statuses(prompt)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", prompt, diff)
		}
	}
	s.Reset()
	if got := ask(t, s, chatPath, chatBody("a [sim:fault=server_error times=2]")).Code; got != 500 {
		t.Errorf("after a reset: %d, want 500", got)
	}
}

func TestRefusedRequestUsesUpNoCountedFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{RequestsPerMinute: 1})
		body := chatBody("[sim:fault=server_error times=1]")
		wantStatus(t, ask(t, s, chatPath, chatBody("first")), 200)
		wantStatus(t, ask(t, s, chatPath, body), 429)
		<-time.After(time.Minute)
		wantStatus(t, ask(t, s, chatPath, body), 500)
		<-time.After(time.Minute)
		wantStatus(t, ask(t, s, chatPath, body), 200)
	})
}

func TestCountedFaultsAreBounded(t *testing.T) {
	t.Parallel()
	var c countedFaults
	c.reset()
	key := func(n int) (k promptKey) {
		binary.LittleEndian.PutUint64(k[:], uint64(n))
		return k
	}
	for n := range MaxCountedFaults + 10 {
		c.count(key(n))
	}
	if len(c.seen) != MaxCountedFaults || len(c.order) != MaxCountedFaults {
		t.Fatalf("%d counts and %d places, want %d", len(c.seen), len(c.order), MaxCountedFaults)
	}
	if got := c.count(key(MaxCountedFaults)); got != 2 {
		t.Errorf("a recent prompt was seen %d times, want 2", got)
	}
	if got := c.count(key(0)); got != 1 {
		t.Errorf("the oldest prompt was seen %d times, want it forgotten", got)
	}
}

func TestParseDirectives(t *testing.T) {
	t.Parallel()
	ms := func(n int64) *time.Duration { return new(time.Duration(n) * time.Millisecond) }
	for prompt, want := range map[string]directives{
		"":                               {},
		"nothing here [sic]":             {},
		"[sim:]":                         {},
		"x [sim:fault=hang] y":           {fault: FaultHang},
		"[sim:latency=250ms]":            {latency: ms(250)},
		"[sim:latency=0s]":               {latency: ms(0)},
		"[sim:tokens=50]":                {tokens: 50},
		"[sim:tokens=50][sim:tokens=60]": {tokens: 60},
		"[sim:fault=stall  times=3 latency=1ms\ttokens=2]": {fault: FaultStall, times: 3, latency: ms(1), tokens: 2},
		"[sim:fault=stall] and [sim:times=3]":              {fault: FaultStall, times: 3},
		"[sim:cached=1 written=2 written_1h=3 audio_input=4 reasoning=5 audio_output=6]": {
			parts: parts{cached: 1, written: 2, written1h: 3, audioInput: 4, reasoning: 5, audioOutput: 6}},
	} {
		got, err := parseDirectives(prompt)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(directives{}, parts{})); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", prompt, err, diff)
		}
	}
	for prompt, message := range map[string]string{
		"[sim:fault=hang":      "closing bracket",
		"[sim:fault=flood]":    "server_error",
		"[sim:fault]":          "unknown fault",
		"[sim:times=2]":        "needs a fault",
		"[sim:tokens=0]":       "between 1 and",
		"[sim:tokens=1000001]": "between 1 and",
		"[sim:tokens=many]":    "many",
		"[sim:latency=soon]":   "soon",
		"[sim:latency=-1s]":    "between 0 and",
		"[sim:latency=100h]":   "between 0 and",
		"[sim:colour=red]":     "colour",
	} {
		if _, err := parseDirectives(prompt); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: error %v does not mention %q", prompt, err, message)
		}
	}
}

// TestStruckTokenVaries guards against a disconnect that always comes at the same place.
func TestStruckTokenVaries(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 20, Faults: Faults{Disconnect: 1}})
	lengths := make(map[int]bool)
	for range 30 {
		body := ask(t, s, chatPath, chatStreamBody("Hi")).Body.String()
		if !strings.HasSuffix(body, cutMark) || strings.Contains(body, "[DONE]") {
			t.Fatalf("not cut: %s", body)
		}
		tokens := strings.Count(body, `"content":`) - 1 // the first carries the role
		if tokens < 1 || tokens > 19 {
			t.Fatalf("cut after %d tokens of 20", tokens)
		}
		lengths[tokens] = true
	}
	if len(lengths) < 5 {
		t.Errorf("30 streams were cut at only %d places", len(lengths))
	}
}

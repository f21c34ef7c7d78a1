package sim

import (
	stdjson "encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, good := range []Config{
		{},
		{Fast: true, Seed: 1, APIKey: "k", OutputTokens: 5},
		{FirstTokenLatency: MaxLatency, Jitter: 1, Faults: Faults{ServerError: 0.1, Hang: 0.2, Stall: 0.7}},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for name, bad := range map[string]Config{
		"first_token_latency":      {FirstTokenLatency: -1},
		"tokens_per_second":        {TokensPerSecond: math.NaN()},
		"tokens_per_second: 1e-09": {TokensPerSecond: 1e-9},
		"tokens_per_second: -1":    {TokensPerSecond: -1},
		"jitter":                   {Jitter: 1.1},
		"output_tokens":            {OutputTokens: MaxOutputTokens + 1},
		"stall":                    {Stall: 2 * MaxLatency},
		"slots":                    {Slots: -1},
		"max_queue":                {MaxQueue: -1},
		"requests_per_minute":      {RequestsPerMinute: -1},
		"input_tokens_per_minute":  {InputTokensPerMinute: -1},
		"output_tokens_per_minute": {OutputTokensPerMinute: -1},
		"models":                   {Models: []string{"a", ""}},
		"faults.hang":              {Faults: Faults{Hang: -0.1}},
		"faults.stall":             {Faults: Faults{Stall: math.NaN()}},
		"faults":                   {Faults: Faults{Hang: 0.6, Stall: 0.6}},
		"fast":                     {Fast: true, Slots: 1},
	} {
		err := bad.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := New(bad); err == nil {
			t.Errorf("%s: New took it", name)
		}
	}
	if err := (Config{Slots: -1, Jitter: 2}).Validate(); len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("two mistakes, reported as: %v", err)
	}
}

func TestConfigForms(t *testing.T) {
	t.Parallel()
	want := Config{
		Seed: 1, APIKey: "k", Models: []string{"a", "b"}, FirstTokenLatency: 250 * time.Millisecond, TokensPerSecond: 40.5,
		Jitter: 0.1, OutputTokens: 7, Slots: 2, MaxQueue: 3, RequestsPerMinute: 4, InputTokensPerMinute: 5,
		OutputTokensPerMinute: 6, Faults: Faults{ServerError: 0.5, ErrorIn200: 0.25}, Stall: 90 * time.Second,
	}
	const asYAML = `
seed: 1
api_key: k
models: [a, b]
first_token_latency: 250ms
tokens_per_second: 40.5
jitter: 0.1
output_tokens: 7
slots: 2
max_queue: 3
requests_per_minute: 4
input_tokens_per_minute: 5
output_tokens_per_minute: 6
faults: {server_error: 0.5, error_in_200: 0.25}
stall: 1m30s
`
	var fromYAML, fromJSON, fromStandard Config
	if err := yaml.UnmarshalWithOptions([]byte(asYAML), &fromYAML, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	body := encode(want)
	if !strings.Contains(string(body), `"first_token_latency":"250ms"`) {
		t.Errorf("durations are not strings: %s", body)
	}
	if err := fromJSON.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	if err := stdjson.Unmarshal(body, &fromStandard); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]Config{"YAML": fromYAML, "JSON": fromJSON, "encoding/json": fromStandard} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestConfigAtRunTime(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Seed: 5, OutputTokens: 3})
	before := s.Config()

	control(t, s, `PATCH /sim/config {"faults":{"server_error":1},"models":["x"]}`, &Config{})
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 500)
	if got := s.Config(); got.Seed != 5 || got.OutputTokens != 3 || got.Models[0] != "x" {
		t.Errorf("PATCH changed what it did not name: %+v", got)
	}
	if before.Models[0] != "sim-small" {
		t.Error("PATCH wrote into settings handed out before")
	}

	var got Config
	control(t, s, `PUT /sim/config {"first_token_latency":"5ms"}`, &got)
	want := Config{FirstTokenLatency: 5 * time.Millisecond}.withDefaults()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PUT (-want +got):\n%s", diff)
	}
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 200)

	for _, body := range []string{`{"slots":-1}`, `{"slot":1}`, `{"stall":30}`, `{"stall":"soon"}`, `{`, ``} {
		for _, method := range []string{"PUT", "PATCH"} {
			wantStatus(t, control(t, s, method+" /sim/config "+body, nil), http.StatusBadRequest)
		}
	}
	control(t, s, "GET /sim/config", &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused changes left a trace (-want +got):\n%s", diff)
	}
}

func TestUnchangedLimitKeepsWhatWasUsed(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{RequestsPerMinute: 1})
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 200)
	control(t, s, `PATCH /sim/config {"output_tokens":5}`, &Config{})
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 429)
	control(t, s, `PATCH /sim/config {"requests_per_minute":2}`, &Config{})
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 200)
	control(t, s, "POST /sim/reset", &Stats{})
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 200)
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 200)
	wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 429)
}

package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Defaults and bounds of Config.
const (
	DefaultOutputTokens = 64
	DefaultStall        = 30 * time.Second

	MaxOutputTokens = 100_000
	MaxLatency      = time.Hour
)

// Config holds the settings of a Server. The zero value is valid: instant answers, no limits, no faults. In
// JSON and YAML the names are snake_case and durations are strings such as "250ms"; unknown JSON names are
// refused.
type Config struct {
	// Seed decides every answer, fault and jitter. Two servers with one seed behave alike.
	Seed uint64 `json:"seed" yaml:"seed"`
	// APIKey, when set, is asked of every request, as a Bearer token or in x-api-key.
	APIKey string `json:"api_key" yaml:"api_key"`
	// Models are the names that GET /v1/models lists; any other name is served as well. Default: sim-small,
	// sim-large, sim-embedding.
	Models []string `json:"models" yaml:"models"`

	// FirstTokenLatency passes before an answer's first token (a plain answer's too). 0 to MaxLatency;
	// default 0.
	FirstTokenLatency time.Duration `json:"first_token_latency" yaml:"first_token_latency"`
	// TokensPerSecond is the pace after the first token; a plain answer takes as long as a streamed one. At
	// least one token in MaxLatency; 0: instant.
	TokensPerSecond float64 `json:"tokens_per_second" yaml:"tokens_per_second"`
	// Jitter is the fraction by which each latency varies, up and down. 0 to 1; default 0.
	Jitter float64 `json:"jitter" yaml:"jitter"`
	// OutputTokens is the length of an answer that its request does not limit further. 1 to MaxOutputTokens;
	// 0 means DefaultOutputTokens.
	OutputTokens int `json:"output_tokens" yaml:"output_tokens"`
	// Reply, when set, writes the text of an answer to the last user message, in place of the vocabulary. It must return the same text
	// for the same message, and is called by many goroutines. An empty text leaves the vocabulary in place. Formats, tools and
	// embeddings do not use it.
	Reply func(message string) string `json:"-" yaml:"-"`

	// Slots is how many requests run at a time. 0: no bound.
	Slots int `json:"slots" yaml:"slots"`
	// MaxQueue is how many requests may wait for a slot, first come first served; one more is answered with
	// 503 (OpenAI) or 529 (Anthropic). 0: none waits.
	MaxQueue int `json:"max_queue" yaml:"max_queue"`

	// The limits per minute are token buckets that start full and refill evenly; over one of them the answer
	// is 429. Output is charged when a request is admitted, at the length it will have. 0: no limit, and no
	// headers about it. OpenAI's "tokens" headers show whichever of the two token limits has the smaller part
	// left.
	RequestsPerMinute     int `json:"requests_per_minute" yaml:"requests_per_minute"`
	InputTokensPerMinute  int `json:"input_tokens_per_minute" yaml:"input_tokens_per_minute"`
	OutputTokensPerMinute int `json:"output_tokens_per_minute" yaml:"output_tokens_per_minute"`

	// Faults are drawn at random, at most one for each request.
	Faults Faults `json:"faults" yaml:"faults"`
	// Stall is how long a stall fault pauses. 0 to MaxLatency; 0 means DefaultStall.
	Stall time.Duration `json:"stall" yaml:"stall"`

	// Fast serves answers rendered beforehand and excludes every latency, limit and fault.
	Fast bool `json:"fast" yaml:"fast"`
}

// Faults gives the probability of each fault that can be drawn, 0 to 1. Together they may not exceed 1, since
// a request suffers one at most. The Fault constants say what each does.
type Faults struct {
	ServerError    float64 `json:"server_error" yaml:"server_error"`
	Overloaded     float64 `json:"overloaded" yaml:"overloaded"`
	RateLimit      float64 `json:"rate_limit" yaml:"rate_limit"`
	Hang           float64 `json:"hang" yaml:"hang"`
	Disconnect     float64 `json:"disconnect" yaml:"disconnect"`
	Malformed      float64 `json:"malformed" yaml:"malformed"`
	ErrorIn200     float64 `json:"error_in_200" yaml:"error_in_200"`
	ErrorMidStream float64 `json:"error_mid_stream" yaml:"error_mid_stream"`
	Stall          float64 `json:"stall" yaml:"stall"`
}

// Validate reports every problem with the settings, each with the name of its field.
func (c Config) Validate() error {
	var problems []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	// Negated comparisons, so that NaN is refused too.
	refuse(c.FirstTokenLatency < 0 || c.FirstTokenLatency > MaxLatency,
		"first_token_latency: %v is not between 0 and %v", c.FirstTokenLatency, MaxLatency)
	refuse(!(c.TokensPerSecond == 0 || c.TokensPerSecond*MaxLatency.Seconds() >= 1),
		"tokens_per_second: %v is less than one token in %v; use 0 for instant", c.TokensPerSecond, MaxLatency)
	refuse(!(c.Jitter >= 0 && c.Jitter <= 1), "jitter: %v is not between 0 and 1", c.Jitter)
	refuse(c.OutputTokens < 0 || c.OutputTokens > MaxOutputTokens,
		"output_tokens: %d is not between 0 and %d", c.OutputTokens, MaxOutputTokens)
	refuse(c.Stall < 0 || c.Stall > MaxLatency, "stall: %v is not between 0 and %v", c.Stall, MaxLatency)
	for _, n := range []struct {
		name  string
		value int
	}{
		{"slots", c.Slots},
		{"max_queue", c.MaxQueue},
		{"requests_per_minute", c.RequestsPerMinute},
		{"input_tokens_per_minute", c.InputTokensPerMinute},
		{"output_tokens_per_minute", c.OutputTokensPerMinute},
	} {
		refuse(n.value < 0, "%s: %d is negative; use 0 for none", n.name, n.value)
	}
	refuse(slices.Contains(c.Models, ""), "models: a name is empty")
	total := 0.0
	for _, chance := range c.Faults.chances() {
		refuse(!(chance.p >= 0 && chance.p <= 1), "faults.%s: %v is not between 0 and 1", chance.fault, chance.p)
		total += chance.p
	}
	// The sum of decimal fractions may pass 1 by rounding alone.
	refuse(total > 1+1e-9, "faults: the probabilities add up to %v, more than 1", total)
	refuse(c.Fast && !c.unhindered(), "fast: excludes latencies, slots, limits per minute and faults; leave them out")
	return errors.Join(problems...)
}

// unhindered reports whether no setting delays or refuses a request.
func (c Config) unhindered() bool {
	return c.FirstTokenLatency == 0 && c.TokensPerSecond == 0 && c.Slots == 0 && c.MaxQueue == 0 &&
		c.RequestsPerMinute == 0 && c.InputTokensPerMinute == 0 && c.OutputTokensPerMinute == 0 && c.Faults == Faults{}
}

func (c Config) withDefaults() Config {
	c = c.clone()
	if len(c.Models) == 0 {
		c.Models = []string{"sim-small", "sim-large", "sim-embedding"}
	}
	if c.OutputTokens == 0 {
		c.OutputTokens = DefaultOutputTokens
	}
	if c.Stall == 0 {
		c.Stall = DefaultStall
	}
	return c
}

func (c Config) clone() Config {
	c.Models = slices.Clone(c.Models)
	return c
}

// MarshalJSON writes durations as strings.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	return json.Marshal(plain(c), json.WithMarshalers(json.MarshalFunc(func(d time.Duration) ([]byte, error) {
		return jsontext.AppendQuote(nil, d.String())
	})))
}

// UnmarshalJSON reads durations from strings, refuses unknown names, and leaves alone what b does not name.
func (c *Config) UnmarshalJSON(b []byte) error {
	type plain Config
	next := c.clone() // decoding writes into the slices it finds, and those may be in use
	parse := func(b []byte, d *time.Duration) error {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return errors.New(`a duration is a string such as "250ms"`)
		}
		parsed, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("parse duration: %w", err)
		}
		*d = parsed
		return nil
	}
	err := json.Unmarshal(b, (*plain)(&next), json.RejectUnknownMembers(true), json.WithUnmarshalers(json.UnmarshalFunc(parse)))
	if err != nil {
		return fmt.Errorf("decode sim settings: %w", err)
	}
	*c = next
	return nil
}

package forecast

import (
	"time"

	"penstock"
	"penstock/internal/provider"
)

// Scenario is a load and what there is to serve it. It is read from YAML; see docs/how-to/size-a-machine.md.
type Scenario struct {
	// About says what the scenario is for, in a sentence.
	About string `yaml:"about"`
	// Duration is how long it runs at the most, from 1s to 24h. It ends sooner when nothing is left to do.
	Duration time.Duration `yaml:"duration"`
	// WarmUp is left out of all figures, so that they tell of the steady state. Default 0.
	WarmUp time.Duration `yaml:"warm_up"`
	// Seed decides everything that is drawn. Default 1.
	Seed int64 `yaml:"seed"`

	Processes Processes           `yaml:"processes"`
	Lanes     LaneWeights         `yaml:"lanes"`
	Targets   map[string]Target   `yaml:"targets"`
	Models    map[string][]string `yaml:"models"` // targets, in the order they are tried
	Tenants   []Group             `yaml:"tenants"`
	Faults    []Fault             `yaml:"faults"`
}

// Processes is how much of Penstock runs.
type Processes struct {
	Count int `yaml:"count"` // default 1
	Slots int `yaml:"slots"` // items that run at a time in each; default 64
	// LeaseTimeout is how long the items of a killed process stay taken. Default 10s.
	LeaseTimeout time.Duration `yaml:"lease_timeout"`
}

// LaneWeights is how the lanes share slots. Defaults are those of the server.
type LaneWeights struct {
	Realtime int64 `yaml:"realtime"`
	Standard int64 `yaml:"standard"`
	Bulk     int64 `yaml:"bulk"`
}

// Limits are what may be used of a target. 0 stands for no limit.
type Limits struct {
	Concurrency           int   `yaml:"concurrency"`
	RequestsPerMinute     int64 `yaml:"requests_per_minute"`
	InputTokensPerMinute  int64 `yaml:"input_tokens_per_minute"`
	OutputTokensPerMinute int64 `yaml:"output_tokens_per_minute"`
}

// Target is an upstream, as it is configured and as it is.
type Target struct {
	// Limits are those of the configuration: what Penstock believes.
	Limits   Limits   `yaml:"limits"`
	Upstream Upstream `yaml:"upstream"`
}

// Upstream is how a target really behaves.
type Upstream struct {
	// Limits are what it enforces. Those that are not given are the believed ones.
	Limits Limits `yaml:"limits"`
	// Window is the time in which it counts, wherever that begins, from 1s to 1m: a limit of 600 per minute
	// over a window of 1s refuses the 11th request in any second. Default 1m.
	Window  time.Duration `yaml:"window"`
	Latency Latency       `yaml:"latency"`
	// RetryAfter is what it asks for when it refuses a call for its limits. Default 1s.
	RetryAfter time.Duration `yaml:"retry_after"`
	// Errors are probabilities by error kind, such as server_error: 0.01.
	Errors map[string]float64 `yaml:"errors"`
}

// Latency is how long calls take.
type Latency struct {
	Base           time.Duration `yaml:"base"` // default 500ms
	PerOutputToken time.Duration `yaml:"per_output_token"`
	Jitter         float64       `yaml:"jitter"` // fraction by which the whole varies, evenly; from 0 to 1
}

// Kind is how a group's work comes in.
type Kind string

// The kinds of work.
const (
	Jobs  Kind = "jobs"  // durable items
	Calls Kind = "calls" // synchronous calls
)

// Group is one or more tenants that are alike.
type Group struct {
	Name   string        `yaml:"name"`
	Count  int           `yaml:"count"`  // tenants; default 1
	Weight int64         `yaml:"weight"` // default 1
	Kind   Kind          `yaml:"kind"`   // jobs (default) or calls
	Lane   penstock.Lane `yaml:"lane"`   // default standard; calls are always realtime
	Models []string      `yaml:"models"` // in turn, item by item

	Arrivals Arrivals `yaml:"arrivals"`
	// Jobs is into how many jobs the backlog, and every burst, is divided. Default 1.
	Jobs         int           `yaml:"jobs"`
	InputTokens  Tokens        `yaml:"input_tokens"`
	OutputTokens Tokens        `yaml:"output_tokens"`
	MaxTokens    int64         `yaml:"max_tokens"`   // of each item; default 4096
	Deadline     time.Duration `yaml:"deadline"`     // after arrival; default 24h
	MaxAttempts  int           `yaml:"max_attempts"` // default 4
}

// Arrivals is when each tenant of a group submits. The three ways add up.
type Arrivals struct {
	Rate    float64       `yaml:"rate"`    // items per second, at random (Poisson)
	Backlog int           `yaml:"backlog"` // items at the start
	Burst   int           `yaml:"burst"`   // items at once,
	At      time.Duration `yaml:"at"`      // at this time,
	Every   time.Duration `yaml:"every"`   // and again and again, if this is given
	From    time.Duration `yaml:"from"`    // when the rate begins
	Until   time.Duration `yaml:"until"`   // when the rate and the bursts end; default never
}

// Tokens is how sizes are distributed: fixed, or even from min to max, or log-normal by median and p95.
type Tokens struct {
	Fixed  int64 `yaml:"fixed"`
	Min    int64 `yaml:"min"`
	Max    int64 `yaml:"max"`
	Median int64 `yaml:"median"`
	P95    int64 `yaml:"p95"`
}

// Fault is something that goes wrong for a while.
type Fault struct {
	// Target is down: calls fail with an error of a Kind. Those that run when it begins fail then.
	Target string        `yaml:"target"`
	Kind   provider.Kind `yaml:"kind"` // default connect
	// Process is killed, counted from 1, and started again at To.
	Process int           `yaml:"process"`
	From    time.Duration `yaml:"from"`
	To      time.Duration `yaml:"to"` // default: never
}

package forecast

import (
	"fmt"
	"io"
	"os"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/queue"
)

// The defaults of a scenario's fields.
const (
	defaultSlots        = 64
	defaultLeaseTimeout = 10 * time.Second
	defaultLatency      = 500 * time.Millisecond
	defaultMaxTokens    = 4096
	defaultDeadline     = 24 * time.Hour
	defaultMaxAttempts  = 4
)

// Load reads and checks the scenario at path. When the file itself is at fault, the error is a
// [config.Problems].
func Load(path string) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the scenario: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, config.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the scenario: %w", err)
	}
	return Parse(text)
}

// Parse checks the text of a scenario and fills in its defaults. The error is a [config.Problems].
func Parse(text []byte) (*Scenario, error) {
	s := new(Scenario)
	doc := config.ReadDocument(text, s)
	if doc.Readable() {
		s.fillDefaults(doc)
		check(s, doc)
	}
	if problems := doc.Problems(); len(problems) > 0 {
		return nil, problems
	}
	return s, nil
}

// fill gives a field that nobody wrote its default. What was written stays, also when it is zero.
func fill[T any](doc *config.Document, at string, field *T, value T) {
	if !doc.Written(at) {
		*field = value
	}
}

func (s *Scenario) fillDefaults(doc *config.Document) {
	fill(doc, "seed", &s.Seed, 1)
	fill(doc, "processes.count", &s.Processes.Count, 1)
	fill(doc, "processes.slots", &s.Processes.Slots, defaultSlots)
	fill(doc, "processes.lease_timeout", &s.Processes.LeaseTimeout, defaultLeaseTimeout)
	fill(doc, "lanes.realtime", &s.Lanes.Realtime, queue.DefaultLaneWeights[penstock.LaneRealtime])
	fill(doc, "lanes.standard", &s.Lanes.Standard, queue.DefaultLaneWeights[penstock.LaneStandard])
	fill(doc, "lanes.bulk", &s.Lanes.Bulk, queue.DefaultLaneWeights[penstock.LaneBulk])
	for name, t := range s.Targets {
		t.Upstream.fillDefaults(doc, config.Key("targets", name)+".upstream", t.Limits)
		s.Targets[name] = t
	}
	for i := range s.Tenants {
		s.Tenants[i].fillDefaults(doc, config.Index("tenants", i))
	}
	for i := range s.Faults {
		f, at := &s.Faults[i], config.Index("faults", i)
		if f.Target != "" {
			fill(doc, at+".kind", &f.Kind, provider.KindConnect)
		}
		fill(doc, at+".to", &f.To, s.Duration)
	}
}

func (u *Upstream) fillDefaults(doc *config.Document, at string, believed Limits) {
	fill(doc, at+".limits.concurrency", &u.Limits.Concurrency, believed.Concurrency)
	fill(doc, at+".limits.requests_per_minute", &u.Limits.RequestsPerMinute, believed.RequestsPerMinute)
	fill(doc, at+".limits.input_tokens_per_minute", &u.Limits.InputTokensPerMinute, believed.InputTokensPerMinute)
	fill(doc, at+".limits.output_tokens_per_minute", &u.Limits.OutputTokensPerMinute, believed.OutputTokensPerMinute)
	fill(doc, at+".window", &u.Window, time.Minute)
	fill(doc, at+".latency.base", &u.Latency.Base, defaultLatency)
	fill(doc, at+".retry_after", &u.RetryAfter, time.Second)
}

func (g *Group) fillDefaults(doc *config.Document, at string) {
	fill(doc, at+".count", &g.Count, 1)
	fill(doc, at+".weight", &g.Weight, 1)
	fill(doc, at+".kind", &g.Kind, Jobs)
	lane := penstock.LaneStandard
	if g.Kind == Calls {
		lane = penstock.LaneRealtime
	}
	fill(doc, at+".lane", &g.Lane, lane)
	fill(doc, at+".jobs", &g.Jobs, 1)
	fill(doc, at+".max_tokens", &g.MaxTokens, defaultMaxTokens)
	fill(doc, at+".deadline", &g.Deadline, defaultDeadline)
	fill(doc, at+".max_attempts", &g.MaxAttempts, defaultMaxAttempts)
	fill(doc, at+".arrivals.until", &g.Arrivals.Until, 24*time.Hour)
}

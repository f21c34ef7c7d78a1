package forecast

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/store"
)

// The bounds of a scenario.
const (
	MaxDuration    = 24 * time.Hour
	MaxProcesses   = 1000
	MaxSlots       = 100_000
	MaxTargets     = 64 // a set of them is a word
	MaxTenants     = 100_000
	MaxItems       = 100_000_000 // that are expected to arrive
	maxWeight      = 1000
	maxTokens      = 1_000_000
	maxConcurrency = 100_000
	maxRate        = 1_000_000.0
	maxFaults      = 1000
	maxAttempts    = 20
)

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,62}$`)

// checker reports what is wrong with a scenario whose defaults are filled in.
type checker struct {
	*config.Document
	s *Scenario
}

func check(s *Scenario, doc *config.Document) {
	c := checker{doc, s}
	within(c.at("duration"), s.Duration, time.Second, MaxDuration)
	if s.WarmUp < 0 || (s.Duration > 0 && s.WarmUp >= s.Duration) {
		c.Failf("warm_up", "must be shorter than the duration")
	}
	within(c.at("processes.count"), s.Processes.Count, 1, MaxProcesses)
	within(c.at("processes.slots"), s.Processes.Slots, 1, MaxSlots)
	within(c.at("processes.lease_timeout"), s.Processes.LeaseTimeout, 200*time.Millisecond, 5*time.Minute)
	within(c.at("lanes.realtime"), s.Lanes.Realtime, 1, maxWeight)
	within(c.at("lanes.standard"), s.Lanes.Standard, 1, maxWeight)
	within(c.at("lanes.bulk"), s.Lanes.Bulk, 1, maxWeight)
	c.targets()
	c.models()
	c.tenants()
	if len(s.Faults) > maxFaults {
		c.Failf("faults", "are more than %d", maxFaults)
	}
	for i, f := range s.Faults {
		c.fault(config.Index("faults", i), f)
	}
}

// spot is a place in the file that can be complained about.
type spot struct {
	checker
	at string
}

func (c checker) at(path string) spot { return spot{c, path} }

func within[T cmp.Ordered](s spot, v, least, most T) {
	if !(v >= least && v <= most) { // also true for a NaN
		s.Failf(s.at, "must be from %v to %v, not %v", least, most, v)
	}
}

func (c checker) name(at, name string) {
	if !plainName.MatchString(name) {
		c.Failf(at, "the name must match %s", strings.Trim(plainName.String(), "^$"))
	}
}

func (c checker) targets() {
	if n := len(c.s.Targets); n < 1 || n > MaxTargets {
		c.Failf("targets", "must be from 1 to %d, not %d", MaxTargets, n)
	}
	for name, t := range c.s.Targets {
		at := config.Key("targets", name)
		c.name(at, name)
		c.limits(at+".limits", t.Limits)
		c.limits(at+".upstream.limits", t.Upstream.Limits)
		within(c.at(at+".upstream.window"), t.Upstream.Window, time.Second, time.Minute)
		within(c.at(at+".upstream.retry_after"), t.Upstream.RetryAfter, 0, time.Hour)
		latency := at + ".upstream.latency"
		within(c.at(latency+".base"), t.Upstream.Latency.Base, time.Millisecond, time.Hour)
		within(c.at(latency+".per_output_token"), t.Upstream.Latency.PerOutputToken, 0, time.Minute)
		within(c.at(latency+".jitter"), t.Upstream.Latency.Jitter, 0, 1)
		c.errors(at+".upstream.errors", t.Upstream.Errors)
	}
}

func (c checker) limits(at string, l Limits) {
	within(c.at(at+".concurrency"), l.Concurrency, 0, maxConcurrency)
	within(c.at(at+".requests_per_minute"), l.RequestsPerMinute, 0, store.MaxPerMinute)
	within(c.at(at+".input_tokens_per_minute"), l.InputTokensPerMinute, 0, store.MaxPerMinute)
	within(c.at(at+".output_tokens_per_minute"), l.OutputTokensPerMinute, 0, store.MaxPerMinute)
}

func (c checker) errors(at string, errors map[string]float64) {
	sum := 0.0
	for kind, p := range errors {
		c.kind(config.Key(at, kind), provider.Kind(kind))
		within(c.at(config.Key(at, kind)), p, 0, 1)
		sum += p
	}
	if sum > 1 {
		c.Failf(at, "add up to %v, which is more than 1", sum)
	}
}

func (c checker) kind(at string, kind provider.Kind) {
	if slices.Contains(provider.Kinds, kind) {
		return
	}
	known := make([]string, len(provider.Kinds))
	for i, k := range provider.Kinds {
		known[i] = string(k)
	}
	c.Failf(at, "%q is no kind of error; known are %s%s", kind, strings.Join(known, ", "), config.Suggest(string(kind), known))
}

func (c checker) models() {
	if len(c.s.Models) == 0 {
		c.Failf("models", "is missing: name at least one, such as {fast: [a-target]}")
	}
	for name, targets := range c.s.Models {
		at := config.Key("models", name)
		c.name(at, name)
		if len(targets) == 0 {
			c.Failf(at, "must list at least one target")
		}
		for i, t := range targets {
			refer(c, config.Index(at, i), t, c.s.Targets)
			if slices.Contains(targets[:i], t) {
				c.Failf(config.Index(at, i), "%q is listed twice", t)
			}
		}
	}
}

func refer[V any](c checker, at, name string, known map[string]V) {
	if _, ok := known[name]; !ok {
		c.Failf(at, "%q is not described in this file%s", name, config.Suggest(name, slices.Sorted(maps.Keys(known))))
	}
}

func (c checker) tenants() {
	if len(c.s.Tenants) == 0 {
		c.Failf("tenants", "is missing: without any there is no load")
	}
	tenants, items := 0, 0.0
	seen := map[string]bool{}
	for i, g := range c.s.Tenants {
		at := config.Index("tenants", i)
		c.group(at, g)
		if seen[g.Name] {
			c.Failf(at+".name", "%q is the name of two groups", g.Name)
		}
		seen[g.Name] = true
		tenants += g.Count
		items += g.expected(c.s.Duration)
	}
	if tenants > MaxTenants {
		c.Failf("tenants", "are %d in all; %d are the most", tenants, MaxTenants)
	}
	if items > MaxItems {
		c.Failf("tenants", "submit about %.0f items in all; %d are the most: shorten the duration", items, MaxItems)
	}
}

// expected is about how many items arrive in so much time.
func (g *Group) expected(d time.Duration) float64 {
	a := g.Arrivals
	n := float64(a.Backlog) + a.Rate*max(0, (min(d, a.Until)-a.From).Seconds())
	if a.Burst > 0 {
		bursts := 1.0
		if a.Every > 0 {
			bursts += max(0, (min(d, a.Until)-a.At).Seconds()) / a.Every.Seconds()
		}
		n += bursts * float64(a.Burst)
	}
	return n * float64(g.Count)
}

func (c checker) group(at string, g Group) {
	c.name(at+".name", g.Name)
	within(c.at(at+".count"), g.Count, 1, MaxTenants)
	within(c.at(at+".weight"), g.Weight, 1, maxWeight)
	within(c.at(at+".jobs"), g.Jobs, 1, 1_000_000)
	within(c.at(at+".max_tokens"), g.MaxTokens, 1, maxTokens)
	within(c.at(at+".max_attempts"), g.MaxAttempts, 1, maxAttempts)
	within(c.at(at+".deadline"), g.Deadline, time.Second, 30*24*time.Hour)
	switch {
	case g.Kind != Jobs && g.Kind != Calls:
		c.Failf(at+".kind", "must be jobs or calls, not %q", g.Kind)
	case g.Kind == Calls && g.Lane != penstock.LaneRealtime:
		c.Failf(at+".lane", "calls are always realtime: remove the lane, or make it jobs")
	case !g.Lane.Valid():
		c.Failf(at+".lane", "must be realtime, standard or bulk, not %q", g.Lane)
	}
	if len(g.Models) == 0 {
		c.Failf(at+".models", "is missing: name what the tenants ask for")
	}
	for i, m := range g.Models {
		refer(c, config.Index(at+".models", i), m, c.s.Models)
	}
	c.arrivals(at+".arrivals", g.Arrivals)
	c.tokens(at+".input_tokens", g.InputTokens)
	c.tokens(at+".output_tokens", g.OutputTokens)
}

func (c checker) arrivals(at string, a Arrivals) {
	within(c.at(at+".rate"), a.Rate, 0, maxRate)
	within(c.at(at+".backlog"), a.Backlog, 0, MaxItems)
	within(c.at(at+".burst"), a.Burst, 0, MaxItems)
	within(c.at(at+".at"), a.At, 0, MaxDuration)
	within(c.at(at+".from"), a.From, 0, MaxDuration)
	within(c.at(at+".until"), a.Until, 0, MaxDuration)
	if a.Every != 0 {
		within(c.at(at+".every"), a.Every, time.Millisecond, MaxDuration)
	}
	if a.Rate == 0 && a.Backlog == 0 && a.Burst == 0 {
		c.Failf(at, "must have a rate, a backlog or a burst")
	}
}

func (c checker) tokens(at string, t Tokens) {
	forms := 0
	for _, given := range []int64{t.Fixed, t.Min + t.Max, t.Median + t.P95} {
		if given != 0 {
			forms++
		}
	}
	switch {
	case forms != 1:
		c.Failf(at, "must be one of {fixed: n}, {min: n, max: n} and {median: n, p95: n}")
	case t.Min > t.Max:
		c.Failf(at+".min", "must not be above max")
	case t.Median > t.P95 || (t.P95 > 0 && t.Median == 0):
		c.Failf(at+".median", "must be above 0 and not above p95")
	}
	for name, v := range map[string]int64{"fixed": t.Fixed, "min": t.Min, "max": t.Max, "median": t.Median, "p95": t.P95} {
		within(c.at(at+"."+name), v, 0, maxTokens)
	}
}

func (c checker) fault(at string, f Fault) {
	switch {
	case (f.Target == "") == (f.Process == 0):
		c.Failf(at, "must name either a target or a process")
	case f.Target != "":
		refer(c, at+".target", f.Target, c.s.Targets)
		c.kind(at+".kind", f.Kind)
	default:
		within(c.at(at+".process"), f.Process, 1, c.s.Processes.Count)
		if f.Kind != "" {
			c.Failf(at+".kind", "is for targets: a process is killed")
		}
	}
	within(c.at(at+".from"), f.From, 0, MaxDuration)
	if f.To <= f.From && f.To != 0 { // without a duration there is no default
		c.Failf(at+".to", "must be after from")
	}
}

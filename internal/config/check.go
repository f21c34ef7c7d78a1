package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxInputs is how many inputs one job may carry in its own body; a file carries more.
const MaxInputs = 10_000

// The bounds of the file's fields.
const (
	MinKeySecretLength = 22 // the shortest text of 128 bits: see SecretProblem
	MaxKeySecretLength = 256

	maxShutdownGrace   = time.Hour
	minRetention       = time.Minute
	minIdempotency     = 24 * time.Hour
	maxRetention       = 87600 * time.Hour
	maxSlots           = 10_000
	maxSuspects        = 256
	minLeaseTimeout    = 200 * time.Millisecond
	maxLeaseTimeout    = 5 * time.Minute
	minPollInterval    = 10 * time.Millisecond
	minMaxBodyBytes    = 1 << 10
	maxMaxBodyBytes    = 64 << 20
	minMaxJobBytes     = 1 << 10
	maxMaxJobBytes     = 256 << 20
	minMaxJSONDepth    = 8
	maxMaxJSONDepth    = 512
	minMaxFileBytes    = 1 << 10
	maxMaxFileBytes    = 1 << 40
	maxUpstreamModel   = 256
	maxMaxOutputTokens = 1_000_000
	maxContextTokens   = 100_000_000
	maxConcurrency     = 100_000
	maxPerMinute       = 1_000_000_000
	minTimeout         = time.Millisecond
	maxTotalTimeout    = 24 * time.Hour
	maxWeight          = 1000
	maxAPIKeys         = 64
	minCacheBytes      = 1 << 20
	maxCacheBytes      = 64 << 30
	minCacheEntryBytes = 1 << 10
	maxCacheEntryPart  = 8 // of all that is held
	minCacheTTL        = time.Second
	maxCacheTTL        = 24 * time.Hour
)

var (
	slug      = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}\*?$`)
)

// checker collects what is wrong with a file whose defaults are filled in.
type checker struct {
	draft    draft
	broken   map[path]bool // what the reader already complained about
	problems Problems
}

// check returns every problem of the file, the reader's included, in order.
func check(f *File, d draft, known facts) Problems {
	c := checker{draft: d, broken: map[path]bool{}, problems: slices.Clone(d.problems)}
	for _, p := range d.problems {
		c.broken[path(p.Path)] = true
	}
	c.process(&f.Process)
	c.queue(f.Queue, f.Tenants)
	c.playground(f)
	c.lanes(&f.Lanes)
	for name, p := range f.Providers {
		c.provider(path("providers").key(name), name, p)
	}
	for name, t := range f.Targets {
		c.target(path("targets").key(name), name, t, f.Providers)
	}
	c.catalogue(f, known)
	c.models(f)
	c.tenants(f)
	c.tokenIssuers(f.ClientTokens)
	c.clientCertificates(f)
	c.mediaHosts("media_hosts", f.MediaHosts)
	c.retentions(f)
	c.problems.sort()
	return c.problems
}

// fail records a problem, unless the reader could not make sense of the value: then it is zero, and
// what is wrong with zero is not the operator's concern.
func (c *checker) fail(at path, format string, args ...any) {
	if c.broken[at] {
		return
	}
	message := fmt.Sprintf(format, args...)
	if name, ok := c.draft.overridden[at]; ok {
		message += " (set by the environment variable " + name + ")"
	}
	c.problems = append(c.problems, newProblem(at, c.draft.places.nearest(at), message))
}

// bounds are the least and the most that a value may be.
type bounds[T cmp.Ordered] struct{ least, most T }

func within[T cmp.Ordered](c *checker, at path, v T, b bounds[T]) bool {
	if v >= b.least && v <= b.most { // false for a NaN
		return true
	}
	c.fail(at, "must be from %s to %s, not %s", show(b.least), show(b.most), show(v))
	return false
}

// notLonger checks a time against the one that holds it. Where that one is no good itself, its own
// problem is enough.
func (c *checker) notLonger(at path, v time.Duration, holder path, most time.Duration) {
	if v > most && most > 0 && !c.broken[holder] {
		c.fail(at, "must not be longer than %s, which is %s", holder, durationText(most))
	}
}

func oneOf[T ~string](c *checker, at path, v T, allowed []T) {
	if !slices.Contains(allowed, v) {
		c.fail(at, "%s is not one of %s", quote(v), join(allowed))
	}
}

// supported is oneOf for a list that later versions will extend.
func supported[T ~string](c *checker, at path, v T, allowed []T) {
	if !slices.Contains(allowed, v) {
		known := make([]string, len(allowed))
		for i, a := range allowed {
			known[i] = string(a)
		}
		c.fail(at, "%s is not supported by this version yet%s; it supports %s", quote(v), suggest(string(v), known), join(allowed))
	}
}

// refer checks that a name is in a table, unless the table itself could not be read.
func refer[V any](c *checker, at path, name string, table namedTable[V]) {
	if _, ok := table.entries[name]; ok || c.broken[table.at] {
		return
	}
	known := slices.Collect(maps.Keys(table.entries))
	c.fail(at, "%s is not one of %s%s", quote(name), table.at, suggest(name, known))
}

type namedTable[V any] struct {
	at      path
	entries map[string]V
}

func (c *checker) name(at path, name string) {
	if !slug.MatchString(name) {
		c.fail(at, "the name must match %s", strings.Trim(slug.String(), "^$"))
	}
}

// isVisible reports whether s can be sent in a header as it is.
func isVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func join[T ~string](words []T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, ", ")
}

// show renders a bound or a value for a message.
func show(v any) string {
	if d, ok := v.(time.Duration); ok {
		return durationText(d)
	}
	return fmt.Sprint(v)
}

// durationText writes a duration as people do: 10m, where the standard library says 10m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

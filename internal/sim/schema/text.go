package schema

import (
	"fmt"
	"strings"
)

const vocabulary = "water gate river valve turbine basin channel spring stone bridge mill wheel level harbour current lake valley meadow lantern copper"

const (
	// patternTries is how many strings are tried for a pattern.
	patternTries = 40
	// maxMatching bounds the work of these tries: characters times the instructions of all patterns.
	maxMatching = 100_000_000
)

func (g *generator) text(all []*node) (*value, error) {
	least, most := 0, maxString
	for _, n := range all {
		least = max(least, n.text.least)
		if n.text.most != nil {
			most = min(most, *n.text.most)
		}
	}
	if least > most {
		return nil, g.fail("the schema demands a string of at least %d characters; at most %d are possible", least, most)
	}
	for _, n := range all {
		if s, known := g.formatted(n.text.format); known && fits(s, all) {
			return g.quoted(s)
		}
	}
	for _, n := range all {
		if p := n.text.pattern; p != nil {
			if p.compiled == nil {
				return nil, g.fail("the pattern %q cannot be generated for; use one without lookarounds, or add a format", shortened(p.source))
			}
			return g.patterned(p, least, all)
		}
	}
	s := g.words(least, most)
	if !fits(s, all) {
		return nil, g.fail("no string was found that satisfies the schema")
	}
	return g.quoted(s)
}

func (g *generator) quoted(s string) (*value, error) {
	return &value{kind: '"', text: s}, g.grow(len(s) + len(`""`))
}

// fits reports whether a string satisfies all schemas.
func fits(s string, all []*node) bool {
	for _, n := range all {
		if !n.text.allows(s) {
			return false
		}
	}
	return true
}

// patterned generates a string for a pattern. Where the string is too short and the pattern leaves its end open,
// it is padded.
func (g *generator) patterned(p *pattern, least int, all []*node) (*value, error) {
	size := 0
	for _, n := range all {
		if n.text.pattern != nil {
			size += n.text.pattern.size
		}
	}
	work := 0
	for try := range patternTries {
		s, ok := p.sample(g.rng, try*try)
		if work += (len(s) + max(least, len(s))) * size; !ok || work > maxMatching {
			break
		}
		for _, candidate := range []string{s, s + strings.Repeat("a", max(0, least-len([]rune(s))))} {
			if fits(candidate, all) {
				return g.quoted(candidate)
			}
		}
	}
	return nil, g.fail("no string was found for the pattern %q and the rest of the schema", shortened(p.source))
}

// words generates some words of a length.
func (g *generator) words(least, most int) string {
	words := strings.Fields(vocabulary)
	var b strings.Builder
	for n := 1 + g.rng.IntN(2); n > 0 || b.Len() < least; n-- {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[g.rng.IntN(len(words))])
	}
	s := b.String()
	if len(s) > most {
		s = s[:most]
	}
	if trimmed := strings.TrimRight(s, " "); len(trimmed) >= least {
		return trimmed
	}
	return strings.TrimRight(s, " ") + strings.Repeat("s", len(s)-len(strings.TrimRight(s, " ")))
}

// formatted generates a string of a known format.
func (g *generator) formatted(format string) (string, bool) {
	number := func(from, to int) int { return from + g.rng.IntN(to-from+1) }
	word := strings.Fields(vocabulary)[g.rng.IntN(20)]
	date := fmt.Sprintf("20%02d-%02d-%02d", number(20, 29), number(1, 12), number(1, 28))
	clock := fmt.Sprintf("%02d:%02d:%02dZ", number(0, 23), number(0, 59), number(0, 59))
	switch format {
	case "date-time":
		return date + "T" + clock, true
	case "date":
		return date, true
	case "time":
		return clock, true
	case "duration":
		return fmt.Sprintf("P%dDT%dH", number(1, 9), number(1, 23)), true
	case "email", "idn-email":
		return word + "@example.com", true
	case "hostname", "idn-hostname":
		return word + ".example.com", true
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", number(1, 254)), true
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", number(1, 0xffff)), true
	case "uri", "url", "iri":
		return "https://example.com/" + word, true
	case "uri-reference", "iri-reference", "json-pointer":
		return "/" + word, true
	case "relative-json-pointer":
		return "0/" + word, true
	case "uri-template":
		return "https://example.com/{" + word + "}", true
	case "uuid":
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", g.rng.Uint32(), number(0, 0xffff), number(0, 0xfff), number(0, 0xfff), g.rng.Uint64()>>16), true
	case "regex":
		return word + "+", true
	}
	return "", false
}

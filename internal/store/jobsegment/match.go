package jobsegment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"penstock/internal/store"
)

// Match is how a job compares with a filter.
type Match int

// The matches, in order. A job may match if the segment does not know its status or its tags.
const (
	No Match = iota
	Maybe
	Yes
)

// Matcher compares jobs with a filter.
type Matcher struct {
	filter       store.JobFilter
	after, until int64
	tag          []byte           // as JSON has it, nil for any
	tags         map[string]Match // of the tags that were compared before
}

// NewMatcher returns the matcher of a filter.
func NewMatcher(f store.JobFilter) (*Matcher, error) {
	m := &Matcher{filter: f, after: math.MinInt64, until: math.MaxInt64, tags: map[string]Match{}}
	if !f.CreatedAfter.IsZero() {
		m.after = f.CreatedAfter.UnixMicro()
	}
	if !f.CreatedUntil.IsZero() {
		m.until = f.CreatedUntil.UnixMicro()
	}
	if f.TagKey != "" {
		text, err := json.Marshal(map[string]string{f.TagKey: f.TagValue})
		if err != nil {
			return nil, fmt.Errorf("encoding a tag: %w", err)
		}
		m.tag = text[1 : len(text)-1]
	}
	return m, nil
}

// Created are the times that the filter selects, in microseconds: after the first, up to the second.
func (m *Matcher) Created() (after, until int64) { return m.after, m.until }

// group compares what jobs share, except for tags.
func (m *Matcher) group(g *Group) Match {
	f := &m.filter
	switch {
	case !among(f.Lanes, g.Lane) || !among(f.Models, g.Model) || !among(f.Keys, g.Key):
		return No
	case len(f.Statuses) == 0:
		return Yes
	case g.Open():
		return Maybe
	case slices.Contains(f.Statuses, g.Status):
		return Yes
	}
	return No
}

func among[T comparable](wanted []T, is T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, is)
}

// hasTag looks for the text of the tag first: most tags do not contain it, and need not be read.
func (m *Matcher) hasTag(text []byte) Match {
	if !bytes.Contains(text, m.tag) {
		return No
	}
	known, ok := m.tags[string(text)]
	if ok {
		return known
	}
	var tags map[string]string
	if err := json.Unmarshal(text, &tags); err != nil {
		known = Maybe
	} else if value, ok := tags[m.filter.TagKey]; ok && value == m.filter.TagValue {
		known = Yes
	}
	m.tags[string(text)] = known
	return known
}

// Found is a job of a segment that matches, or may match.
type Found struct {
	Position int
	Group    int
	Created  int64
	Match    Match
}

// Select calls visit with the jobs that match or may match, oldest first.
func (s *Segment) Select(m *Matcher, visit func(Found)) error {
	groups, most := make([]Match, len(s.Groups)), No
	for i := range s.Groups {
		groups[i] = m.group(&s.Groups[i])
		most = max(most, groups[i])
	}
	tags := []Match{Yes} // of jobs whose tags do not matter
	if m.tag != nil {
		tags = s.matchTags(m)
	}
	if most == No || slices.Max(tags) == No {
		return nil
	}
	perJob := m.tag != nil && len(s.Tags) > 0
	group, tag, created := reader{rest: s.group}, reader{rest: s.tag}, reader{rest: s.created}
	at := int64(0)
	for i := range s.Jobs {
		g, t := group.number(), 0
		if perJob {
			t = tag.number()
		}
		at += created.difference()
		if g >= len(groups) || t >= len(tags) || group.short || tag.short || created.short {
			return errBroken
		}
		if match := min(groups[g], tags[t]); match != No && at > m.after && at <= m.until {
			visit(Found{i, g, at, match})
		}
	}
	return nil
}

// matchTags compares the tags of the segment; jobs whose tags are not known may match.
func (s *Segment) matchTags(m *Matcher) []Match {
	if len(s.Tags) == 0 {
		return []Match{Maybe}
	}
	tags := make([]Match, len(s.Tags))
	for i, text := range s.Tags {
		tags[i] = m.hasTag(text)
	}
	return tags
}

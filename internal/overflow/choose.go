package overflow

import (
	"cmp"
	"slices"

	"penstock"
	"penstock/internal/token"
)

// spareBytes is how much of a conversation is counted beyond the limit, so that the tokens of short conversations are exact. Behind
// it, tokens are estimated by the bytes: they do not change what is kept.
const spareBytes = 256 << 10

// meter counts the parts of a body, each of them once. How much it counts is bounded by the limit of the window, and not by the body.
type meter struct {
	tokens *token.Counter
	name   string // of the list of messages
	limit  int64
	kept   int64 // tokens that are kept
	full   bool  // nothing more is kept

	counted, bytes int64 // tokens by the tokenizer, and the bytes that they were counted in
	spare          int64 // bytes that were counted although they do not change what is kept
}

// add counts a member, or an element of the list of messages, that is kept.
func (m *meter) add(name string, value []byte) { m.kept += m.count(name, value) }

func (m *meter) count(name string, value []byte) int64 {
	size := int64(len(value))
	if m.full || m.kept > m.limit {
		if m.spare += size; m.spare > spareBytes {
			return m.estimate(size)
		}
	}
	n := m.tokens.Member(name, value)
	m.counted, m.bytes = m.counted+n, m.bytes+size
	return n
}

// estimate takes bytes to be like those that were counted.
func (m *meter) estimate(size int64) int64 {
	if m.bytes == 0 {
		return penstock.InputTokens(size)
	}
	return int64(float64(size) * float64(m.counted) / float64(m.bytes))
}

// choice is the groups that are dropped, and their tokens.
type choice struct {
	dropped []*group
	tokens  int64
}

// choose keeps groups until the goal is reached. Both policies keep the newest turns, without a gap between them. The policy
// truncate_middle first keeps the oldest turn, where a conversation often states its task, if it fits.
func (c *conversation) choose(m *meter, o Order) (chosen choice) {
	for i := range c.elements {
		if e := &c.elements[i]; e.kept() {
			m.add(m.name, c.text[e.at.Start:e.at.End])
		}
	}
	for i, g := range c.ranked(o.Policy) {
		n := c.size(m, g)
		if !m.full && m.kept+n <= o.Window.Goal {
			m.kept += n
			continue
		}
		chosen.dropped, chosen.tokens = append(chosen.dropped, g), chosen.tokens+n
		if first := i == 0 && g.first == 0 && o.Policy == penstock.OverflowTruncateMiddle; !first {
			m.full = true
		}
	}
	return chosen
}

// size is how many tokens a group has.
func (c *conversation) size(m *meter, g *group) (tokens int64) {
	for _, i := range g.elements {
		at := c.elements[i].at
		tokens += m.count(m.name, c.text[at.Start:at.End])
	}
	return tokens
}

// ranked are the groups that may be dropped, those that are kept first in front.
func (c *conversation) ranked(policy penstock.OnOverflow) []*group {
	ranked := slices.DeleteFunc(slices.Clone(c.groups), func(g *group) bool { return g.must })
	slices.SortFunc(ranked, func(a, b *group) int { return cmp.Compare(b.last, a.last) })
	if policy == penstock.OverflowTruncateMiddle {
		oldest := slices.IndexFunc(ranked, func(g *group) bool { return g.first == 0 })
		if oldest > 0 {
			g := ranked[oldest]
			copy(ranked[1:oldest+1], ranked[:oldest])
			ranked[0] = g
		}
	}
	return ranked
}

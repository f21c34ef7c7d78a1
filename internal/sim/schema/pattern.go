package schema

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// sample generates a string that a pattern probably matches: anchors and boundaries inside it may contradict the
// rest. The more slack, the longer its repetitions.
func (p *pattern) sample(rng *rand.Rand, slack int) (string, bool) {
	tree, err := syntax.Parse(p.source, syntax.Perl)
	if err != nil {
		return "", false
	}
	s := &sampler{rng: rng, slack: min(slack, maxString)}
	s.write(tree)
	return s.b.String(), !s.full
}

type sampler struct {
	rng   *rand.Rand
	slack int
	b     strings.Builder
	steps int
	full  bool
}

// maxSampleSteps bounds the parts of a pattern that are written, those that match nothing included.
const maxSampleSteps = 4 * maxString

func (s *sampler) write(r *syntax.Regexp) {
	s.steps++
	if s.full = s.full || s.b.Len() > maxString || s.steps > maxSampleSteps; s.full {
		return
	}
	switch r.Op {
	case syntax.OpLiteral:
		for _, c := range r.Rune {
			s.b.WriteRune(c)
		}
	case syntax.OpCharClass:
		s.b.WriteRune(s.pick(r.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.b.WriteByte(byte('a' + s.rng.IntN(26)))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range r.Sub {
			s.write(sub)
		}
	case syntax.OpAlternate:
		s.write(r.Sub[s.rng.IntN(len(r.Sub))])
	case syntax.OpStar:
		s.repeat(r.Sub[0], 0, -1)
	case syntax.OpPlus:
		s.repeat(r.Sub[0], 1, -1)
	case syntax.OpQuest:
		s.repeat(r.Sub[0], 0, 1)
	case syntax.OpRepeat:
		s.repeat(r.Sub[0], r.Min, r.Max)
	}
}

// repeat writes a part so often as a pattern allows; most is -1 for no bound.
func (s *sampler) repeat(r *syntax.Regexp, least, most int) {
	n := least + s.rng.IntN(4+s.slack)
	if most >= 0 {
		n = min(n, most)
	}
	for range n {
		if s.write(r); s.full {
			return
		}
	}
}

// pick chooses a character of a class, given as pairs of first and last: one of a-z, A-Z or 0-9 if it has one, else
// one that can be printed.
func (s *sampler) pick(class []rune) rune {
	for _, among := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'!', '~'}, {' ', '~'}} {
		var found []rune
		for i := 0; i+1 < len(class); i += 2 {
			for c := max(class[i], among[0]); c <= min(class[i+1], among[1]); c++ {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			return found[s.rng.IntN(len(found))]
		}
	}
	if len(class) == 0 {
		s.full = true // a class that nothing is in
		return ' '
	}
	return class[0]
}

package schema

import (
	"math/rand/v2"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// generator searches for an instance.
type generator struct {
	rng     *rand.Rand
	minimal bool // only what the schema demands
	steps   int  // left
	// optional is how many properties may still be generated that the schema does not demand.
	optional int
	size     int      // of the instance so far, in bytes
	path     []string // to the value that is being generated
}

// goal is something that an instance must satisfy: a schema, or one alternative of a group.
type goal struct {
	node  *node
	group *group
}

// generate finds a value that satisfies all of some schemas.
func (g *generator) generate(all []*node) (*value, error) {
	if len(g.path) > maxDepth {
		return nil, g.fail("the schema demands values nested more than %d deep", maxDepth)
	}
	goals := make([]goal, len(all))
	for i, n := range all {
		goals[i] = goal{node: n}
	}
	return g.settle(goals, nil)
}

// maxTogether bounds the schemas that hold for one value.
const maxTogether = 500

// settle follows references and chooses alternatives until only schemas are left whose own keywords count. If
// no value satisfies them, the next alternative is tried.
func (g *generator) settle(goals []goal, settled []*node) (*value, error) {
	for len(goals) > 0 {
		next := goals[0]
		goals = goals[1:]
		if g.steps--; g.steps < 0 || len(settled) > maxTogether {
			return nil, errTooComplex
		}
		if next.group != nil {
			return g.choose(next.group, goals, settled)
		}
		n := next.node
		if n.never {
			return nil, g.fail("the schema allows no value")
		}
		if slices.Contains(settled, n) {
			continue
		}
		settled = append(slices.Clip(settled), n)
		goals = slices.Clip(goals)
		for _, inside := range n.together() {
			goals = append(goals, goal{node: inside})
		}
		for i := range n.groups {
			goals = append(goals, goal{group: &n.groups[i]})
		}
	}
	return g.satisfy(settled)
}

// together are the schemas that hold wherever this one does.
func (n *node) together() []*node {
	list := slices.Clone(n.allOf)
	if n.ref != nil {
		list = append(list, n.ref)
	}
	for _, name := range n.object.required {
		if implied := n.object.implies[name]; implied != nil && n.kinds&^kindObject == 0 {
			list = append(list, implied)
		}
	}
	return list
}

// choose tries the alternatives of a group, beginning at one by chance. Deep inside, the one with the smallest
// instances comes first.
func (g *generator) choose(from *group, goals []goal, settled []*node) (*value, error) {
	order := make([]int, len(from.alternatives))
	begin := 0
	if len(order) > 1 {
		begin = g.rng.IntN(len(order))
	}
	for i := range order {
		order[i] = (begin + i) % len(order)
	}
	byHeight := func(a, b int) int { return heightOf(from.alternatives[a]) - heightOf(from.alternatives[b]) }
	if g.sparing() {
		slices.SortStableFunc(order, byHeight)
	} else { // null and the like say little
		slices.SortStableFunc(order, func(a, b int) int { return emptiness(from.alternatives[a]) - emptiness(from.alternatives[b]) })
	}
	err := g.fail("there are no alternatives")
	for _, i := range order {
		more := slices.Clip(goals)
		for _, n := range from.alternatives[i] {
			more = append(more, goal{node: n})
		}
		before := g.size
		var v *value
		if v, err = g.settle(more, settled); err == nil || err == errTooComplex {
			return v, err
		}
		g.size = before
	}
	return nil, err
}

// emptiness is 1 for null and for schemas without end, else 0.
func emptiness(list []*node) int {
	for _, n := range list {
		if n.kinds == kindNull || n.height >= infinite {
			return 1
		}
	}
	return 0
}

// sparing reports whether only what the schema demands is generated.
func (g *generator) sparing() bool { return g.minimal || len(g.path) >= fullDepth }

// satisfy generates a value for schemas that were settled.
func (g *generator) satisfy(all []*node) (*value, error) {
	if v := g.given(all); v != nil {
		return v, g.grow(len(v.append(nil)))
	}
	allowed, hint, fixed := kindAny, kinds(0), false
	for _, n := range all {
		allowed &= n.kinds
		hint |= n.hint
		fixed = fixed || n.enum != nil
	}
	if fixed {
		return nil, g.fail("no value of the enum satisfies the rest of the schema")
	}
	if allowed&hint != 0 && allowed == kindAny {
		allowed = hint
	}
	if allowed == kindAny {
		allowed = kindString // the schema says nothing
	}
	err := g.fail("the schema allows no type")
	for _, kind := range []kinds{kindObject, kindArray, kindString, kindNumber, kindInteger, kindBoolean, kindNull} {
		if allowed&kind == 0 {
			continue
		}
		before := g.size
		var v *value
		if v, err = g.ofKind(kind, all); err == nil {
			err = g.confirm(all, v)
		}
		if err == nil || err == errTooComplex {
			return v, err
		}
		g.size = before
	}
	return nil, err
}

// ofKind generates a value of one kind.
func (g *generator) ofKind(kind kinds, all []*node) (*value, error) {
	switch kind {
	case kindObject:
		return g.object(all)
	case kindArray:
		return g.array(all)
	case kindString:
		return g.text(all)
	case kindNumber, kindInteger:
		return g.number(kind, all)
	case kindBoolean:
		return &value{kind: jsontext.Kind("tf"[g.rng.IntN(2)])}, g.grow(5)
	}
	return &value{kind: 'n'}, g.grow(4)
}

// given returns a value that the schemas name themselves and that satisfies all of them: one of an enum, an
// example or a default. Null is not taken for an example.
func (g *generator) given(all []*node) *value {
	for _, n := range all {
		list := n.enum
		if list == nil {
			list = n.like
		}
		if len(list) == 0 {
			continue
		}
		begin := g.rng.IntN(len(list))
		for i := range list {
			v := list[(begin+i)%len(list)]
			if (n.enum != nil || v.kind != 'n') && g.satisfies(all, v) {
				return v
			}
		}
	}
	return nil
}

// confirm checks a value if some of the schemas have keywords that the generator does not obey by itself.
func (g *generator) confirm(all []*node, v *value) error {
	if !slices.ContainsFunc(all, func(n *node) bool { return n.checked }) || g.satisfies(all, v) {
		return nil
	}
	return g.fail("no value was found that satisfies the whole schema")
}

func (g *generator) satisfies(all []*node, v *value) bool {
	c := &checker{steps: min(g.steps, maxCheckSteps)}
	before := c.steps
	ok := c.all(all, v, 0) && !c.exhausted
	g.steps -= before - max(c.steps, 0)
	return ok
}

// grow counts what was generated.
func (g *generator) grow(bytes int) error {
	if g.size += bytes; g.size > maxBytes {
		return g.fail("the schema demands a value of more than %d bytes", maxBytes)
	}
	return nil
}

func (g *generator) fail(format string, args ...any) error { return pathError(g.path, format, args...) }

// inside generates a value at a place in the current one.
func (g *generator) inside(place string, all []*node) (*value, error) {
	g.path = append(g.path, place)
	defer func() { g.path = g.path[:len(g.path)-1] }()
	return g.generate(all)
}

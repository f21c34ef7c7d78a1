package schema

import (
	"fmt"
	"slices"
	"strings"
)

// object generates an object: the properties in the order of the schema, then further ones if it demands them.
func (g *generator) object(all []*node) (*value, error) {
	p := g.plan(all)
	if p.most < len(p.required) {
		return nil, g.fail("the schema requires more properties than it allows")
	}
	if max(p.least, len(p.required)) > maxItems {
		return nil, g.fail("the schema demands more than %d properties", maxItems)
	}
	v := &value{kind: '{'}
	spare := p.most - len(p.required)
	if g.sparing() {
		spare = min(spare, p.least-len(p.required))
	}
	for _, name := range p.names {
		if !p.required[name] {
			if spare <= 0 || g.optional <= 0 || p.entails[name] {
				continue
			}
			spare--
			g.optional--
		}
		if err := g.member(v, name, all); err != nil && (p.required[name] || err == errTooComplex) {
			return nil, err
		}
	}
	return v, g.fill(v, p, all)
}

// objectPlan is what some schemas together say of an object's properties.
type objectPlan struct {
	names       []string // in the order of the schemas
	required    map[string]bool
	entails     map[string]bool // names that demand something else beside them
	least, most int
}

// propertiesPerStep is how many properties cost about as much as a step.
const propertiesPerStep = 16

func (g *generator) plan(all []*node) objectPlan {
	p := objectPlan{required: make(map[string]bool), entails: make(map[string]bool), most: maxItems}
	known := make(map[string]bool)
	add := func(name string) {
		if !known[name] {
			known[name] = true
			p.names = append(p.names, name)
		}
	}
	for _, n := range all {
		for _, property := range n.object.properties {
			add(property.name)
		}
	}
	for _, n := range all {
		o := &n.object
		for _, name := range o.required {
			add(name)
			p.required[name] = true
			for _, needed := range o.needs[name] {
				add(needed)
				p.required[needed] = true
			}
		}
		for name := range o.needs {
			p.entails[name] = true
		}
		for name := range o.implies {
			p.entails[name] = true
		}
		g.steps -= len(o.properties) / propertiesPerStep
		p.least = max(p.least, o.least)
		if o.most != nil {
			p.most = min(p.most, *o.most)
		}
	}
	return p
}

// member generates a property. An object is not changed if that fails.
func (g *generator) member(v *value, name string, all []*node) error {
	var schemas []*node
	for _, n := range all {
		schemas = append(schemas, n.object.schemasFor(name)...)
	}
	if heightOf(schemas)+len(g.path) > maxDepth {
		return g.fail("the property %q demands values nested more than %d deep", shortened(name), maxDepth)
	}
	before := g.size
	inside, err := g.inside("."+shortened(name), schemas)
	if err == nil {
		err = g.grow(len(name) + len(`"":,`))
	}
	if err != nil {
		g.size = before
		return err
	}
	v.members = append(v.members, member{name, inside})
	return nil
}

// fill adds properties that the schema does not name until there are enough.
func (g *generator) fill(v *value, p objectPlan, all []*node) error {
	var last error
	for try := 0; len(v.members) < p.least && try < p.least+maxOptional; try++ {
		name := g.newName(try, all)
		if slices.ContainsFunc(v.members, func(m member) bool { return m.name == name }) {
			continue
		}
		if last = g.member(v, name, all); last == errTooComplex {
			return last
		}
	}
	if len(v.members) < p.least {
		if last == nil {
			last = g.fail("the schema demands at least %d properties", p.least)
		}
		return last
	}
	return nil
}

// newName invents the name of a property: one that a pattern or the schema of names allows, where there is one.
func (g *generator) newName(try int, all []*node) string {
	for _, n := range all {
		if names := n.object.names; names != nil {
			if v, err := g.generate([]*node{names, {kinds: kindString}}); err == nil {
				return v.text
			}
		}
		for _, p := range n.object.patterns {
			if name, ok := p.pattern.sample(g.rng, try/4); ok {
				return name
			}
		}
	}
	return fmt.Sprintf("property_%d", try+1)
}

// shortened keeps the names of callers in errors short.
func shortened(name string) string {
	const most = 40
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

package schema

import (
	"math/big"
	"unicode/utf8"
)

// maxCheckDepth bounds the schemas that a check is inside of, references included.
const maxCheckDepth = 200

// checker checks values against schemas. When its steps are used up, its verdicts mean nothing.
type checker struct {
	steps     int
	exhausted bool
}

// check reports whether a value is valid under a schema.
func (c *checker) check(n *node, v *value, depth int) bool {
	c.steps -= 1 + len(n.enum)
	if c.steps < 0 || depth > maxCheckDepth {
		c.exhausted = true
	}
	if c.exhausted || n.never || n.kinds&kindOf(v) == 0 || (n.enum != nil && !isAmong(v, n.enum)) {
		return false
	}
	if n.ref != nil && !c.check(n.ref, v, depth+1) {
		return false
	}
	return c.all(n.allOf, v, depth) && c.groups(n, v, depth) && c.conditions(n, v, depth) && c.own(n, v, depth)
}

// own checks the keywords that are about one kind of value.
func (c *checker) own(n *node, v *value, depth int) bool {
	switch v.kind {
	case '{':
		return c.object(&n.object, v, depth)
	case '[':
		return c.array(&n.array, v, depth)
	case '"':
		return n.text.allows(v.text)
	case '0':
		return n.number.allows(rational(v.text))
	}
	return true
}

func kindOf(v *value) kinds {
	switch v.kind {
	case '{':
		return kindObject
	case '[':
		return kindArray
	case '"':
		return kindString
	case 't', 'f':
		return kindBoolean
	case 'n':
		return kindNull
	}
	if worth := rational(v.text); worth != nil && worth.IsInt() {
		return kindInteger
	}
	return kindNumber
}

func isAmong(v *value, list []*value) bool {
	for _, other := range list {
		if v.equal(other) {
			return true
		}
	}
	return false
}

func (c *checker) all(list []*node, v *value, depth int) bool {
	for _, n := range list {
		if !c.check(n, v, depth+1) {
			return false
		}
	}
	return true
}

// groups checks anyOf and oneOf. The group of an if is checked by conditions.
func (c *checker) groups(n *node, v *value, depth int) bool {
	for i, g := range n.groups {
		if n.when != nil && i == len(n.groups)-1 {
			break
		}
		held := 0
		for _, alternative := range g.alternatives {
			if c.all(alternative, v, depth) {
				held++
			}
		}
		if held == 0 || (g.exactly && held > 1) {
			return false
		}
	}
	return true
}

func (c *checker) conditions(n *node, v *value, depth int) bool {
	if n.not != nil && c.check(n.not, v, depth+1) {
		return false
	}
	if n.when == nil {
		return true
	}
	branch := n.otherwise
	if c.check(n.when, v, depth+1) {
		branch = n.then
	}
	return branch == nil || c.check(branch, v, depth+1)
}

func (c *checker) object(o *object, v *value, depth int) bool {
	if len(v.members) < o.least || (o.most != nil && len(v.members) > *o.most) {
		return false
	}
	for _, name := range o.required {
		c.steps--
		if v.member(name) == nil {
			return false
		}
	}
	for _, m := range v.members {
		if !c.all(o.schemasFor(m.name), m.value, depth) {
			return false
		}
		if o.names != nil && !c.check(o.names, &value{kind: '"', text: m.name}, depth+1) {
			return false
		}
		for _, name := range o.needs[m.name] {
			if v.member(name) == nil {
				return false
			}
		}
		if implied := o.implies[m.name]; implied != nil && !c.check(implied, v, depth+1) {
			return false
		}
	}
	return true
}

// schemasFor are the schemas of the property with a name.
func (o *object) schemasFor(name string) []*node {
	var list []*node
	for _, p := range o.properties {
		if p.name == name {
			list = append(list, p.schema)
		}
	}
	for _, p := range o.patterns {
		if p.pattern.compiled != nil && p.pattern.compiled.MatchString(name) {
			list = append(list, p.schema)
		}
	}
	if list == nil && o.additional != nil {
		list = append(list, o.additional)
	}
	return list
}

func (c *checker) array(a *array, v *value, depth int) bool {
	if len(v.items) < a.least || (a.most != nil && len(v.items) > *a.most) {
		return false
	}
	contained := 0
	for i, item := range v.items {
		if n := a.schemaAt(i); n != nil && !c.check(n, item, depth+1) {
			return false
		}
		if a.unique {
			c.steps -= i
			if isAmong(item, v.items[:i]) {
				return false
			}
		}
		if a.contains != nil && c.check(a.contains, item, depth+1) {
			contained++
		}
	}
	return a.contains == nil || (contained >= a.leastContains && (a.mostContains == nil || contained <= *a.mostContains))
}

// schemaAt is the schema of an element, nil for none.
func (a *array) schemaAt(i int) *node {
	if i < len(a.prefix) {
		return a.prefix[i]
	}
	return a.items
}

func (t *text) allows(s string) bool {
	length := utf8.RuneCountInString(s)
	if length < t.least || (t.most != nil && length > *t.most) {
		return false
	}
	return t.pattern == nil || t.pattern.compiled == nil || t.pattern.compiled.MatchString(s)
}

func (n *number) allows(worth *big.Rat) bool {
	if worth == nil { // of an enum; no bound can be compared with it
		return n.least == nil && n.most == nil && n.multiple == nil
	}
	if n.least != nil && (worth.Cmp(n.least) < 0 || (n.aboveLeast && worth.Cmp(n.least) == 0)) {
		return false
	}
	if n.most != nil && (worth.Cmp(n.most) > 0 || (n.below && worth.Cmp(n.most) == 0)) {
		return false
	}
	return n.multiple == nil || new(big.Rat).Quo(worth, n.multiple).IsInt()
}

package schema

import "fmt"

// usualItems is the length of an array that the schema leaves open.
const usualItems = 2

// uniqueTries is how often another value is tried for an array whose items must differ.
const uniqueTries = 50

func (g *generator) array(all []*node) (*value, error) {
	least, most, want := 0, maxItems, usualItems
	for _, n := range all {
		a := &n.array
		least = max(least, a.least, a.leastContains)
		if a.most != nil {
			most = min(most, *a.most)
		}
		want = max(want, len(a.prefix))
	}
	if least > most {
		return nil, g.fail("the schema demands an array of at least %d items, and allows %d", least, most)
	}
	if g.sparing() {
		want = 0
	}
	v := &value{kind: '['}
	for i := range min(max(want, least), most) {
		item, err := g.item(all, i, v)
		if err != nil && (i < least || err == errTooComplex) {
			return nil, err
		}
		if err != nil {
			break // it is long enough
		}
		v.items = append(v.items, item)
	}
	return v, nil
}

// item generates the i-th item of an array.
func (g *generator) item(all []*node, i int, before *value) (*value, error) {
	var schemas []*node
	unique := false
	for _, n := range all {
		unique = unique || n.array.unique
		if at := n.array.schemaAt(i); at != nil {
			schemas = append(schemas, at)
		}
		if n.array.contains != nil && i < n.array.leastContains {
			schemas = append(schemas, n.array.contains)
		}
	}
	if heightOf(schemas)+len(g.path) > maxDepth {
		return nil, g.fail("its items are nested more than %d deep", maxDepth)
	}
	for range uniqueTries {
		size := g.size
		item, err := g.inside(fmt.Sprintf("[%d]", i), schemas)
		if err == nil {
			err = g.grow(len(","))
		}
		if err != nil {
			return nil, err
		}
		if !unique || !isAmong(item, before.items) {
			return item, nil
		}
		g.size = size
	}
	return nil, g.fail("the schema demands more different items than were found")
}
